/**
 * What the topics of the suite share: errors held to their shape, databases compared before and after, revisions
 * written as they stand, feeds awaited by events, and shuffles that a seed repeats.
 */
import { expect } from 'vitest';
import type {
  TestChange,
  TestChanges,
  TestDatabase,
  TestDoc,
  TestError,
  TestFeed,
  TestOpenRev,
} from './types';

/** The error a call rejects with; it is a failure when the call resolves. */
export async function rejection(call: PromiseLike<unknown>): Promise<TestError> {
  const outcome = await Promise.resolve(call).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('value' in outcome)
    expect.fail(`should have been refused, but answered ${JSON.stringify(outcome.value)}`);
  expect(outcome.error).toBeInstanceOf(Error);
  return outcome.error as TestError;
}

export interface ExpectedError {
  readonly status: number;
  readonly name: string;
  readonly message?: string;
  readonly reason?: string;
  readonly docId?: string;
}

/** Awaits a refusal with these fields, in the shape every error has (contract §2). */
export async function refused(call: PromiseLike<unknown>, expected: ExpectedError): Promise<TestError> {
  const error = await rejection(call);
  const { status, name, message, reason, docId } = error;
  expect({ status, name, message, reason, docId }).toMatchObject(expected);
  expect(error.error).toBe(true);
  expect(typeof error.stack).toBe('string');
  const plain: unknown = JSON.parse(JSON.stringify(error));
  expect(plain).toMatchObject({ status: expected.status, name: expected.name });
  return error;
}

export const CONFLICT = { status: 409, name: 'conflict', message: 'Document update conflict' };
export const MISSING = { status: 404, name: 'not_found', message: 'missing' };
export const NOT_FOUND = { status: 404, name: 'not_found' };

/** Everything a reader of the database can see of it. */
export async function contents(db: TestDatabase): Promise<unknown> {
  const [info, all, changes] = [
    await db.info(),
    await db.allDocs({ include_docs: true, conflicts: true }),
    await changesOf(db, { style: 'all_docs' }),
  ];
  return { doc_count: info.doc_count, update_seq: info.update_seq, all, changes };
}

/** Runs `act` and asserts that the database is afterwards what it was before. */
export async function unchanged(db: TestDatabase, act: () => Promise<unknown>): Promise<void> {
  const before = await contents(db);
  await act();
  expect(await contents(db)).toEqual(before);
}

export async function getDoc(db: TestDatabase, id: string, options?: object): Promise<TestDoc> {
  return (await db.get(id, options)) as TestDoc;
}

export async function openRevs(
  db: TestDatabase,
  id: string,
  revs: 'all' | readonly string[],
  options: object = {},
): Promise<TestOpenRev[]> {
  return (await db.get(id, { open_revs: revs, ...options })) as TestOpenRev[];
}

/** The revisions of an `open_revs` answer that are there, sorted: their order is no promise. */
export function revsOf(rows: readonly TestOpenRev[]): string[] {
  return rows.flatMap(({ ok }) => (ok === undefined ? [] : [ok._rev])).sort();
}

/** The answer of a one-shot feed. */
export async function changesOf(db: TestDatabase, options: object = {}): Promise<TestChanges> {
  return (await db.changes(options)) as TestChanges;
}

export function idsOf(rows: readonly { readonly id?: string }[]): (string | undefined)[] {
  return rows.map(({ id }) => id);
}

/** A revision with its history, newest first, as replication writes it: `edit('x', '3-c 2-b 1-a')`. */
export function edit(id: string, path: string, body: object = {}): Record<string, unknown> {
  const revs = path.split(' ');
  const ids = revs.map((rev) => rev.slice(rev.indexOf('-') + 1));
  return { _id: id, _rev: revs[0], _revisions: { start: Number.parseInt(revs[0]!, 10), ids }, ...body };
}

/** Stores revisions as given; it is a failure when one is refused. */
export async function store(db: TestDatabase, ...docs: object[]): Promise<void> {
  expect(await db.bulkDocs(docs, { new_edits: false })).toEqual([]);
}

export function generation(rev: string): number {
  return Number.parseInt(rev, 10);
}

/** A live feed's changes as they come. `until` settles once a change has been told that satisfies the condition. */
export class Listening {
  readonly changes: TestChange[] = [];
  readonly feed: TestFeed;
  /** How the feed ended, by its promise. */
  readonly ended: Promise<unknown>;
  #waiting: { met: (changes: readonly TestChange[]) => boolean; resolve: () => void }[] = [];

  constructor(feed: TestFeed) {
    this.feed = feed;
    feed.on('change', (change: TestChange) => this.#heard(change));
    // The promise tells of an error as well; without a listener the event may count as unheard.
    feed.on('error', () => {});
    this.ended = Promise.resolve(feed);
    this.ended.catch(() => {});
  }

  async until(met: (changes: readonly TestChange[]) => boolean): Promise<void> {
    const wanted = new Promise<void>((resolve) => {
      if (met(this.changes)) resolve();
      else this.#waiting.push({ met, resolve });
    });
    const ended = this.ended.then((end) => {
      if (!met(this.changes)) expect.fail(`the feed ended too early: ${JSON.stringify(end)}`);
    });
    await Promise.race([wanted, ended]);
  }

  /** Until this document has been told of. */
  async heardOf(id: string): Promise<void> {
    await this.until((changes) => changes.some((change) => change.id === id));
  }

  #heard(change: TestChange): void {
    this.changes.push(change);
    this.#waiting = this.#waiting.filter(({ met, resolve }) => {
      if (!met(this.changes)) return true;
      resolve();
      return false;
    });
  }
}

/** Awaits an event, for as long as the test may take. */
export function event(feed: Pick<TestFeed, 'on'>, name: string): Promise<unknown> {
  return new Promise((resolve) => feed.on(name, ((value: unknown) => resolve(value)) as never));
}

/** Numbers in [0, 1) that a seed repeats (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const { VITE_SEED } = (import.meta as { env?: { VITE_SEED?: string } }).env ?? {};
/** Another one in each run; one more for each test of a seed, which names it in its title. */
let nextSeed = Number(VITE_SEED ?? Math.floor(Math.random() * 2 ** 31));

/**
 * So many seeds that no other test has. Some ten suites try theirs in each run, so few are enough for one (decisions/0026).
 * `VITE_SEED` in the environment is the first.
 */
export const newSeeds = (count: number): number[] => Array.from({ length: count }, () => nextSeed++);

export function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const mixed = [...items];
  for (let last = mixed.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [mixed[last], mixed[other]] = [mixed[other]!, mixed[last]!];
  }
  return mixed;
}

export function numbered(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}

/** A day of a library: its state is its own, and its JSON a text. */
export class Day {
  constructor(readonly ms: number) {}

  toJSON(): string {
    return new Date(this.ms).toISOString();
  }
}
