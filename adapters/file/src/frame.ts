/**
 * Frames: what a log consists of after its header. docs/file-format.md is the specification.
 *
 *   marker u32 · crc u32 · length u32 · kind u8 · flags u8 · 0 u16 · sequence f64 ·
 *   synced f64 · index u32 · payload
 *
 * One append is one record: blocks 0, 1, 2 … of a sequence number, and last its mark (a commit or a rewrite). Without its mark a
 * record never was. The checksum starts from the file's salt, so frames of another file, or inside a text, are never taken for its own.
 */
import type { Block, Commit, Rewrite } from '@settledb/engine';
import { crc32 } from './crc32';

export const FRAME_HEADER_BYTES = 36;
/** Where the checked part of a frame begins. */
const CHECKED_FROM = 8;

export const KIND_BLOCK = 1;
export const KIND_COMMIT = 2;
export const KIND_REWRITE = 3;

/**
 * A text is kept as Latin-1 where it can be, else as UTF-16: the two that V8 has in memory, so both ways are copies, and unpaired
 * surrogates stay what they are. (125 KB with some `é`: UTF-8 59 µs to write and 184 to read, Latin-1 2.4 and 6.)
 */
const FLAG_FIRST_UTF16 = 1;
const FLAG_SECOND_UTF16 = 2;
const FLAG_MANIFEST = 4;

/** `id f64`, `n f64 · head length u32`, `epoch f64 · through f64 · drops u32`: what stands before the texts. */
const BLOCK_FIXED_BYTES = 8;
const COMMIT_FIXED_BYTES = 12;
const REWRITE_FIXED_BYTES = 20;

/** A streamed frame needs this much of its payload to be described. Rewrites are read whole. */
export const PREFIX_BYTES = COMMIT_FIXED_BYTES;

export interface FrameHeader {
  readonly crc: number;
  /** Bytes of the whole frame. */
  readonly bytes: number;
  readonly kind: number;
  readonly flags: number;
  readonly sequence: number;
  /** The last record known to be on the disk when this one was written. */
  readonly synced: number;
  readonly index: number;
}

/** Where a frame stands: of which record it is which part. */
export type FramePlace = Pick<FrameHeader, 'sequence' | 'synced' | 'index'>;

/** What a frame says, but for its texts. */
export type FrameMeaning =
  | { readonly kind: typeof KIND_BLOCK; readonly id: number }
  | { readonly kind: typeof KIND_COMMIT; readonly n: number; readonly hasTail: boolean }
  | {
      readonly kind: typeof KIND_REWRITE;
      readonly epoch: number;
      readonly through: number;
      readonly drop: readonly number[];
      readonly hasManifest: boolean;
    };

/** One frame to be written. `epoch` and `through` are those in force after the rewrite. */
export type Part =
  | { readonly kind: typeof KIND_BLOCK; readonly block: Block }
  | { readonly kind: typeof KIND_COMMIT; readonly commit: Commit }
  | {
      readonly kind: typeof KIND_REWRITE;
      readonly epoch: number;
      readonly through: number;
      readonly change: Rewrite;
    };

/** The bytes `part` takes as a frame, or more. */
export function boundOf(part: Part): number {
  if (part.kind === KIND_BLOCK) {
    return FRAME_HEADER_BYTES + BLOCK_FIXED_BYTES + textBound(part.block.text);
  }
  if (part.kind === KIND_COMMIT) {
    const { head, tail } = part.commit;
    return FRAME_HEADER_BYTES + COMMIT_FIXED_BYTES + textBound(head) + textBound(tail);
  }
  const { drop = [], manifest } = part.change;
  return FRAME_HEADER_BYTES + REWRITE_FIXED_BYTES + drop.length * 8 + textBound(manifest?.text ?? '');
}

/**
 * Room for frames. Numbers are written through the view: by the buffer's own methods they cost several times as much until the engine has
 * optimised those.
 */
export interface FrameRoom {
  readonly data: Buffer;
  readonly view: DataView;
}

