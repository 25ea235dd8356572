import * as zlib from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { onNode } from '../../adapters/file/src/node-platform';
import { crc32ByTable } from '../../packages/log/src/crc32';
import { crc32 } from '../../packages/log/src/platform';

onNode();

it('is the CRC-32 of zlib, whole and continued', () => {
  expect(crc32ByTable(Buffer.from('123456789'))).toBe(0xcbf43926);
  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), fc.nat(), (one, two, start) => {
      expect(crc32ByTable(one, start)).toBe(crc32(one, start));
      expect(crc32(two, crc32(one))).toBe(crc32ByTable(Buffer.concat([one, two])));
    }),
  );
  expect(crc32).toBe((zlib as { crc32?: unknown }).crc32 ?? crc32ByTable);
});
