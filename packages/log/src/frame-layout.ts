/** What frames and their sums are made of: places in a frame, room for one, and texts as bytes. */
import type { Bytes } from './platform';

export const FRAME_HEADER_BYTES = 36;
/** Where the checked part of a frame begins. */
export const CHECKED_FROM = 8;
/** `id f64`: precedes the text of a block. */
export const BLOCK_FIXED_BYTES = 8;

/**
 * A text is stored as Latin-1 if possible, otherwise as UTF-16: V8's own two forms, so both ways are mere copies, and unpaired
 * surrogates are preserved. (125 KB with some `é`: UTF-8 59 µs to write and 184 to read, Latin-1 2.4 and 6.)
 */
export const FLAG_FIRST_UTF16 = 1;

/**
 * Room for frames. Numbers are written through the view: the buffer's own methods cost several times as much until the engine has
 * optimised them.
 */
export interface FrameRoom {
  readonly data: Bytes;
  readonly view: DataView;
}

export const frameRoom = (data: Bytes): FrameRoom => ({
  data,
  view: new DataView(data.buffer, data.byteOffset, data.length),
});

/** A view of a part of it. A `Buffer` of that would be made by JavaScript, which takes several times as long at first, as above. */
export const bytesOf = ({ data }: FrameRoom, from: number, to: number): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset + from, to - from);

/** Shorter texts are not examined to save room: a UTF-16 unit takes at most two bytes. */
const LONG_TEXT = 4096;

export function textBound(text: string): number {
  return text.length < LONG_TEXT || isWide(text) ? text.length * 2 : text.length;
}

/** True when Latin-1 cannot hold the text. V8 answers at once for a text that it holds as Latin-1 itself. */
export const isWide = (text: string): boolean => /[^\0-\xff]/.test(text);

export const writeText = (data: Bytes, at: number, text: string, utf16: number): number =>
  at + data.write(text, at, utf16 === 0 ? 'latin1' : 'utf16le');

export const readText = (data: Bytes, utf16: number): string =>
  data.toString(utf16 === 0 ? 'latin1' : 'utf16le');
