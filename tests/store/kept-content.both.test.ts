/** How much content a store keeps in memory: seen by what it asks of its journal. */
import { memory } from '@settledb/adapter-memory';
import type { DatabaseTables } from '@settledb/core';
import { schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { expect, it } from 'vitest';
import { CACHED_COUNT } from '../../packages/engine/src/blobs';

const CONTENT_BYTES = 8;

/** A store, and the places that it asks its journal for. */
async function open(cachedBytes?: number) {
  const journal = await memory().open('db');
  const asked: string[] = [];
  const get = journal.blobs.get.bind(journal.blobs);
  journal.blobs.get = (place, index) => {
    asked.push(place);
    return get(place, index);
  };
  const store = await openLogStore<DatabaseTables>(journal, schema, { stagedBytes: 0, cachedBytes });
  return { store, asked };
}

it('keeps content that was read as long as there is room, the least recently read going first', async () => {
  const { store, asked } = await open(2 * CONTENT_BYTES);
  const put = (n: number) => store.blobs.put([new Uint8Array(CONTENT_BYTES).fill(n)]);
  const [a, b, c] = [await put(1), await put(2), await put(3)];
  for (const [place, n] of [
    [a, 1],
    [b, 2],
    [a, 1],
    [c, 3],
    [a, 1],
    [b, 2],
  ] as const)
    expect(await store.blobs.get(place, 0)).toEqual(new Uint8Array(CONTENT_BYTES).fill(n));
  expect(asked).toEqual([a, b, c, b]);
  // What a reader does with it is nobody else's matter.
  (await store.blobs.get(b, 0))!.fill(9);
  expect((await store.blobs.get(b, 0))![0]).toBe(2);
  await store.close();
});

it('keeps a bounded number of contents, however small they are', async () => {
  const { store, asked } = await open();
  const places: string[] = [];
  for (let n = 0; n <= CACHED_COUNT; n++) places.push(await store.blobs.put([new Uint8Array([n])]));
  for (const place of places) await store.blobs.get(place, 0);
  asked.length = 0;
  await store.blobs.get(places[1]!, 0);
  expect(asked).toEqual([]);
  await store.blobs.get(places[0]!, 0);
  expect(asked).toEqual([places[0]]);
  await store.close();
});
