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
import type { Files } from './files';
import type { FrameHeader } from './frame';
import { objectionTo } from './frame-order';
import { FrameScan } from './frame-scan';
import { decodeHeader, HEADER_BYTES, isTornHeader, type LogHeader } from './header';
import { Window } from './window';

export interface Recovered {
  readonly header: LogHeader;
  readonly contents: Contents;
  /** Where the last whole record ends. What follows, if anything, is a torn end. */
  readonly end: number;
  /** How far the log is known to have been on the disk, by what is in it. */
  readonly syncedTo: number;
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

class Recovery {
  readonly #window: Window;
  readonly #scan: FrameScan;
  readonly #path: string;
  readonly #header: LogHeader;
  readonly #lostPower: boolean;
  readonly #contents = new Contents();
  /** The last record known to have been on the disk. */
  #synced = 0;
  /** Where it ends, and those after it. */
  readonly #ends = [HEADER_BYTES];

  constructor(window: Window, path: string, header: LogHeader, lostPower: boolean) {
    this.#window = window;
    this.#scan = new FrameScan(window, header);
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
      const found = await this.#scan.frame(at);
      if (found === undefined) {
        await this.#damage(at, end);
        break;
      }
      const objection = objectionTo(found.header, found.meaning, contents);
      if (objection !== undefined) this.#refuse(at, objection);
      contents.apply(found.header, found.meaning, at, found.sums);
      at += found.header.bytes;
      if (contents.pending === 0) {
        end = at;
        this.#ends.push(end);
      }
      this.#noteSynced(found.header);
    }
    if (end < this.#header.base) this.#refuse(end, `the log must go on to byte ${this.#header.base}`);
    contents.dropPending();
    const syncedTo = Math.max(this.#header.base, this.#ends[0]!); // the end of one record at least stays
    return { header: this.#header, contents, end, syncedTo };
  }

  #noteSynced({ synced, sequence }: FrameHeader): void {
    if (synced <= this.#synced || synced >= sequence) return;
    this.#ends.splice(0, synced - this.#synced);
    this.#synced = synced;
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
    for await (const { at, header } of this.#scan.frames(from)) if (this.#proves(header, sequence)) return at;
    return undefined;
  }

  #proves(later: FrameHeader, sequence: number): boolean {
    if (this.#lostPower && later.sequence > sequence) return later.synced >= sequence;
    return later.sequence !== sequence;
  }

  #refuse(at: number, why: string): never {
    throw corrupt(`${this.#path}: damaged at byte ${at}: ${why}. Nothing was changed`);
  }
}
