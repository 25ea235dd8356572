/**
 * Mango: indexes by fields, and finds with one and without. Every contender answers the same selectors over the same documents, in
 * its own best way; those that cannot do without an index, or have it from the start, leave that case out.
 */
import type { PerfDoc } from './docs';
import { withOneOpen } from './stays';
import type { RoundSetting, SuiteContender, Time } from './suite';

/** What every contender can say in its own words. */
export interface Question {
  readonly type: string;
  /** Lower bound. */
  readonly score?: number;
  readonly author?: string;
  readonly limit: number;
}

export interface FindHandle {
  bulk(docs: readonly PerfDoc[]): Promise<void>;
  /** From here on these fields are indexed, and the index is ready. */
  createIndex?(fields: readonly string[]): Promise<void>;
  /** Documents of a type; of an author too; or with a score above another; the number of those found. */
  find(question: Question): Promise<number>;
  destroy(): Promise<void>;
}

export interface FindContender {
  readonly name: string;
  /** Without an index every find reads all documents. */
  readonly scans: boolean;
  open(name: string): Promise<FindHandle>;
}

const PAGES = 100;
const PAGE = 20;
const SCANS = 5;
const ALL = 100_000;

/** Every document has one of these in `type` and in `author_name`. */
const WORDS =
  'settle offline first document database browser worker tab commit segment journal replica winner'.split(
    ' ',
  );
const word = (n: number): string => WORDS[n % WORDS.length] as string;

export const findUnits: Record<string, string> = {
  'find, no index': `${SCANS} × documents of a type, all read`,
  'find of several fields, no index': `${SCANS} × type, author and a least score`,
  'create index': 'type, on all documents',
  'create index of several fields': 'type, author_name, score',
  'find one by index': `${PAGES} × the first document of a type`,
  'find a page by index': `${PAGES} × ${PAGE} documents of a type`,
  'find all of a type by index': `${SCANS} × a fourteenth of the documents`,
  'find of several fields by index': `${PAGES} × type, author and a least score`,
  'find after a write': `${PAGES} × a document written, then ${PAGE} of its type`,
};

export const findContender = (contender: FindContender): SuiteContender =>
  withOneOpen(
    { name: contender.name, round: (time, setting) => round(contender, time, setting) },
    contender.open,
  );

async function round(contender: FindContender, time: Time, { docs, database }: RoundSetting): Promise<void> {
  const db = await contender.open(database);
  // Of its own, as the index of nested fields of one of the peers finds nothing.
  const flat = docs.map((doc) => ({ ...doc, author_name: (doc.author as { name: string }).name }));
  await db.bulk(flat);
  const several = (n: number): Question => ({
    type: word(n),
    author: word(n + 5),
    score: 1_000 * (n % 50),
    limit: ALL,
  });
  if (contender.scans) {
    await time('find, no index', () => each(SCANS, db, (n) => ({ type: word(n), limit: ALL })));
    await time('find of several fields, no index', () => each(SCANS, db, several));
  }
  if (db.createIndex !== undefined) {
    const create = db.createIndex.bind(db);
    await time('create index', () => create(['type']));
    await time('find one by index', () => each(PAGES, db, (n) => ({ type: word(n), limit: 1 })));
    await time('find a page by index', () =>
      each(PAGES, db, (n) => ({ type: word(n), limit: PAGE + (n % 3) })),
    );
    await time('find all of a type by index', () =>
      each(SCANS, db, (n) => ({ type: word(n + 7), limit: ALL })),
    );
    await time('create index of several fields', () => create(['type', 'author_name', 'score']));
  }
  await time('find of several fields by index', () => each(PAGES, db, several));
  await time('find after a write', async () => {
    for (let n = 0; n < PAGES; n++) {
      await db.bulk([{ ...(flat[n] as PerfDoc), _id: `later-${n}`, type: word(n) }]);
      if ((await db.find({ type: word(n), limit: PAGE })) === 0) throw new Error('nothing found');
    }
  });
  await db.destroy();
}

/** One after the other. Each question differs from the one before, so that nobody answers from the answer. */
async function each(times: number, db: FindHandle, ask: (n: number) => Question): Promise<void> {
  let found = 0;
  for (let n = 0; n < times; n++) found += await db.find(ask(n));
  if (found === 0) throw new Error('nothing found');
}

/** As a Mango selector. */
export function selectorOf({ type, score, author }: Question): Record<string, unknown> {
  return {
    type,
    ...(author === undefined ? {} : { author_name: author }),
    ...(score === undefined ? {} : { score: { $gte: score } }),
  };
}