export const frameRoom = (data: Buffer): FrameRoom => ({
  data,
  view: new DataView(data.buffer, data.byteOffset, data.length),
});

/** A view of some of it. A `Buffer` of it would be made by JavaScript, and takes several times as long at first, as above. */
export const bytesOf = ({ data }: FrameRoom, from: number, to: number): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset + from, to - from);

/** Writes `part` at `offset` of `room` (which has room for `boundOf(part)`) and answers where it ended. */
export function writeFrame(
  room: FrameRoom,
  offset: number,
  part: Part,
  salt: number,
  place: FramePlace,
): number {
  const { data, view } = room;
  let flags = 0;
  let at = offset + FRAME_HEADER_BYTES;
  if (part.kind === KIND_BLOCK) {
    view.setFloat64(at, part.block.id, true);
    at += BLOCK_FIXED_BYTES;
    if (isWide(part.block.text)) flags |= FLAG_FIRST_UTF16;
    at = writeText(data, at, part.block.text, flags & FLAG_FIRST_UTF16);
  } else if (part.kind === KIND_COMMIT) {
    const { n, head, tail } = part.commit;
    if (isWide(head)) flags |= FLAG_FIRST_UTF16;
    if (isWide(tail)) flags |= FLAG_SECOND_UTF16;
    view.setFloat64(at, n, true);
    const headAt = at + COMMIT_FIXED_BYTES;
    at = writeText(data, headAt, head, flags & FLAG_FIRST_UTF16);
    view.setUint32(headAt - 4, at - headAt, true);
    if (tail !== '') at = writeText(data, at, tail, flags & FLAG_SECOND_UTF16);
  } else {
    const { drop = [], manifest } = part.change;
    at = data.writeDoubleLE(part.epoch, at);
    at = data.writeDoubleLE(part.through, at);
    at = data.writeUInt32LE(drop.length, at);
    for (const id of drop) at = data.writeDoubleLE(id, at);
    if (manifest !== undefined) {
      flags |= FLAG_MANIFEST | (isWide(manifest.text) ? FLAG_FIRST_UTF16 : 0);
      at = writeText(data, at, manifest.text, flags & FLAG_FIRST_UTF16);
    }
  }
  sealBetween(room, offset, at, part.kind, flags, salt, place);
  return at;
}

/** Fills in the header of a frame whose payload is there: also of one copied from another file. */
export function seal(frame: Buffer, kind: number, flags: number, salt: number, place: FramePlace): void {
  sealBetween(frameRoom(frame), 0, frame.length, kind, flags, salt, place);
}

function sealBetween(
  room: FrameRoom,
  from: number,
  to: number,
  kind: number,
  flags: number,
  salt: number,
  place: FramePlace,
): void {
  const { view } = room;
  view.setUint32(from, salt, true);
  view.setUint32(from + 8, to - from - FRAME_HEADER_BYTES, true);
  view.setUint8(from + 12, kind);
  view.setUint8(from + 13, flags);
  view.setUint16(from + 14, 0, true);
  view.setFloat64(from + 16, place.sequence, true);
  view.setFloat64(from + 24, place.synced, true);
  view.setUint32(from + 32, place.index, true);
  view.setUint32(from + 4, crc32(bytesOf(room, from + CHECKED_FROM, to), salt), true);
}

/** What the frame of `part` says. */
export function meaningOfPart(part: Part): FrameMeaning {
  if (part.kind === KIND_BLOCK) return { kind: KIND_BLOCK, id: part.block.id };
  if (part.kind === KIND_COMMIT)
    return { kind: KIND_COMMIT, n: part.commit.n, hasTail: part.commit.tail !== '' };
  const { drop = [], manifest } = part.change;
  const { epoch, through } = part;
  return { kind: KIND_REWRITE, epoch, through, drop, hasManifest: manifest !== undefined };
}

