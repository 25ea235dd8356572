/** CRC-32 (IEEE, as in zlib and PNG) by tables, eight bytes at a time ("slicing by 8": Kounavis and Berry, Intel, 2005). */

/** Of `data`, or of what `start` is the checksum of followed by `data`. */
export type Crc32 = (data: Uint8Array, start?: number) => number;

const SLICES = 8;
/** Slice `s` says what a byte does to the checksum when `s` more bytes follow it. */
const tables = Array.from({ length: SLICES }, () => new Uint32Array(256));

for (let byte = 0; byte < 256; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  tables[0]![byte] = crc;
}
for (let slice = 1; slice < SLICES; slice++) {
  const before = tables[slice - 1]!;
  for (let byte = 0; byte < 256; byte++)
    tables[slice]![byte] = (before[byte]! >>> 8) ^ tables[0]![before[byte]! & 255]!;
}
const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as [
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
];

export const crc32ByTable: Crc32 = (data, start = 0) => {
  let crc = ~start;
  let i = 0;
  for (const end = data.length - 7; i < end; i += 8) {
    const first = crc ^ (data[i]! | (data[i + 1]! << 8) | (data[i + 2]! << 16) | (data[i + 3]! << 24));
    crc =
      t7[first & 255]! ^
      t6[(first >>> 8) & 255]! ^
      t5[(first >>> 16) & 255]! ^
      t4[first >>> 24]! ^
      t3[data[i + 4]!]! ^
      t2[data[i + 5]!]! ^
      t1[data[i + 6]!]! ^
      t0[data[i + 7]!]!;
  }
  for (; i < data.length; i++) crc = (crc >>> 8) ^ t0[(crc ^ data[i]!) & 255]!;
  return ~crc >>> 0;
};
