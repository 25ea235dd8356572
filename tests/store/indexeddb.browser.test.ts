import { indexeddb } from '@settledb/adapter-indexeddb';
import { type DatabaseTables, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { storeConformance } from '../conformance/store';

// Several adapters, so that handles have connections, locks and caches of their own, as tabs have.
const adapters = [indexeddb(), indexeddb(), indexeddb()];
let next = 0;

storeConformance('indexeddb', {
  open: async (name) => {
    const adapter = adapters[next++ % adapters.length] as (typeof adapters)[number];
    return openLogStore<DatabaseTables>(await adapter.open(name), schema);
  },
  shared: true,
  runs: 25,
});