/** The header at `at` of `data`, unchecked but for its marker; `undefined` when no frame of this file begins there. */
export function headerAt(data: Buffer, salt: number, at = 0): FrameHeader | undefined {
  if (data.length < at + FRAME_HEADER_BYTES || data.readUInt32LE(at) !== salt) return undefined;
  return {
    crc: data.readUInt32LE(at + 4),
    bytes: data.readUInt32LE(at + 8) + FRAME_HEADER_BYTES,
    kind: data[at + 12]!,
    flags: data[at + 13]!,
    sequence: data.readDoubleLE(at + 16),
    synced: data.readDoubleLE(at + 24),
    index: data.readUInt32LE(at + 32),
  };
}

/** The checksum of a frame, or of its first part when `more` follows through {@link crc32}. */
export const checksum = (frame: Buffer, salt: number): number => crc32(frame.subarray(CHECKED_FROM), salt);

/** True when `frame` is whole, of the file with this salt, and what was written. */
export function isSound(frame: Buffer, salt: number): boolean {
  const header = headerAt(frame, salt);
  return header !== undefined && header.bytes === frame.length && header.crc === checksum(frame, salt);
}

/**
 * Bytes of a frame that are checked by themselves when a part of its text is read: a page of the system's cache. In memory that is 4
 * bytes for each, a thousandth of the log.
 */
const SUM_BYTES = 4096;

/** By which parts of a block's frame can be checked, without the rest. */
export interface Sums {
  /** The running checksum after each {@link SUM_BYTES} of what is checked; the last is the frame's own. */
  readonly running: Uint32Array;
  readonly isWide: boolean;
}

/** Of a whole frame. The last of them says whether it is sound. */
export function sumsOf(frame: Buffer, salt: number): Sums {
  const running = new Uint32Array(Math.ceil((frame.length - CHECKED_FROM) / SUM_BYTES));
  let crc = salt;
  for (let i = 0; i < running.length; i++) {
    const from = CHECKED_FROM + i * SUM_BYTES;
    crc = crc32(frame.subarray(from, from + SUM_BYTES), crc);
    running[i] = crc;
  }
  return { running, isWide: (frame[13]! & FLAG_FIRST_UTF16) !== 0 };
}

/** What to read of a block's frame for a part of its text, and how to make the text of it. */
export interface FramePart {
  readonly from: number;
  readonly to: number;
  /** @returns `undefined` when that is not what was written */
  text(data: Buffer): string | undefined;
}

/** @param at of the text, in characters, as `length` */
export function framePart(
  { running, isWide }: Sums,
  bytes: number,
  salt: number,
  at: number,
  length: number,
): FramePart {
  const unit = isWide ? 2 : 1;
  const start = FRAME_HEADER_BYTES + BLOCK_FIXED_BYTES + at * unit;
  const end = start + length * unit;
  const first = Math.floor((start - CHECKED_FROM) / SUM_BYTES);
  const last = Math.ceil((end - CHECKED_FROM) / SUM_BYTES) - 1;
  const from = CHECKED_FROM + first * SUM_BYTES;
  return {
    from,
    to: Math.min(CHECKED_FROM + (last + 1) * SUM_BYTES, bytes),
    text: (data) =>
      crc32(data, first === 0 ? salt : running[first - 1]!) === running[last]
        ? readText(data.subarray(start - from, end - from), isWide ? 1 : 0)
        : undefined,
  };
}

/**
 * What a checked frame says, whose payload begins at `at` of `data`; `undefined` for one this version would never have
 * written.
 */
export function meaningOf(header: FrameHeader, data: Buffer, at = 0): FrameMeaning | undefined {
  const length = header.bytes - FRAME_HEADER_BYTES;
  if (header.kind === KIND_BLOCK && length >= BLOCK_FIXED_BYTES) {
    return { kind: KIND_BLOCK, id: data.readDoubleLE(at) };
  }
  if (header.kind === KIND_COMMIT && length >= COMMIT_FIXED_BYTES) {
    const hasTail = length > COMMIT_FIXED_BYTES + data.readUInt32LE(at + 8);
    return { kind: KIND_COMMIT, n: data.readDoubleLE(at), hasTail };
  }
  if (header.kind !== KIND_REWRITE || length < REWRITE_FIXED_BYTES) return undefined;
  const count = data.readUInt32LE(at + 16);
  if (length < REWRITE_FIXED_BYTES + count * 8) return undefined;
  const drop = Array.from({ length: count }, (_, i) => data.readDoubleLE(at + REWRITE_FIXED_BYTES + i * 8));
  const [epoch, through] = [data.readDoubleLE(at), data.readDoubleLE(at + 8)];
  return { kind: KIND_REWRITE, epoch, through, drop, hasManifest: (header.flags & FLAG_MANIFEST) !== 0 };
}

