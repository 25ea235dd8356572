/** Content that is stored as gzip, on its way out: from pieces of a test's own. */
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { gunzipped } from '../../packages/core/src/database/attachment-bytes';
import { noise } from '../conformance/database/attachment-bytes';

const PIECE = 64 * 1024;
const content = noise(4_000_000);
const packed = gzipSync(content);

it('is read no further than it is asked for', async () => {
  let taken = 0;
  const pieces = async function* (): AsyncGenerator<Uint8Array, void> {
    for (let at = 0; at < packed.length; at += PIECE) {
      taken++;
      yield packed.subarray(at, at + PIECE);
    }
  };
  const reading = gunzipped(pieces());
  const read = [(await reading.next()).value as Uint8Array];
  for (let turns = 0; turns < 200; turns++) await new Promise(setImmediate);
  expect(packed.length / PIECE).toBeGreaterThan(50);
  expect(taken).toBeLessThan(4);
  for await (const piece of reading) read.push(piece);
  expect(Buffer.concat(read).equals(content)).toBe(true);
});

it('fails with what its source fails with, and ends that when it is left', async () => {
  let ended = 0;
  const pieces = async function* (failure?: Error): AsyncGenerator<Uint8Array, void> {
    try {
      yield packed.subarray(0, PIECE);
      if (failure !== undefined) throw failure;
      yield packed.subarray(PIECE);
    } finally {
      ended++;
    }
  };
  const all = async (reading: AsyncGenerator<Uint8Array, void>): Promise<void> => {
    for await (const _ of reading);
  };
  const damage = new TypeError('damaged');
  await expect(all(gunzipped(pieces(damage)))).rejects.toBe(damage);
  expect(ended).toBe(1);
  const left = gunzipped(pieces());
  await left.next();
  await left.return();
  for (let turns = 0; ended < 2 && turns < 200; turns++) await new Promise(setImmediate);
  expect(ended).toBe(2);
});
