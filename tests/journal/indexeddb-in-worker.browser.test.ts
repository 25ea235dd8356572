import { indexeddb } from '@settledb/adapter-indexeddb';
import { journalConformance } from '../conformance/journal';
import { inWorker } from '../support/in-worker';

await inWorker(import.meta.url, () =>
  journalConformance('indexeddb in a worker', () => indexeddb(), { shared: true, runs: 5 }),
);
