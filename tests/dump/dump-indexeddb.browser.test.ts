/** Dumps of databases in IndexedDB, in Chromium; and of those in a worker, over its messages. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { connect } from '../../packages/settledb/src/worker';
import type { Db } from './content';
import { dumpSuite } from './suite';

const unique = (): string => `dump-${crypto.randomUUID()}`;
const adapter = indexeddb();
dumpSuite('indexeddb', { make: async () => new SettleDB(unique(), { adapter }) });

const Hosted = connect(
  () => new Worker(new URL('../worker/worker-of-tests.ts', import.meta.url), { type: 'module' }),
  { functions: 'source' },
);
dumpSuite('worker', { make: async () => new Hosted(unique()) as unknown as Db, local: false });
