/** The cases of storage.md's target table: one round is all cases of one contender on a database of its own. */
import type { PerfDoc } from './docs';
import { withOneOpen } from './stays';
import type { RoundSetting, SuiteContender, Time } from './suite';

/**
 * What every contender does, in its own best way: the same work on the same documents. A contender that cannot do a thing
 * leaves it out, and its cell in the table is empty.
 */
export interface Handle {
  bulk(docs: readonly PerfDoc[]): Promise<void>;
  /** One document, awaited by the caller before the next. */
  put(doc: PerfDoc): Promise<void>;
  get(id: string): Promise<{ _id: string }>;
  /** Number of rows. */
  allDocs(bodies: boolean): Promise<number>;
  changes?(): Promise<number>;
  /** A new version of every document: all are read, changed and written. */
  updateAll(): Promise<void>;
  /** Bodies of `limit` documents from an id on. */
  range(from: string, limit: number): Promise<number>;
  count(): Promise<number>;
  /** One-shot replication from, or to, the database at `url`. Answers the number of revisions written. */
  pull?(url: string): Promise<number>;
  push?(url: string): Promise<number>;
  /** Fills it from a snapshot. Answers the number of revisions written. */
  load?(url: string): Promise<number>;
  close(): Promise<void>;
  destroy(): Promise<void>;
}

export interface Contender {
  readonly name: string;
  open(name: string): Promise<Handle>;
}

/** Operations per timing, so that a timing is well above the clock's resolution. */
const SINGLE = 200;
const CONCURRENT = 1000;
const GETS = 1000;
const COLD_GETS = 100;
const RANGES = 100;
const INFOS = 100;

export const documentUnits: Record<string, string> = {
  'bulk insert': 'all documents in one call',
  'single inserts': `${SINGLE} awaited one by one`,
  'concurrent inserts': `${CONCURRENT} at once`,
  'get, cached': `${GETS} random ids, awaited one by one`,
  allDocs: 'all ids and revisions',
  'allDocs with bodies': 'all documents',
  changes: 'all, from 0',
  range: `${RANGES} × 20 documents`,
  'info, count': `${INFOS} times`,
  'update all': 'read, change and write every document',
  'reopen + first get': 'a closed database, opened anew',
  'get, uncached': `${COLD_GETS} random ids after reopening`,
};

/** A contender of the document cases. */
export const documentContender = (contender: Contender): SuiteContender =>
  withOneOpen(
    { name: contender.name, round: (time, setting) => runRound(contender, time, setting) },
    contender.open,
  );

async function runRound(contender: Contender, time: Time, { docs, database }: RoundSetting): Promise<void> {
  const ids = docs.map((doc) => doc._id);
  const pick = (i: number): string => ids[(i * 7919) % ids.length] as string;
  const extra = (prefix: string, count: number): PerfDoc[] =>
    Array.from({ length: count }, (_, i) => {
      const doc = docs[i % docs.length] as PerfDoc;
      return { ...doc, _id: `${prefix}-${i}-${doc._id}` };
    });

  let db = await contender.open(database);
  await db.count();
  await time('bulk insert', () => db.bulk(docs));
  check(await db.count(), docs.length, contender, 'count after bulk insert');
  await db.get(pick(1));
  await time('get, cached', () => times(GETS, (i) => db.get(pick(i))));
  await time('allDocs', async () => check(await db.allDocs(false), docs.length, contender, 'allDocs'));
  await time('allDocs with bodies', async () =>
    check(await db.allDocs(true), docs.length, contender, 'allDocs with bodies'),
  );
  if (db.changes)
    await time('changes', async () =>
      check(await (db as Required<Handle>).changes(), docs.length, contender, 'changes'),
    );
  await time('range', () => times(RANGES, (i) => db.range(pick(i), 20)));
  await time('info, count', () => times(INFOS, () => db.count()));
  await time('update all', () => db.updateAll());
  const singles = extra('one', SINGLE);
  await time('single inserts', () => times(SINGLE, (i) => db.put(singles[i] as PerfDoc)));
  const many = extra('many', CONCURRENT);
  await time('concurrent inserts', () => Promise.all(many.map((doc) => db.put(doc))));
  check(await db.count(), docs.length + SINGLE + CONCURRENT, contender, 'count at the end');
  await db.close();
  await time('reopen + first get', async () => {
    db = await contender.open(database);
    await db.get(pick(5));
  });
  await time('get, uncached', () => times(COLD_GETS, (i) => db.get(pick(i * 31 + 7))));
  await db.destroy();
}

async function times(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < count; i++) await work(i);
}

/** A contender that does less work than the others is no contender. */
function check(found: number, expected: number, contender: Contender, what: string): void {
  if (found !== expected) throw new Error(`${contender.name}, ${what}: ${found} instead of ${expected}`);
}
