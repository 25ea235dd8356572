import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { storeConformance } from '../conformance/store';
import { slow } from '../support/slow-adapter';

const adapter = memory();
/** Of the model, of which each run tries other mixtures: the same code in both, so in a browser few. */
const runs = (inNode: number): number => ('document' in globalThis ? Math.ceil(inNode / 5) : inNode);

storeConformance('memory', {
  open: async (name) => openLogStore<DatabaseTables>(await adapter.open(name), schema),
  shared: true,
  runs: runs(150),
});

// The same with caches too small for anything, so that every text is loaded and let go again.
storeConformance('memory, hardly any cache', {
  open: async (name) =>
    openLogStore<DatabaseTables>(await adapter.open(name), schema, { textCacheLength: 200 }),
  shared: true,
  runs: runs(50),
});

const seed = Math.floor(Math.random() * 2 ** 32);
const slowly = slow(adapter, seed);

storeConformance(`memory, slow (seed ${seed})`, {
  open: async (name) =>
    openLogStore<DatabaseTables>(await slowly.open(name), schema, { textCacheLength: 1000 }),
  shared: true,
  runs: runs(40),
});
