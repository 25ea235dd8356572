/**
 * What a platform does faster than this package could by itself. An adapter says so before it opens anything; every form gives the
 * same bytes.
 */
import { type BytesMaker, portableBytes, type Bytes as TextBytes } from './bytes';
import { type Crc32, crc32ByTable } from './crc32';

interface Platform {
  readonly bytes: BytesMaker;
  readonly crc32: Crc32;
}

export let Bytes: BytesMaker = portableBytes;
export type Bytes = TextBytes;

export let crc32: Crc32 = crc32ByTable;

/** For all of the program: a platform has one best way. */
export function runOn(platform: Platform): void {
  Bytes = platform.bytes;
  crc32 = platform.crc32;
}

export function random(length: number): Bytes {
  const bytes = Bytes.alloc(length);
  crypto.getRandomValues(bytes as Uint8Array<ArrayBuffer>);
  return bytes;
}
