/** The conformance suites for views and Mango, for databases in a dedicated worker, in Chromium. */
import { connect } from '../packages/settledb/src/worker';
import type { TestDatabase } from './conformance/database';
import { type MangoDatabase, mangoConformance } from './conformance/mango';
import { viewsConformance } from './conformance/views';

const SettleDB = connect(
  () => new Worker(new URL('./worker/evaluating-worker.ts', import.meta.url), { type: 'module' }),
  { functions: 'source', adapters: ['memory'] },
);

viewsConformance(
  'views in a worker',
  (name, options) => new SettleDB(name, options) as unknown as TestDatabase,
  {
    // Maps refer to what lies around them in the tests.
    local: false,
  },
);
mangoConformance('mango in a worker', (name) => new SettleDB(name) as unknown as MangoDatabase);
