/**
 * Sums of the pieces of a block's frame, by which a part of its text is checked without reading the rest.
 *
 *   checked by the frame's crc:  │ 1,024 bytes │ 1,024 bytes │ … the text ends │ sum sum sum · flags · check │
 *
 * Each sum is the running checksum after one more piece. Frames of older logs, whose files have no sums, and short frames get theirs
 * when they are read whole.
 */
import {
  BLOCK_FIXED_BYTES,
  bytesOf,
  CHECKED_FROM,
  FLAG_FIRST_UTF16,
  FRAME_HEADER_BYTES,
  type FrameRoom,
  readText,
} from './frame-layout';
import { type LogHeader, SMALL_PIECES_VERSION } from './header';
import { type Bytes, crc32 } from './platform';

/**
 * A document and its neighbours: reading and checking 1.4 KB for one of 300 bytes takes 2.0 µs; with pieces of 4,096 it takes 3.6. In
 * memory this takes 4 bytes for each piece that was looked into, at most a 256th of the log; and as much in the file.
 */
const PIECE_BYTES = 1024;
/** … in logs of version 3. */
const LARGE_PIECE_BYTES = 4096;
/** Frames that are longer than this without sums carry them: others are read whole in little more time. */
const CARRIED_FROM = 16 * 1024;
/** After the sums: the flags of the frame, and the checksum of sums and flags, so that they can be read alone. */
const END_BYTES = 8;

export interface Sums {
  /** The running checksum after each piece of what is checked, including the last. */
  readonly running: Uint32Array;
  /** Bytes of a piece. */
  readonly piece: number;
  readonly isWide: boolean;
  /** Where the text ends in the frame. */
  readonly end: number;
}

/** @param bytes of a frame without sums */
export const carriesSums = (bytes: number): boolean => bytes > CARRIED_FROM;

/** Bytes of a piece in a log of this version. */
export const pieceOf = (version: number): number =>
  version >= SMALL_PIECES_VERSION ? PIECE_BYTES : LARGE_PIECE_BYTES;

/** @param bytes of a frame without sums, or an upper bound of them */
export const sumsBytesBound = (bytes: number, piece = PIECE_BYTES): number =>
  carriesSums(bytes) ? Math.ceil((bytes - CHECKED_FROM) / piece) * 4 + END_BYTES : 0;

/** @param bytes of a whole frame with sums: each piece then counts 4 bytes more */
export const sumsBytes = (bytes: number, piece: number): number =>
  Math.ceil((bytes - CHECKED_FROM - END_BYTES) / (piece + 4)) * 4 + END_BYTES;

/** Puts sums after the text of the frame, whose header is there. @returns the checksum of the frame */
export function putSums(
  room: FrameRoom,
  from: number,
  to: number,
  flags: number,
  { salt, version }: Pick<LogHeader, 'salt' | 'version'>,
): number {
  const { view } = room;
  const piece = pieceOf(version);
  let crc = salt;
  let at = to;
  for (let start = from + CHECKED_FROM; start < to; start += piece) {
    crc = crc32(bytesOf(room, start, Math.min(start + piece, to)), crc);
    view.setUint32(at, crc, true);
    at += 4;
  }
  view.setUint32(at, flags, true);
  view.setUint32(at + 4, crc32(bytesOf(room, to, at + 4), salt), true);
  return crc32(bytesOf(room, to, at + END_BYTES), crc);
}

/**
 * The sums that a frame of `bytes` bytes carries.
 * @param data its last {@link sumsBytes}
 * @returns `undefined` when `data` is not what was written
 */
export function carriedSums(data: Bytes, bytes: number, salt: number, piece: number): Sums | undefined {
  const flagsAt = data.length - END_BYTES;
  if (crc32(data.subarray(0, flagsAt + 4), salt) !== data.readUInt32LE(flagsAt + 4)) return undefined;
  const running = Uint32Array.from({ length: flagsAt / 4 }, (_, i) => data.readUInt32LE(i * 4));
  const isWide = (data.readUInt32LE(flagsAt) & FLAG_FIRST_UTF16) !== 0;
  return { running, piece, isWide, end: bytes - data.length };
}

/** The sums of a whole frame that carries none. The last sum shows whether the frame is sound. */
export function sumsOf(frame: Bytes, salt: number): Sums {
  const running = new Uint32Array(Math.ceil((frame.length - CHECKED_FROM) / PIECE_BYTES));
  let crc = salt;
  for (let i = 0; i < running.length; i++) {
    const from = CHECKED_FROM + i * PIECE_BYTES;
    crc = crc32(frame.subarray(from, from + PIECE_BYTES), crc);
    running[i] = crc;
  }
  const isWide = (frame[13]! & FLAG_FIRST_UTF16) !== 0;
  return { running, piece: PIECE_BYTES, isWide, end: frame.length };
}

/** Which bytes of a block's frame to read for a part of its text, and how to make the text from them. */
interface FramePart {
  readonly from: number;
  readonly to: number;
  /** @returns `undefined` when `data` is not what was written */
  text(data: Bytes): string | undefined;
}

/** @param at in the text, in characters, as is `length`; together no more than there are */
export function framePart(
  { running, piece, isWide, end: textEnd }: Sums,
  salt: number,
  at: number,
  length: number,
): FramePart {
  const unit = isWide ? 2 : 1;
  const start = FRAME_HEADER_BYTES + BLOCK_FIXED_BYTES + at * unit;
  const end = Math.min(start + length * unit, textEnd);
  const first = Math.floor((start - CHECKED_FROM) / piece);
  const last = Math.ceil((end - CHECKED_FROM) / piece) - 1;
  const from = CHECKED_FROM + first * piece;
  return {
    from,
    to: Math.min(CHECKED_FROM + (last + 1) * piece, textEnd),
    text: (data) =>
      crc32(data, first === 0 ? salt : running[first - 1]!) === running[last]
        ? readText(data.subarray(start - from, end - from), isWide ? 1 : 0)
        : undefined,
  };
}
