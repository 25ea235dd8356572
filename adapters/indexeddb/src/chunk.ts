/** A chunk of content as a record: its bytes, and a checksum that reveals damage to them. */
import { corrupt, type Durability } from '@settledb/core';
import { isChromium } from './one-at-a-time';
import { BYTES_MAX } from './pieces';

interface ChunkRecord {
  readonly sum: number;
  readonly bytes: Uint8Array;
}

/** A view is stored together with its whole buffer, so the bytes get a buffer of their own. */
export function chunkRecord(chunk: Uint8Array): ChunkRecord {
  const bytes = chunk.byteLength === chunk.buffer.byteLength ? chunk : new Uint8Array(chunk);
  return { sum: checksum(bytes), bytes };
}

/**
 * How what puts these chunks is to be committed. Chromium (156) keeps a record of more than 64 KiB in a file, and of a transaction that is
 * not `strict` it syncs the log that names the file and not the file: after a power failure the document would be there for good, and
 * its attachment never again.
 */
export const durabilityOf = (chunks: readonly Uint8Array[], asked: Durability): Durability =>
  isChromium() && chunks.some(({ length }) => length > BYTES_MAX) ? 'strict' : asked;

/** @throws DatabaseError `corrupt` */
export function bytesOf(value: unknown, place: string, index: number): Uint8Array | undefined {
  if (value === undefined) return undefined;
  // The first builds stored the bytes alone: nothing tells whether these are damaged.
  if (ArrayBuffer.isView(value)) return ours(value as Uint8Array);
  const { bytes, sum } = value as Partial<ChunkRecord>;
  // Not by class: it is another realm's in a frame (driver.ts), and where a page and the way it copies are simulated (jsdom, fake-indexeddb).
  if (ArrayBuffer.isView(bytes) && checksum(bytes) === sum) return ours(bytes);
  throw corrupt(`The record of chunk ${index} of the attachment content ${place} is damaged`);
}

/** What takes bytes may refuse those of another realm, as a DecompressionStream does in WebKit (2.50). */
const ours = (bytes: Uint8Array): Uint8Array => (bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes));

/**
 * Word by word; each step is one-to-one in the word and in the sum so far: a change of one word is always found, other changes all but
 * once in 2³². For 50 KB it takes 15 µs, MD5 150. `bytes` has a buffer of its own, and begins at a word.
 */
function checksum(bytes: Uint8Array): number {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
  let sum = bytes.length;
  for (let i = 0; i < words.length; i++) {
    sum = Math.imul(sum ^ words[i]!, 0x5bd1e995);
    sum ^= sum >>> 15;
  }
  for (let i = words.length * 4; i < bytes.length; i++) sum = Math.imul(sum ^ bytes[i]!, 0x5bd1e995);
  return sum;
}
