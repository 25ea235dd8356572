/** The conformance suite for databases with every handle in a context of its own, as tabs and workers are, in memory. */
import { memory } from '@settledb/adapter-memory';
import { SettleDB } from '../packages/settledb/src/settledb';
import { apart } from './conformance/apart';
import { databaseConformance } from './conformance/database';

const adapter = memory();

databaseConformance(
  'memory, contexts apart',
  (name, options) => new SettleDB(name, { adapter: apart(adapter), ...options }),
  { onlySeveral: true },
);
