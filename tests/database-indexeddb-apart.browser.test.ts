/** The conformance suite for databases with every handle in a context of its own, as tabs and workers are, on IndexedDB. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { SettleDB } from '../packages/settledb/src/settledb';
import { apart } from './conformance/apart';
import { databaseConformance } from './conformance/database';

const adapter = indexeddb();

databaseConformance(
  'indexeddb, contexts apart',
  (name, options) => new SettleDB(name, { adapter: apart(adapter), ...options }),
  { onlySeveral: true },
);
