/**
 * Copies the live parts of a log into the next generation, while the old log goes on being written to and read.
 *
 *   log.1  │ records …            │ appended meanwhile │
 *   log.2.tmp  │ header │ live blocks + manifest │ commits │ appended meanwhile │  → synced → log.2 → folder synced
 *
 * The first record of the new log is all live blocks with the manifest as its mark. If it is killed, the old log remains
 * whole, and after the renaming the new one too; both then hold the same, and the newer counts.
 */
import { corrupt } from '@settledb/core';
import { Contents } from './contents';
import { closeQuietly, type Files } from './files';
import { logPath, removeQuietly, temporaryPath } from './folder';
import {
  boundOf,
  commitOf,
  type FramePlace,
  headerAt,
  KIND_BLOCK,
  KIND_REWRITE,
  meaningOf,
  type Part,
  sealed,
  textOf,
  writeFrame,
} from './frame';
import { FRAME_HEADER_BYTES, frameRoom } from './frame-layout';
import { encodeHeader, HEADER_BYTES, type LogHeader, newHeader } from './header';
import { Log } from './log';
import { Bytes } from './platform';
import { isRefused } from './trouble';
import { writeFully } from './window';

/** Bytes written at a time: little memory, few calls, and the event loop gets its turn in between. */
const CHUNK_BYTES = 1 << 20;
/** How often it catches up with a writer that may be as fast as the copying: then the writer waits. */
const CATCH_UP_PASSES = 4;
/** A file this small is not worth copying, however much of it is dead. */
const WORTH_BYTES = 1 << 20;

/** True when more than half of the log is dead, and that is more than a megabyte. */
export function isWorthVacuum(log: Log): boolean {
  const dead = log.end - HEADER_BYTES - log.contents.liveBytes();
  return dead > WORTH_BYTES && dead > log.end / 2;
}

/** The next generation of a log while it is being written. */
export class Successor {
  readonly #files: Files;
  readonly #folder: string;
  readonly #old: Log;
  readonly #fd: number;
  readonly #contents = new Contents();
  #header: LogHeader;
  #end = HEADER_BYTES;
  #frames: Bytes[] = [];
  #framesBytes = 0;
  #sequence = 1;
  #index = 0;
  /** How far the old log has been copied. */
  #copiedTo: number;
  /** Called between chunks; throws to give up. */
  readonly #proceed: () => void;

  static async begin(files: Files, folder: string, old: Log, proceed: () => void): Promise<Successor> {
    const generation = old.header.generation + 1;
    return new Successor(files, await files.make(temporaryPath(folder, generation)), folder, old, proceed);
  }

  private constructor(files: Files, fd: number, folder: string, old: Log, proceed: () => void) {
    this.#files = files;
    this.#fd = fd;
    this.#folder = folder;
    this.#old = old;
    this.#proceed = proceed;
    this.#copiedTo = old.end;
    this.#header = newHeader(old.header.generation + 1, old.header.uuid, HEADER_BYTES);
  }

  /**
   * Copies what was live when it began. Appends to the old log may go on. None with a manifest may be waiting for its sync: it would be
   * passed over. The engine makes one and has a vacuum in turn, never at once.
   */
  async copyLive(): Promise<void> {
    this.#copiedTo = this.#old.end;
    const { blocks, commits, manifest, epoch, through } = this.#old.contents;
    const uncovered = [...commits.values()];
    const inCommits = new Set(uncovered.map((place) => place.offset));
    const live = [...blocks].filter(([, place]) => !inCommits.has(place.offset));
    live.sort(([, a], [, b]) => a.offset - b.offset);
    for (const [id, place] of live) {
      const frame = await this.#old.frames.frame(place);
      if (place.isTail) await this.#write({ kind: KIND_BLOCK, block: { id, text: commitOf(frame).tail } });
      else await this.#copy(frame);
    }
    // The frame of the old manifest also listed blocks to drop, which are long gone.
    const text = manifest && textOf(await this.#old.frames.frame(manifest));
    const change = text === undefined ? {} : { manifest: { text, through } };
    await this.#write({ kind: KIND_REWRITE, epoch, through, change });
    for (const place of uncovered) await this.#copy(await this.#old.frames.frame(place));
    await this.#flush();
  }

  /** Copies what was appended to the old log since, several times, so that little is left for the time when writers must wait. */
  async catchUp(): Promise<void> {
    for (let pass = 0; pass < CATCH_UP_PASSES && this.#old.end - this.#copiedTo > CHUNK_BYTES; pass++) {
      await this.copyRest();
    }
  }

  /** Copies what was appended to the old log until now. */
  async copyRest(): Promise<void> {
    for await (const frame of this.#old.frames.framesFrom(this.#copiedTo, this.#old.end)) {
      this.#copiedTo += frame.length;
      await this.#copy(frame);
    }
    await this.#flush();
  }

  sync(): Promise<void> {
    return this.#files.sync(this.#fd);
  }

  /** Gives the file its name. From before `copyRest` until it has switched logs, the caller lets nobody write to the old log. */
  async finish(): Promise<Log> {
    this.#header = { ...this.#header, base: this.#end };
    await writeFully(this.#files, this.#fd, encodeHeader(this.#header), 0);
    await this.sync();
    let isNamed = false;
    const path = logPath(this.#folder, this.#header.generation);
    const rename = (): void => {
      this.#old.look(); // bringing it to the disk may have taken long: another may own the folder by now
      try {
        this.#files.rename(this.#temporary, path);
        isNamed = true;
      } catch (error) {
        isNamed = !isRefused(error);
        throw error;
      }
    };
    try {
      await this.#files.syncFolder(this.#folder, rename);
      return new Log(this.#files, this.#fd, this.#old.lock, path, this.#header, this.#contents, this.#end);
    } catch (error) {
      if (!isNamed) throw error;
      // It is not known whether the new name holds, and an opening would trust it: the old log must not go on alone.
      throw this.#old.poison(error);
    }
  }

  abandon(): void {
    closeQuietly(this.#files, this.#fd);
    removeQuietly(this.#files, this.#temporary);
  }

  #copy(frame: Bytes): Promise<void> {
    return this.#add(sealed(frame, this.#header, this.#place));
  }

  #write(part: Part): Promise<void> {
    const room = frameRoom(Bytes.allocUnsafe(boundOf(part)));
    return this.#add(room.data.subarray(0, writeFrame(room, 0, part, this.#header, this.#place)));
  }

  get #place(): FramePlace {
    return { sequence: this.#sequence, synced: 0, index: this.#index };
  }

  async #add(frame: Bytes): Promise<void> {
    const header = headerAt(frame, this.#header.salt)!;
    const meaning = meaningOf(header, frame.subarray(FRAME_HEADER_BYTES));
    if (meaning === undefined) throw corrupt(`${this.#old.path}: a frame that means nothing`);
    this.#contents.apply(header, meaning, this.#end + this.#framesBytes);
    const isMark = header.kind !== KIND_BLOCK;
    this.#sequence += isMark ? 1 : 0;
    this.#index = isMark ? 0 : this.#index + 1;
    this.#frames.push(frame);
    this.#framesBytes += frame.length;
    if (this.#framesBytes >= CHUNK_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    this.#proceed();
    const data = this.#frames.length === 1 ? this.#frames[0]! : Bytes.concat(this.#frames);
    this.#frames = [];
    this.#framesBytes = 0;
    this.#end = await writeFully(this.#files, this.#fd, data, this.#end);
  }

  get #temporary(): string {
    return temporaryPath(this.#folder, this.#header.generation);
  }
}
