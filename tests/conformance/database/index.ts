/**
 * The conformance suite for databases: what contract.md §1–10 demand of anything with PouchDB's methods, whatever
 * stores it and wherever it runs. It uses no built-in of Node and waits for events, never for time.
 */
import { allDocsConformance } from './all-docs';
import { attachmentsConformance } from './attachments';
import { changesConformance } from './changes';
import { changesIterationConformance } from './changes-iteration';
import { changesLiveConformance } from './changes-live';
import { compactionAndPurgeConformance } from './compaction-and-purge';
import { concurrencyConformance } from './concurrency';
import { Context, declareTopics, type Features, LOCAL_FEATURES, type Open, type Topics } from './context';
import { errorsConformance } from './errors';
import { exchangeConformance } from './exchange';
import { hostileOptionsConformance } from './hostile-options';
import { hostileValuesConformance } from './hostile-values';
import { lifecycleConformance } from './lifecycle';
import { localDocsConformance } from './local-docs';
import { newEditsFalseConformance } from './new-edits-false';
import { randomHistoriesConformance } from './random-histories';
import { readsConformance } from './reads';
import { treesAndWinnersConformance } from './trees-and-winners';
import { volumeConformance } from './volume';
import { writesConformance } from './writes';

export type { Features, Open } from './context';
export type { TestDatabase } from './types';

const TOPICS: Topics = {
  lifecycle: lifecycleConformance,
  errors: errorsConformance,
  writes: writesConformance,
  'new_edits: false': newEditsFalseConformance,
  reads: readsConformance,
  'trees and winners': treesAndWinnersConformance,
  allDocs: allDocsConformance,
  changes: changesConformance,
  'live changes': changesLiveConformance,
  'changes walked': changesIterationConformance,
  'local documents': localDocsConformance,
  attachments: attachmentsConformance,
  'compaction and purge': compactionAndPurgeConformance,
  'hostile values': hostileValuesConformance,
  'hostile options': hostileOptionsConformance,
  concurrency: concurrencyConformance,
  'random histories': randomHistoriesConformance,
  exchange: exchangeConformance,
  volume: volumeConformance,
};

/** Tests of these open a database more than once. */
const SEVERAL_HANDLES = [
  'lifecycle',
  'live changes',
  'changes walked',
  'local documents',
  'attachments',
  'compaction and purge',
  'hostile values',
  'concurrency',
  'random histories',
  'volume',
];

/**
 * Declares the tests of every topic.
 *
 * @param name stands before the names of the tests
 * @param open gives a handle; handles of one name are handles on one database
 * @param features what differs from a database in this context; tests left out by it say so
 */
export function databaseConformance(name: string, open: Open, features: Partial<Features> = {}): void {
  const context = new Context(open, { ...LOCAL_FEATURES, ...features });
  declareTopics(name, context, TOPICS, SEVERAL_HANDLES);
}
