/** Indexes and queries: PouchDB's own performance cases, and an edit between. */
import type { PerfDoc } from './docs';
import { withOneOpen } from './stays';
import type { RoundSetting, SuiteContender, Time } from './suite';

/** What a contender can do with an index over `score`; values are titles. One that cannot do a thing leaves it out. */
export interface ViewHandle {
  bulk(docs: readonly PerfDoc[]): Promise<void>;
  /** Rows from `score` on, of a view that is not there before or after. */
  temporary?(score: number, limit: number): Promise<number>;
  /** Makes the index, and answers from it for the first time. */
  build(score: number, limit: number): Promise<number>;
  /** Rows: key, id and value. */
  range(score: number, limit: number): Promise<number>;
  /** The same as they are indexed, without looking for changes. */
  stale?(score: number, limit: number): Promise<number>;
  rangeWithDocs(score: number, limit: number): Promise<number>;
  all(): Promise<number>;
  edit(doc: PerfDoc): Promise<void>;
  /** Documents by `type`. @returns groups */
  groups?(): Promise<number>;
  destroy(): Promise<void>;
}

export interface ViewContender {
  readonly name: string;
  open(name: string): Promise<ViewHandle>;
}

const RANGES = 100;
const EDITS = 20;
const LIMIT = 20;
/** Below which all but a few scores lie. */
const SCORES = 90_000;

export const viewUnits: Record<string, string> = {
  'temporary view': `all documents mapped, ${LIMIT} rows answered`,
  'first build': `all documents mapped and stored, ${LIMIT} rows answered`,
  'range of 20': `${RANGES} × ${LIMIT} rows`,
  'range of 20, stale': `the same without looking for changes`,
  'range of 20, documents': `${RANGES} × ${LIMIT} rows with their documents`,
  'all rows': 'every row of the view',
  'edit and query': `${EDITS} × one document changed, ${LIMIT} rows answered`,
  'groups, first': 'a second view: mapped, and counted by group',
  groups: 'counted by group again',
};

export const viewContender = (contender: ViewContender): SuiteContender =>
  withOneOpen(
    { name: contender.name, round: (time, setting) => runRound(contender, time, setting) },
    contender.open,
  );

async function runRound(
  contender: ViewContender,
  time: Time,
  { docs, database }: RoundSetting,
): Promise<void> {
  const score = (i: number): number => (i * 7919) % SCORES;
  const expect = async (rows: Promise<number>, count = LIMIT): Promise<void> => {
    const found = await rows;
    if (found !== count) throw new Error(`${contender.name}: ${found} rows instead of ${count}`);
  };
  const ranges = async (ask: (from: number) => Promise<number>): Promise<void> => {
    for (let i = 0; i < RANGES; i++) await expect(ask(score(i)));
  };
  const db = await contender.open(database);
  await db.bulk(docs);
  if (db.temporary) await time('temporary view', () => expect(db.temporary!(score(3), LIMIT)));
  await time('first build', () => expect(db.build(score(3), LIMIT)));
  await time('range of 20', () => ranges((from) => db.range(from, LIMIT)));
  if (db.stale) await time('range of 20, stale', () => ranges((from) => db.stale!(from, LIMIT)));
  await time('range of 20, documents', () => ranges((from) => db.rangeWithDocs(from, LIMIT)));
  await time('all rows', () => expect(db.all(), docs.length));
  await time('edit and query', async () => {
    for (let i = 0; i < EDITS; i++) {
      await db.edit(docs[(i * 131) % docs.length] as PerfDoc);
      await expect(db.range(score(i), LIMIT));
    }
  });
  if (db.groups) {
    const types = new Set(docs.map((doc) => doc.type)).size;
    await time('groups, first', () => expect(db.groups!(), types));
    await time('groups', () => expect(db.groups!(), types));
  }
  await db.destroy();
}
