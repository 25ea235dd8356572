/** Every sound frame of a log, wherever it stands between damaged parts, and which parts those are. */
import { BLOCKS_PER_COMMIT } from '@settledb/engine';
import {
  after,
  BLOCK_FIXED_BYTES,
  Bytes,
  decodeHeader,
  type FoundFrame,
  FRAME_HEADER_BYTES,
  type FrameHeader,
  FrameScan,
  HEADER_BYTES,
  headerAt,
  KIND_BLOCK,
  KIND_COMMIT,
  KIND_REWRITE,
  type LogHeader,
  NOTHING,
  newHeader,
  objectionTo,
  type Place,
  WINDOW_BYTES,
  type Window,
} from '@settledb/log';

/** Bytes of a file that are not what was written there. */
export interface DamagedPart {
  readonly file: string;
  readonly from: number;
  /** The first byte after it. */
  readonly to: number;
  /** No more follows than a part of it, and it may be a write that was never finished. */
  readonly isLast: boolean;
}

export interface Directory {
  readonly epoch: number;
  readonly through: number;
  readonly place: Place;
}

export class SoundLog {
  readonly header: LogHeader;
  readonly blocks = new Map<number, Place>();
  readonly commits = new Map<number, Place>();
  /** Oldest first. */
  readonly directories: Directory[] = [];
  readonly damage: DamagedPart[] = [];
  /** Frames of blocks, within damaged parts, of which some may be sound: what they say of their id and length is not checked. */
  readonly torn: { readonly id: number; readonly place: Place }[] = [];
  /** How many are sound. */
  frames = 0;
  /** The last commit that is heard of. */
  last = 0;
  readonly #path: string;

  constructor(header: LogHeader, path: string) {
    this.header = header;
    this.#path = path;
  }

  take({ at, header: { bytes }, meaning }: FoundFrame): void {
    this.frames++;
    const place: Place = { offset: at, bytes, isTail: false };
    if (meaning.kind === KIND_BLOCK) this.blocks.set(meaning.id, place);
    else if (meaning.kind === KIND_COMMIT) {
      this.#reached(meaning.n);
      this.commits.set(meaning.n, place);
      if (meaning.hasTail)
        this.blocks.set(meaning.n * BLOCKS_PER_COMMIT, { offset: at, bytes, isTail: true });
    } else if (meaning.hasManifest) {
      this.#reached(meaning.through);
      this.directories.push({ epoch: meaning.epoch, through: meaning.through, place });
    }
  }

