/** Finds the sound frames of a log, whatever lies between them. */
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
import { type LogHeader, SUMS_VERSION } from './header';
import { Bytes, crc32 } from './platform';
import { type Sums, sumsOf } from './sums';
import { WINDOW_BYTES, type Window } from './window';

export interface FoundFrame {
  readonly at: number;
  readonly header: FrameHeader;
  readonly meaning: FrameMeaning;
  /** Of blocks that carry none. */
  readonly sums: Sums | undefined;
}

export class FrameScan {
  readonly #window: Window;
  readonly #salt: number;
  readonly #version: number;

  constructor(window: Window, { salt, version }: Pick<LogHeader, 'salt' | 'version'>) {
    this.#window = window;
    this.#salt = salt;
    this.#version = version;
  }

  /** The whole, sound frame at `at`. */
  async frame(at: number): Promise<FoundFrame | undefined> {
    const salt = this.#salt;
    const header = headerAt(await this.#window.view(at, FRAME_HEADER_BYTES), salt);
    if (header === undefined || at + header.bytes > this.#window.size) return undefined;
    const inOne = header.bytes <= WINDOW_BYTES;
    let part = await this.#window.view(at, inOne ? header.bytes : WINDOW_BYTES);
    const prefix = inOne ? part : Bytes.from(part.subarray(0, FRAME_HEADER_BYTES + PREFIX_BYTES));
    const takesSums = inOne && header.kind === KIND_BLOCK && this.#version < SUMS_VERSION;
    const sums = takesSums ? sumsOf(part, salt) : undefined;
    let crc = sums?.running.at(-1) ?? checksum(part, salt);
    for (let done = part.length; done < header.bytes && part.length > 0; done += part.length) {
      part = await this.#window.view(at + done, Math.min(WINDOW_BYTES, header.bytes - done));
      crc = crc32(part, crc);
    }
    if (crc !== header.crc) return undefined;
    // Only now it is known to be that long: a damaged length may be as large as the file.
    const isRead = inOne || header.kind !== KIND_REWRITE;
    const described = isRead ? prefix : await this.#window.view(at, header.bytes);
    const meaning = meaningOf(header, described.subarray(FRAME_HEADER_BYTES));
    return meaning === undefined ? undefined : { at, header, meaning, sums };
  }

  /** All sound frames from byte `from` on. Where one is due and none is, the next one that stands anywhere is looked for. */
  async *frames(from: number): AsyncGenerator<FoundFrame, void> {
    for (let at = await this.#marker(from); at !== undefined; ) {
      const found = await this.frame(at);
      if (found !== undefined) yield found;
      at = await this.#marker(at + (found?.header.bytes ?? 1));
    }
  }

  /** Where the next frame may begin. */
  async #marker(from: number): Promise<number | undefined> {
    const marker = Bytes.alloc(4);
    marker.writeUInt32LE(this.#salt, 0);
    let at = from;
    while (at + FRAME_HEADER_BYTES <= this.#window.size) {
      // Most often it is where the last one ended, in what the window holds.
      if ((await this.#window.view(at, marker.length)).equals(marker)) return at;
      const view = await this.#window.view(at, WINDOW_BYTES);
      const hit = view.indexOf(marker);
      if (hit >= 0) return at + hit;
      // The marker may begin in the last three bytes.
      at += Math.max(1, view.length - 3);
    }
    return undefined;
  }
}
