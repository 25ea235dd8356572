/** What content that is kept in memory keeps beside itself: nothing. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { expect, it } from 'vitest';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const nextTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

it('a small content that was cut out of a large block does not keep the block', async () => {
  const journal = await memory().open('db');
  const blocks: WeakRef<ArrayBuffer>[] = [];
  // As Node's `Buffer.allocUnsafe`, with which files are read.
  journal.blobs.get = async () => {
    const block = new ArrayBuffer(8 * 1024);
    blocks.push(new WeakRef(block));
    return new Uint8Array(block, 16, 8).fill(7);
  };
  const store = await openLogStore<DatabaseTables>(journal, schema);
  expect(await store.blobs.get('a', 0)).toEqual(new Uint8Array(8).fill(7));
  await nextTask();
  collect();
  expect(blocks.map((block) => block.deref())).toEqual([undefined]);
  expect(await store.blobs.get('a', 0)).toEqual(new Uint8Array(8).fill(7));
  expect(blocks).toHaveLength(1);
  await store.close();
});
