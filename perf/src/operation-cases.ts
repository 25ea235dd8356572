/**
 * The ten operations that every guide to databases begins with, on 1,000 people: each contender in its own best way. What is
 * acknowledged must be where a crash of the process leaves it; contenders that keep all in memory say so in their name.
 */
import type { PerfDoc } from './docs';
import { withOneOpen } from './stays';
import type { SuiteContender, Time } from './suite';

export interface Person {
  _id: string;
  name: string;
  email: string;
  role: string;
  score: number;
  bio: string;
  [field: string]: unknown;
}

/** Numbers are how many documents were found, read or there. */
export interface People {
  insertOne(person: Person): Promise<unknown>;
  insertMany(people: readonly Person[]): Promise<unknown>;
  findById(id: string): Promise<unknown>;
  findAll(): Promise<number>;
  /** Without an index; left out by who cannot. */
  scanByName?(name: string): Promise<number>;
  /** From here on names and roles are indexed, and the indexes are ready. */
  index(): Promise<unknown>;
  findByName(name: string): Promise<number>;
  findByRole(role: string): Promise<number>;
  updateOne(id: string, change: Partial<Person>): Promise<unknown>;
  deleteOne(id: string): Promise<unknown>;
  count(): Promise<number>;
  /** All, the highest score first. @returns the scores of the first and the last */
  sorted(): Promise<readonly [number, number]>;
  destroy(): Promise<unknown>;
}

export interface PeopleContender {
  readonly name: string;
  /** Every write is all documents: its warm-up round has a tenth of them, or it would take minutes. */
  readonly slow?: boolean;
  open(name: string): Promise<People>;
}

const MANY = 100;
const WRITERS = 10;
const SCANS = 20;
const BY_ROLE = 20;
const COUNTS = 100;
const ROLES = [
  'admin',
  'author',
  'editor',
  'guest',
  'reader',
  'reviewer',
  'translator',
  'owner',
  'support',
  'auditor',
];

export const operationUnits: Record<string, string> = {
  insertOne: 'each document, awaited one by one',
  insertMany: `as many again, ${MANY} at a time`,
  'insertOne, 10 writers': `as many again: ${WRITERS} writers at once, each awaits one after the other`,
  findById: 'each document, awaited one by one',
  findAll: 'all documents, 10 times',
  'findByName, scan': `${SCANS} names`,
  'findByName, index': 'as many names as documents, each once, awaited one by one',
  'findByRole, index': `${BY_ROLE} × a tenth of the documents`,
  updateOne: 'each document, awaited one by one',
  countAll: `${COUNTS} times`,
  'sort by score': 'all documents, the highest first, 10 times',
  deleteOne: 'each document, awaited one by one',
};

export const peopleContender = ({ name, slow = false, open }: PeopleContender): SuiteContender =>
  withOneOpen(
    {
      name,
      round: (time, setting) => {
        const few = slow && setting.warmUp;
        // As many of each role, still.
        const part = Math.ceil(setting.docs.length / 10 / ROLES.length) * ROLES.length;
        const docs = few ? setting.docs.slice(0, part) : setting.docs;
        return round(open, time, docs, setting.database);
      },
    },
    open,
  );

async function round(
  open: PeopleContender['open'],
  time: Time,
  docs: readonly PerfDoc[],
  database: string,
): Promise<void> {
  const people = docs.map((doc, i) => personOf(doc._id, i));
  const more = docs.map((doc, i) => personOf(`more-${doc._id}`, docs.length + i));
  const last = docs.map((doc, i) => personOf(`last-${doc._id}`, 2 * docs.length + i));
  const total = people.length + more.length + last.length;
  const db = await open(database);
  await time('insertOne', () => each(people, (person) => db.insertOne(person)));
  await time('insertMany', async () => {
    for (let i = 0; i < more.length; i += MANY) await db.insertMany(more.slice(i, i + MANY));
  });
  await time('insertOne, 10 writers', () => {
    const part = Math.ceil(last.length / WRITERS);
    const parts = Array.from({ length: WRITERS }, (_, i) => last.slice(i * part, (i + 1) * part));
    return Promise.all(parts.map((mine) => each(mine, (person) => db.insertOne(person))));
  });
  await time('findById', () => each(people, ({ _id }) => db.findById(_id)));
  await time('findAll', () => times(10, () => db.findAll(), total));
  if (db.scanByName !== undefined) {
    const scan = db.scanByName.bind(db);
    await time('findByName, scan', () => times(SCANS, (i) => scan(nameOf((i * 7) % total)), 1));
  }
  await db.index();
  // Of the three thousand people each third one.
  await time('findByName, index', () => times(people.length, (i) => db.findByName(nameOf(i * 3)), 1));
  await time('findByRole, index', () =>
    times(BY_ROLE, (i) => db.findByRole(roleOf(i)), total / ROLES.length),
  );
  await time('updateOne', () => each(people, ({ _id }, i) => db.updateOne(_id, { score: i })));
  await time('countAll', () => times(COUNTS, () => db.count(), total));
  await time('sort by score', async () => {
    for (let i = 0; i < 10; i++) {
      const [first, last] = await db.sorted();
      if (first < last) throw new Error('not sorted');
    }
  });
  await time('deleteOne', () => each(people, ({ _id }) => db.deleteOne(_id)));
  if ((await db.count()) !== total - people.length) throw new Error('not all were deleted');
  await db.destroy();
}

const nameOf = (i: number): string => `Person ${i}`;
const roleOf = (i: number): string => ROLES[i % ROLES.length] as string;

const personOf = (_id: string, i: number): Person => ({
  _id,
  name: nameOf(i),
  email: `person${i}@example.com`,
  role: roleOf(i),
  score: (i * 7919) % 10_007,
  bio: 'settle offline first document database browser worker tab commit segment journal replica '.repeat(2),
});

async function each<T>(list: readonly T[], work: (item: T, i: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < list.length; i++) await work(list[i] as T, i);
}

async function times(count: number, work: (i: number) => Promise<number>, expected: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const found = await work(i);
    if (found !== expected) throw new Error(`${found} found in place of ${expected}`);
  }
}