/** The text of a block frame, or the manifest of a rewrite. */
export function textOf(frame: Buffer): string {
  const flags = frame[13]!;
  const skip =
    frame[12] === KIND_BLOCK
      ? BLOCK_FIXED_BYTES
      : REWRITE_FIXED_BYTES + frame.readUInt32LE(FRAME_HEADER_BYTES + 16) * 8;
  return readText(frame.subarray(FRAME_HEADER_BYTES + skip), flags & FLAG_FIRST_UTF16);
}

/** The texts of a commit frame. */
export function commitOf(frame: Buffer): { n: number; head: string; tail: string } {
  const flags = frame[13]!;
  const payload = frame.subarray(FRAME_HEADER_BYTES);
  const tailAt = COMMIT_FIXED_BYTES + payload.readUInt32LE(8);
  return {
    n: payload.readDoubleLE(0),
    head: readText(payload.subarray(COMMIT_FIXED_BYTES, tailAt), flags & FLAG_FIRST_UTF16),
    tail: readText(payload.subarray(tailAt), flags & FLAG_SECOND_UTF16),
  };
}

/** The tail of a commit's frame as a block of its own, to be sealed. */
export function tailAsBlock(id: number, commit: Buffer): Buffer {
  const payload = commit.subarray(FRAME_HEADER_BYTES);
  const text = payload.subarray(COMMIT_FIXED_BYTES + payload.readUInt32LE(8));
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + BLOCK_FIXED_BYTES + text.length);
  frame[12] = KIND_BLOCK;
  frame[13] = (commit[13]! & FLAG_SECOND_UTF16) === 0 ? 0 : FLAG_FIRST_UTF16;
  frame.writeDoubleLE(id, FRAME_HEADER_BYTES);
  text.copy(frame, FRAME_HEADER_BYTES + BLOCK_FIXED_BYTES);
  return frame;
}

/** A rewrite that drops nothing and keeps the manifest of `rewrite`, where there is one; to be sealed. */
export function manifestAlone(epoch: number, through: number, rewrite?: Buffer): Buffer {
  const skip = rewrite === undefined ? 0 : rewrite.readUInt32LE(FRAME_HEADER_BYTES + 16) * 8;
  const text = rewrite?.subarray(FRAME_HEADER_BYTES + REWRITE_FIXED_BYTES + skip) ?? Buffer.alloc(0);
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + REWRITE_FIXED_BYTES + text.length);
  frame[12] = KIND_REWRITE;
  frame[13] = rewrite?.[13] ?? 0;
  const at = frame.writeDoubleLE(through, frame.writeDoubleLE(epoch, FRAME_HEADER_BYTES));
  frame.writeUInt32LE(0, at);
  text.copy(frame, FRAME_HEADER_BYTES + REWRITE_FIXED_BYTES);
  return frame;
}

/** Shorter texts are not looked at to save room: two bytes are the most a UTF-16 unit takes. */
const LONG_TEXT = 4096;

function textBound(text: string): number {
  return text.length < LONG_TEXT || isWide(text) ? text.length * 2 : text.length;
}

/** True when Latin-1 cannot hold it. V8 answers at once for a text that it holds as Latin-1 itself. */
const isWide = (text: string): boolean => /[^\0-\xff]/.test(text);

const writeText = (data: Buffer, at: number, text: string, utf16: number): number =>
  at + data.write(text, at, utf16 === 0 ? 'latin1' : 'utf16le');

const readText = (data: Buffer, utf16: number): string => data.toString(utf16 === 0 ? 'latin1' : 'utf16le');
