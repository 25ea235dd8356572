/**
 * Frames: what a log consists of after its header. docs/file-format.md is the specification.
 *
 *   marker u32 · crc u32 · length u32 · kind u8 · flags u8 · 0 u16 · sequence f64 ·
 *   synced f64 · index u32 · payload
 *
 * One append is one record: blocks 0, 1, 2 … of a sequence number, and last its mark (a commit or a rewrite). Without its mark a
 * record does not count. The checksum starts from the file's salt, so frames of another file, or within a text, are never taken for
 * its own.
 */
import type { Block, Commit, Rewrite } from '@settledb/engine';
import {
  BLOCK_FIXED_BYTES,
  bytesOf,
  CHECKED_FROM,
  FLAG_FIRST_UTF16,
  FRAME_HEADER_BYTES,
  type FrameRoom,
  frameRoom,
  isWide,
  readText,
  textBound,
  writeText,
} from './frame-layout';
import { type LogHeader, SMALL_PIECES_VERSION, SUMS_VERSION } from './header';
import { Bytes, crc32 } from './platform';
import { carriesSums, pieceOf, putSums, sumsBytes, sumsBytesBound } from './sums';

export const KIND_BLOCK = 1;
export const KIND_COMMIT = 2;
export const KIND_REWRITE = 3;

/** See `frame-layout.ts`. */
const FLAG_SECOND_UTF16 = 2;
const FLAG_MANIFEST = 4;
/** The text is followed by sums of its pieces (`sums.ts`). */
const FLAG_SUMS = 8;
/** … and those pieces are small. */
const FLAG_SMALL_PIECES = 16;

/** `n f64 · head length u32`, `epoch f64 · through f64 · drops u32`: precede the texts. */
const COMMIT_FIXED_BYTES = 12;
const REWRITE_FIXED_BYTES = 20;

/** Describing a streamed frame takes this much of its payload. Rewrites are read whole. */
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

/** Properties of the file that a frame is in. */
export type Format = Pick<LogHeader, 'salt' | 'version'>;

/** Where a frame stands: which part of which record it is. */
export type FramePlace = Pick<FrameHeader, 'sequence' | 'synced' | 'index'>;

/** What a frame says, without its texts. */
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

/** A frame to be written. `epoch` and `through` are those in force after the rewrite. */
export type Part =
  | { readonly kind: typeof KIND_BLOCK; readonly block: Block }
  | { readonly kind: typeof KIND_COMMIT; readonly commit: Commit }
  | {
      readonly kind: typeof KIND_REWRITE;
      readonly epoch: number;
      readonly through: number;
      readonly change: Rewrite;
    };

/** The commit's segments, then the commit itself. */
export function partsOf(commit: Commit): Part[] {
  const { segments } = commit;
  if (segments.length === 0) return [{ kind: KIND_COMMIT, commit }];
  const parts: Part[] = segments.map((block) => ({ kind: KIND_BLOCK, block }));
  parts.push({ kind: KIND_COMMIT, commit });
  return parts;
}

/** An upper bound of the bytes that `part` takes as a frame. */
export function boundOf(part: Part): number {
  if (part.kind === KIND_BLOCK) {
    const bytes = FRAME_HEADER_BYTES + BLOCK_FIXED_BYTES + textBound(part.block.text);
    return bytes + sumsBytesBound(bytes);
  }
  if (part.kind === KIND_COMMIT) {
    const { head, tail } = part.commit;
    return FRAME_HEADER_BYTES + COMMIT_FIXED_BYTES + textBound(head) + textBound(tail);
  }
  const { drop = [], manifest } = part.change;
  return FRAME_HEADER_BYTES + REWRITE_FIXED_BYTES + drop.length * 8 + textBound(manifest?.text ?? '');
}

/** Writes `part` at `offset` of `room` (which has room for `boundOf(part)`) and answers where the frame ends. */
export function writeFrame(
  room: FrameRoom,
  offset: number,
  part: Part,
  format: Format,
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
  return sealBetween(room, offset, at, part.kind, flags, format, place);
}

/** A frame whose payload comes from another file, with a header and sums for this one. */
export function sealed(frame: Bytes, format: Format, place: FramePlace): Bytes {
  const flags = frame[13]! & ~(FLAG_SUMS | FLAG_SMALL_PIECES);
  const to = textEnd(frame);
  const bytes = to + sumsBytesBound(to);
  const copy = bytes <= frame.length ? frame : Bytes.allocUnsafe(bytes);
  if (copy !== frame) copy.set(frame.subarray(0, to));
  return copy.subarray(0, sealBetween(frameRoom(copy), 0, to, frame[12]!, flags, format, place));
}