  damaged(from: number, to: number, isLast = false): void {
    this.damage.push({ file: this.#path, from, to, isLast });
  }

  /** The end is missing that was on the disk before the file had its name, or was closed: of what it held, one commit at least is lost. */
  cutShort(from: number, to: number): void {
    this.damaged(from, to);
    this.last++;
  }

  /** There is a later log, of which nothing is sound: it had all of this one, and perhaps more. */
  cameBefore(path: string, bytes: number): void {
    this.damage.push({ file: path, from: 0, to: bytes, isLast: false });
    this.last++;
  }

  /** Whatever is damaged after the first `before` parts is the end. */
  leftUnfinished(before: number, from: number, to: number): void {
    this.damage.length = before;
    this.damaged(from, to, true);
  }

  #reached(n: number): void {
    if (n > this.last) this.last = n;
  }
}

/**
 * @param generation the one that the file is named for
 * @param noted how long the log of a salt was when it was closed; 0 if nobody knows
 * @throws DatabaseError `corrupt` if there is nothing sound in it; `io` for a newer format
 */
export async function soundLog(
  window: Window,
  path: string,
  generation: number,
  noted: (salt: number) => number,
): Promise<SoundLog> {
  const start = Bytes.from(await window.view(0, HEADER_BYTES));
  const [header, isDamaged] = await headerOf(window, start, path);
  const log = new SoundLog(header, path);
  if (isDamaged || header.generation !== generation) log.damaged(0, HEADER_BYTES);
  await takeFrames(log, window, Math.max(header.base, noted(header.salt)));
  return log;
}

/**
 * Whatever makes an opening refuse the log is damage, also a sound frame that stands elsewhere than it was written.
 *
 * @param least where the log ended once, all of it on the disk
 */
async function takeFrames(log: SoundLog, window: Window, least: number): Promise<void> {
  let before = NOTHING;
  let end = HEADER_BYTES;
  /** Where the last whole record ends. */
  let wholeEnd = end;
  /** A gap after which there are only blocks of this record, and not its mark: it may be a write that was never finished. */
  let unfinished: { readonly from: number; readonly sequence: number; readonly before: number } | undefined;
  for await (const found of new FrameScan(window, log.header).frames(HEADER_BYTES)) {
    const { at, header, meaning } = found;
    let { n } = before;
    if (at > end) {
      unfinished ??= { from: end, sequence: before.sequence + 1, before: log.damage.length };
      log.damaged(end, at);
      await noteTorn(log, window, end, at);
      n = undefined;
    } else if (objectionTo(header, meaning, before) !== undefined) {
      log.damaged(at, at + header.bytes);
      n = undefined;
    }
    if (meaning.kind !== KIND_BLOCK || header.sequence !== unfinished?.sequence) unfinished = undefined;
    before = after(header, meaning, n);
    log.take(found);
    end = at + header.bytes;
    if (before.pending === 0) wholeEnd = end;
  }
  if (end < window.size) await noteTorn(log, window, end, window.size);
  if (wholeEnd < least) log.cutShort(wholeEnd, Math.max(least, window.size));
  else if (unfinished !== undefined) log.leftUnfinished(unfinished.before, unfinished.from, window.size);
  else if (end < window.size) log.damaged(end, window.size, true);
}

/** As long as each frame says where the next one begins. */
async function noteTorn(log: SoundLog, window: Window, from: number, to: number): Promise<void> {
  for (let at = from; ; ) {
    const start = await window.view(at, FRAME_HEADER_BYTES + BLOCK_FIXED_BYTES);
    const header = headerAt(start, log.header.salt);
    if (header === undefined || at + header.bytes > to) return;
    if (header.kind === KIND_BLOCK && header.bytes > start.length) {
      const id = start.readDoubleLE(FRAME_HEADER_BYTES);
      log.torn.push({ id, place: { offset: at, bytes: header.bytes, isTail: false } });
    }
    at += header.bytes;
  }
}

/** The header; if it is damaged, what its first sound frame says of it. */
async function headerOf(window: Window, start: Bytes, path: string): Promise<[LogHeader, boolean]> {
  try {
    return [decodeHeader(start, path), false];
  } catch (error) {
    if ((error as { name?: unknown }).name !== 'corrupt') throw error;
    for (
      let at = HEADER_BYTES;
      at + FRAME_HEADER_BYTES <= window.size;
      at += WINDOW_BYTES - FRAME_HEADER_BYTES
    ) {
      const view = Bytes.from(await window.view(at, WINDOW_BYTES));
      for (let each = 0; each + FRAME_HEADER_BYTES <= view.length; each++) {
        const salt = view.readUInt32LE(each);
        if (!isLikely(headerAt(view, salt, each), window.size)) continue;
        // Neither version nor generation matter to a reader of whole frames.
        const header = { ...newHeader(0, Bytes.alloc(16), 0), salt };
        if ((await new FrameScan(window, header).frame(at + each)) !== undefined) return [header, true];
      }
    }
    throw error;
  }
}

/** Whether it is worth reading a whole frame to find out. */
function isLikely(header: FrameHeader | undefined, size: number): boolean {
  return (
    header !== undefined &&
    header.kind >= KIND_BLOCK &&
    header.kind <= KIND_REWRITE &&
    header.bytes <= size &&
    Number.isSafeInteger(header.sequence) &&
    header.sequence > 0
  );
}
