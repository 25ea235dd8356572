/**
 * Reads a log from its first byte to its last when it is opened, and tells a torn end from damage.
 *
 *   header │ record 1 │ record 2 │ record 3 …      a record: block, block, …, mark
 *
 * An end is torn when the last record lacks its mark or is not whole and no frame of a later record follows: the record was never
 * acknowledged as durable, and is cut off. Anything else that is not as it was written is damage, and nothing on disk is changed.
 *
 * After a loss of power more may be torn: records that were never synced may reach the disk in any order. A following record then
 * proves damage only if it says that the missing part had been synced.
 */
import { corrupt } from '@settledb/core';
import { Contents } from './contents';
import { crc32 } from './crc32';
import type { Files } from './files';
import {
  checksum,
  type FrameHeader,
  type FrameMeaning,
  headerAt,
  KIND_BLOCK,
  KIND_REWRITE,
  meaningOf,
  PREFIX_BYTES,
} from './frame';
import { FRAME_HEADER_BYTES } from './frame-layout';
import { decodeHeader, HEADER_BYTES, isTornHeader, type LogHeader, SUMS_VERSION } from './header';
import { type Sums, sumsOf } from './sums';
import { WINDOW_BYTES, Window } from './window';

export interface Recovered {
  readonly header: LogHeader;
  readonly contents: Contents;
  /** Where the last whole record ends. What follows, if anything, is a torn end. */
  readonly end: number;
}

/**
 * Reads the log at `path`.
 *
 * @returns `undefined` for a first log that was cut within its header: it holds nothing
 * @throws DatabaseError `corrupt`, naming file and byte; `io` for a newer format
 */
export async function recover(
  files: Files,
  fd: number,
  path: string,
  generation: number,
  lostPower: boolean,
): Promise<Recovered | undefined> {
  const { size } = files.stat(fd);
  const window = new Window(files, fd, size);
  const start = await window.view(0, HEADER_BYTES);
  if (generation === 1 && isTornHeader(start)) return undefined;
  const header = decodeHeader(start, path);
  if (header.generation !== generation) {
    throw corrupt(`${path}: damaged at byte 12: the log says it is generation ${header.generation}`);
  }
  return new Recovery(window, path, header, lostPower).run();
}

interface Found {
  readonly header: FrameHeader;
  readonly meaning: FrameMeaning;
  readonly sums: Sums | undefined;
}

class Recovery {
  readonly #window: Window;
  readonly #path: string;
  readonly #header: LogHeader;
  readonly #lostPower: boolean;
  readonly #contents = new Contents();

  constructor(window: Window, path: string, header: LogHeader, lostPower: boolean) {
    this.#window = window;
    this.#path = path;
    this.#header = header;
    this.#lostPower = lostPower;
  }

  async run(): Promise<Recovered> {
    const { size } = this.#window;
    const contents = this.#contents;
    let end = HEADER_BYTES;
    let at = HEADER_BYTES;
    while (at < size) {
      const found = await this.#frame(at);
      if (found === undefined) {
        await this.#damage(at, end);
        break;
      }
      const objection = contents.objection(found.header, found.meaning);
      if (objection !== undefined) this.#refuse(at, objection);
      contents.apply(found.header, found.meaning, at, found.sums);
      at += found.header.bytes;
      if (contents.pending === 0) end = at;
    }
    if (end < this.#header.base) this.#refuse(end, `the log must go on to byte ${this.#header.base}`);
    contents.dropPending();
    return { header: this.#header, contents, end };
  }

  /** Returns if the bytes from `at` can be a torn end; otherwise throws. */
  async #damage(at: number, end: number): Promise<void> {
    if (end < this.#header.base) this.#refuse(at, 'its checksum is wrong');
    // Parts of one record may reach the disk in any order: only another record proves that this one had been there.
    const later = await this.#findProof(at, this.#contents.sequence + 1);
    if (later !== undefined)
      this.#refuse(at, `its checksum is wrong, and a whole frame follows at byte ${later}`);
  }

  /** The next whole frame that shows that record `sequence` had been on the disk. */
  async #findProof(from: number, sequence: number): Promise<number | undefined> {
    const marker = Buffer.alloc(4);
    marker.writeUInt32LE(this.#header.salt);
    let at = from;
    while (at + FRAME_HEADER_BYTES <= this.#window.size) {
      const view = await this.#window.view(at, WINDOW_BYTES);
      const hit = view.indexOf(marker);
      if (hit < 0) {
        // The marker may begin in the last three bytes.
        at += Math.max(1, view.length - 3);
        continue;
      }
      at += hit;
      const found = await this.#frame(at);
      if (found !== undefined && this.#proves(found.header, sequence)) return at;
      at += found?.header.bytes ?? 1;
    }
    return undefined;
  }

  #proves(later: FrameHeader, sequence: number): boolean {
    if (this.#lostPower && later.sequence > sequence) return later.synced >= sequence;
    return later.sequence !== sequence;
  }

  /** The whole, sound frame at `at`. */
  async #frame(at: number): Promise<Found | undefined> {
    const { salt, version } = this.#header;
    const header = headerAt(await this.#window.view(at, FRAME_HEADER_BYTES), salt);
    if (header === undefined || at + header.bytes > this.#window.size) return undefined;
    const inOne = header.bytes <= WINDOW_BYTES || header.kind === KIND_REWRITE;
    let part = await this.#window.view(at, inOne ? header.bytes : WINDOW_BYTES);
    const prefix = inOne ? part : Buffer.from(part.subarray(0, FRAME_HEADER_BYTES + PREFIX_BYTES));
    const takesSums = inOne && header.kind === KIND_BLOCK && version < SUMS_VERSION;
    const sums = takesSums ? sumsOf(part, salt) : undefined;
    let crc = sums?.running.at(-1) ?? checksum(part, salt);
    for (let done = part.length; done < header.bytes && part.length > 0; done += part.length) {
      part = await this.#window.view(at + done, Math.min(WINDOW_BYTES, header.bytes - done));
      crc = crc32(part, crc);
    }
    if (crc !== header.crc) return undefined;
    const meaning = meaningOf(header, prefix.subarray(FRAME_HEADER_BYTES));
    return meaning === undefined ? undefined : { header, meaning, sums };
  }

  #refuse(at: number, why: string): never {
    throw corrupt(`${this.#path}: damaged at byte ${at}: ${why}. Nothing was changed`);
  }
}
