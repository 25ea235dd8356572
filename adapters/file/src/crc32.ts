/** CRC-32 (IEEE, as in zlib and PNG): Node's own if it has one (20.15 and later), otherwise by table. */
import * as zlib from 'node:zlib';

type Crc32 = (data: Uint8Array, start?: number) => number;

const table = new Uint32Array(256).map((_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** For a Node without `zlib.crc32`; exported so that tests compare it with the other. */
export function crc32ByTable(data: Uint8Array, start = 0): number {
  let crc = ~start;
  for (let i = 0; i < data.length; i++) crc = (crc >>> 8) ^ table[(crc ^ data[i]!) & 255]!;
  return ~crc >>> 0;
}

/** The checksum of `data`, or of what `start` is the checksum of followed by `data`. */
export const crc32: Crc32 = (zlib as { crc32?: Crc32 }).crc32 ?? crc32ByTable;
