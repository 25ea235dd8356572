/** A hundred thousand inserts in process: latencies, CPU time and memory, each contender in a process of its own. */
import { apart } from '../apart';
import { insertMeasures, insertUnits } from '../insert-cases';
import type { RunOptions, Suite } from '../suite';

export const suite = (options: RunOptions): Suite => {
  const contender = (name: string, newer = false) =>
    apart(name, `inserts: ${name.replace(' NORMAL', '')}`, options, { newer, fresh: true });
  return {
    title: 'inserts of documents of about 300 bytes, each contender in a process of its own',
    documents: 100_000,
    rounds: 1,
    units: insertUnits,
    measures: insertMeasures,
    contenders: [
      contender('settledb'),
      contender('better-sqlite3 NORMAL'),
      contender('node:sqlite NORMAL', true),
      contender('classic-level'),
      contender('PouchDB leveldb'),
    ],
  };
};
