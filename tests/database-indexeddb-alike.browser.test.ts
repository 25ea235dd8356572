/** Databases on IndexedDB, and those of a worker, answer like one in the page's memory. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { onTestFinished } from 'vitest';
import { SettleDB } from '../packages/settledb/src/entry.browser';
import { connect } from '../packages/settledb/src/worker';
import { answersAlike } from './conformance/alike/index';

answersAlike('on IndexedDB', {
  Base: SettleDB,
  opener: () => (name, options) => new SettleDB(name, { ...options, adapter: indexeddb() }),
});

answersAlike('in a worker', {
  Base: SettleDB,
  opener() {
    const Hosted = connect(
      () => new Worker(new URL('./worker/evaluating-worker.ts', import.meta.url), { type: 'module' }),
      { adapters: ['memory'] },
    );
    onTestFinished(() => Hosted.disconnect());
    return (name, { evaluate: _, ...options }) => new Hosted(name, options);
  },
});