/** Where a frame's texts end, that is, the frame without its sums. */
function textEnd(frame: Bytes): number {
  const flags = frame[13]!;
  if ((flags & FLAG_SUMS) === 0) return frame.length;
  const version = (flags & FLAG_SMALL_PIECES) === 0 ? SUMS_VERSION : SMALL_PIECES_VERSION;
  return frame.length - sumsBytes(frame.length, pieceOf(version));
}

/** Fills in the header of a frame whose payload is there, puts the sums after it, and answers where they end. */
function sealBetween(
  room: FrameRoom,
  from: number,
  textTo: number,
  kind: number,
  flags: number,
  format: Format,
  place: FramePlace,
): number {
  const { view } = room;
  const { salt, version } = format;
  const hasSums = kind === KIND_BLOCK && version >= SUMS_VERSION && carriesSums(textTo - from);
  const to = textTo + (hasSums ? sumsBytesBound(textTo - from, pieceOf(version)) : 0);
  const sumsFlags = version >= SMALL_PIECES_VERSION ? FLAG_SUMS | FLAG_SMALL_PIECES : FLAG_SUMS;
  view.setUint32(from, salt, true);
  view.setUint32(from + 8, to - from - FRAME_HEADER_BYTES, true);
  view.setUint8(from + 12, kind);
  view.setUint8(from + 13, hasSums ? flags | sumsFlags : flags);
  view.setUint16(from + 14, 0, true);
  view.setFloat64(from + 16, place.sequence, true);
  view.setFloat64(from + 24, place.synced, true);
  view.setUint32(from + 32, place.index, true);
  const crc = hasSums
    ? putSums(room, from, textTo, flags, format)
    : crc32(bytesOf(room, from + CHECKED_FROM, to), salt);
  view.setUint32(from + 4, crc, true);
  return to;
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

/** The header at `at` of `data`, of which only the marker was checked; `undefined` when no frame of this file begins there. */
export function headerAt(data: Bytes, salt: number, at = 0): FrameHeader | undefined {
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

/** The checksum of a frame, or of its first part if {@link crc32} is then continued with the rest. */
export const checksum = (frame: Bytes, salt: number): number => crc32(frame.subarray(CHECKED_FROM), salt);

/** True when `frame` is whole, belongs to the file with this salt, and is what was written. */
export function isSound(frame: Bytes, salt: number): boolean {
  const header = headerAt(frame, salt);
  return header !== undefined && header.bytes === frame.length && header.crc === checksum(frame, salt);
}

/** What a checked frame with this payload, or the beginning of it, says; `undefined` if this version would never have written it. */
export function meaningOf(header: FrameHeader, payload: Bytes): FrameMeaning | undefined {
  const length = header.bytes - FRAME_HEADER_BYTES;
  if (header.kind === KIND_BLOCK && length >= BLOCK_FIXED_BYTES) {
    return { kind: KIND_BLOCK, id: payload.readDoubleLE(0) };
  }
  if (header.kind === KIND_COMMIT && length >= COMMIT_FIXED_BYTES) {
    const hasTail = length > COMMIT_FIXED_BYTES + payload.readUInt32LE(8);
    return { kind: KIND_COMMIT, n: payload.readDoubleLE(0), hasTail };
  }
  if (header.kind !== KIND_REWRITE || length < REWRITE_FIXED_BYTES) return undefined;
  const count = payload.readUInt32LE(16);
  if (length < REWRITE_FIXED_BYTES + count * 8) return undefined;
  const drop = Array.from({ length: count }, (_, i) => payload.readDoubleLE(REWRITE_FIXED_BYTES + i * 8));
  const [epoch, through] = [payload.readDoubleLE(0), payload.readDoubleLE(8)];
  return { kind: KIND_REWRITE, epoch, through, drop, hasManifest: (header.flags & FLAG_MANIFEST) !== 0 };
}

/** The text of a block frame, or the manifest of a rewrite. */
export function textOf(frame: Bytes): string {
  const flags = frame[13]!;
  const skip =
    frame[12] === KIND_BLOCK
      ? BLOCK_FIXED_BYTES
      : REWRITE_FIXED_BYTES + frame.readUInt32LE(FRAME_HEADER_BYTES + 16) * 8;
  return readText(frame.subarray(FRAME_HEADER_BYTES + skip, textEnd(frame)), flags & FLAG_FIRST_UTF16);
}

/** The texts of a commit frame. */
export function commitOf(frame: Bytes): { n: number; head: string; tail: string } {
  const flags = frame[13]!;
  const payload = frame.subarray(FRAME_HEADER_BYTES);
  const tailAt = COMMIT_FIXED_BYTES + payload.readUInt32LE(8);
  return {
    n: payload.readDoubleLE(0),
    head: readText(payload.subarray(COMMIT_FIXED_BYTES, tailAt), flags & FLAG_FIRST_UTF16),
    tail: readText(payload.subarray(tailAt), flags & FLAG_SECOND_UTF16),
  };
}
