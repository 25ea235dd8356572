/** The conformance suite for databases on IndexedDB in a dedicated worker, in Chromium. */
import { connect } from '../packages/settledb/src/worker';
import { databaseConformance, type TestDatabase } from './conformance/database';

const SettleDB = connect(
  () => new Worker(new URL('./worker/worker-of-tests.ts', import.meta.url), { type: 'module' }),
  // What the suite passes as filters refers to nothing outside itself.
  { functions: 'source' },
);

databaseConformance('worker', (name, options) => new SettleDB(name, options) as unknown as TestDatabase);
