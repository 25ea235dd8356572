/** What every journal, store and database promises, over the browser's own private file system, in a dedicated worker. */
import { opfs } from '@settledb/adapter-opfs';
import { type DatabaseTables, evaluate, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { databaseConformance } from '../conformance/database';
import { journalConformance } from '../conformance/journal';
import { type MangoDatabase, mangoConformance } from '../conformance/mango';
import { storeConformance } from '../conformance/store';
import { viewsConformance } from '../conformance/views';
import { inWorker } from '../support/in-worker';

await inWorker(import.meta.url, () => {
  const adapter = opfs();
  journalConformance('opfs', () => opfs({ waitMs: 200 }), {
    shared: false,
    restart: () => opfs({ waitMs: 200 }),
    runs: 10,
  });
  storeConformance('opfs', {
    open: async (name) => openLogStore<DatabaseTables>(await adapter.open(name), schema),
    shared: false,
    runs: 15,
  });
  databaseConformance('opfs', (name, options) => new SettleDB(name, { adapter, ...options }));
  viewsConformance('opfs', (name, options) => new SettleDB(name, { adapter, evaluate, ...options }));
  mangoConformance('opfs', (name) => new SettleDB(name, { adapter }) as MangoDatabase);
});
