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

it('keeps no long content, which would push out many short ones', async () => {
  const { store, asked } = await open();
  const places = [await store.blobs.put([new Uint8Array(256 * 1024)])];
  places.push(await store.blobs.put([new Uint8Array(256 * 1024 + 1)]));
  for (const place of [...places, ...places]) await store.blobs.get(place, 0);
  expect(asked).toEqual([...places, places[1]]);
  await store.close();
});

/** A store, and the places that its journal has. */
async function opened(stagedBytes: number) {
  const journal = await memory().open('db');
  const store = await openLogStore<DatabaseTables>(journal, schema, { stagedBytes });
  const put = () => store.blobs.put([new Uint8Array(CONTENT_BYTES)]);
  const name = (place: string) => {
    const row = { blob: place, size: CONTENT_BYTES, place };
    return store.write([], () => ({ writes: [{ into: 'blobs', put: [row] }], value: 0, places: [place] }));
  };
  return { store, journal, put, name };
}

it('content held back for its commit gives its room to the next once it is released', async () => {
  const { store, journal, put, name } = await opened(CONTENT_BYTES);
  for (const places of [1, 2, 3]) {
    const place = await put();
    expect(await journal.blobs.places()).toHaveLength(places - 1);
    await name(place);
    store.blobs.release(place);
    expect(await journal.blobs.places()).toHaveLength(places);
  }
  await store.close();
});

it.each([
  0,
  CONTENT_BYTES,
])('content is swept once it is released, and not before; held back: %i bytes', async (stagedBytes) => {
  const { store, journal, put, name } = await opened(stagedBytes);
  const place = await put();
  await name(place);
  const nothing = async () => new Set<string>();
  await store.blobs.sweep(nothing);
  expect(await journal.blobs.places()).toEqual([place]);
  store.blobs.release(place);
  await store.blobs.sweep(nothing);
  expect(await journal.blobs.places()).toEqual([]);
  await store.close();
});

it('what a failed put left is swept by whom it failed', async () => {
  const { store, journal, put } = await opened(0);
  const plain = journal.blobs.put.bind(journal.blobs);
  journal.blobs.put = async (...given) => {
    await plain(...given);
    throw new Error('and then it could not say so');
  };
  await expect(put()).rejects.toThrow('could not say so');
  expect(await journal.blobs.places()).toHaveLength(1);
  await store.blobs.sweep(async () => new Set());
  expect(await journal.blobs.places()).toEqual([]);
  await store.close();
});
