/** The cases of storage.md's target table: one round is all cases of one contender on a database of its own. */
import * as marky from 'marky';
import type { Contender, Handle, PerfDoc } from './contender';

/** Operations per timing, so that a timing is well above the clock's resolution. */
const SINGLE = 200;
const CONCURRENT = 1000;
const GETS = 1000;
const COLD_GETS = 100;
const RANGES = 100;
const INFOS = 100;
/** settledb checkpoints 100 ms after a burst, in 10 to 100 ms for 10,000 documents. */
const PAUSE_MS = 400;

/** Case → milliseconds for the whole case. */
export type Round = Record<string, number>;

export const unitsOf: Record<string, string> = {
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

export async function runRound(contender: Contender, docs: readonly PerfDoc[], name: string): Promise<Round> {
  const round: Round = {};
  const time = async (label: string, work: () => Promise<unknown>): Promise<void> => {
    await pause();
    const mark = `${contender.name}: ${label}`;
    marky.mark(mark);
    await work();
    round[label] = marky.stop(mark).duration;
  };
  const ids = docs.map((doc) => doc._id);
  const pick = (i: number): string => ids[(i * 7919) % ids.length] as string;
  const extra = (prefix: string, count: number): PerfDoc[] =>
    docs.slice(0, count).map((doc, i) => ({ ...doc, _id: `${prefix}-${i}-${doc._id}` }));

  let db = await contender.open(name);
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
    db = await contender.open(name);
    await db.get(pick(5));
  });
  await time('get, uncached', () => times(COLD_GETS, (i) => db.get(pick(i * 31 + 7))));
  await db.destroy();
  return round;
}

async function times(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < count; i++) await work(i);
}

/** A contender that does less work than the others is no contender. */
function check(found: number, expected: number, contender: Contender, what: string): void {
  if (found !== expected) throw new Error(`${contender.name}, ${what}: ${found} instead of ${expected}`);
}

/**
 * Lets work that the last case left behind (checkpoints, compaction of a database's own, collection) end, so that it is not
 * charged to the next case. All contenders get the same; what such work costs while one writes on is not measured here.
 */
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
