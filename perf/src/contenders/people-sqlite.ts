/**
 * SQLite by any binding with `exec` and prepared statements: a column for each field that is asked for and the document's text,
 * WAL, prepared statements, transactions for many.
 */
import type { People, PeopleContender, Person } from '../operation-cases';

interface Statement {
  run(...values: unknown[]): unknown;
  get(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown;
}
export interface Sqlite {
  exec(source: string): unknown;
  prepare(source: string): Statement | Promise<Statement>;
  /** One statement with many rows of values, in one transaction; by a call for each where it is left out. */
  many?(source: string, values: readonly (readonly unknown[])[]): Promise<unknown>;
  close(): unknown;
}

export const peopleSqlite = (
  name: string,
  open: (database: string) => Sqlite | Promise<Sqlite>,
  remove: (database: string) => void,
  synchronous: 'NORMAL' | 'FULL' | undefined = 'NORMAL',
): PeopleContender => ({
  name,
  open: async (database) => {
    const db = await open(database);
    if (synchronous !== undefined) {
      await (await db.prepare('PRAGMA journal_mode = WAL')).get();
      await db.exec(`PRAGMA synchronous = ${synchronous}`);
    }
    await db.exec(
      'CREATE TABLE people (id TEXT PRIMARY KEY, name TEXT, role TEXT, score REAL, body TEXT NOT NULL)',
    );
    return handle(db, () => remove(database));
  },
});

async function handle(db: Sqlite, remove: () => void): Promise<People> {
  const statement = async (source: string): Promise<Statement> => db.prepare(source);
  const PUT = 'INSERT OR REPLACE INTO people VALUES (?, ?, ?, ?, ?)';
  const put = await statement(PUT);
  const get = await statement('SELECT body FROM people WHERE id = ?');
  const all = await statement('SELECT body FROM people ORDER BY id');
  const byName = await statement('SELECT body FROM people WHERE name = ?');
  const byRole = await statement('SELECT body FROM people WHERE role = ?');
  const byScore = await statement('SELECT body FROM people ORDER BY score DESC');
  const remover = await statement('DELETE FROM people WHERE id = ?');
  const count = await statement('SELECT count(*) AS n FROM people');
  const valuesOf = (person: Person): unknown[] => [
    person._id,
    person.name,
    person.role,
    person.score,
    JSON.stringify(person),
  ];
  const insert = (person: Person): unknown => put.run(...valuesOf(person));
  const parse = ({ body }: { body: string }): Person => JSON.parse(body);
  const rows = async (found: unknown): Promise<Person[]> => ((await found) as { body: string }[]).map(parse);
  const read = async (id: string): Promise<Person> => parse((await get.get(id)) as { body: string });
  return {
    insertOne: async (person) => insert(person),
    insertMany: async (people) => {
      if (db.many !== undefined) return db.many(PUT, people.map(valuesOf));
      await db.exec('BEGIN');
      for (const person of people) await insert(person);
      await db.exec('COMMIT');
    },
    findById: read,
    findAll: async () => (await rows(all.all())).length,
    scanByName: async (name) => (await rows(byName.all(name))).length,
    index: async () => {
      for (const field of ['name', 'role', 'score'])
        await db.exec(`CREATE INDEX people_${field} ON people (${field})`);
    },
    findByName: async (name) => (await rows(byName.all(name))).length,
    findByRole: async (role) => (await rows(byRole.all(role))).length,
    updateOne: async (id, change) => insert({ ...(await read(id)), ...change }),
    deleteOne: async (id) => remover.run(id),
    count: async () => ((await count.get()) as { n: number }).n,
    sorted: async () => {
      const people = await rows(byScore.all());
      return [people[0]!.score, people.at(-1)!.score];
    },
    destroy: async () => {
      await db.close();
      remove();
    },
  };
}

/** A binding whose statements lose calls that come while one is under way: they wait for each other. */
export async function oneAtATime(opening: Promise<unknown>): Promise<Sqlite> {
  const db = (await opening) as Sqlite;
  let last: Promise<unknown> = Promise.resolve();
  const after = (work: () => unknown): Promise<unknown> => {
    last = last.then(work);
    return last;
  };
  return {
    exec: (source) => after(() => db.exec(source)),
    prepare: async (source) => {
      const prepared = await db.prepare(source);
      return {
        run: (...values) => after(() => prepared.run(...values)),
        get: (...values) => after(() => prepared.get(...values)),
        all: (...values) => after(() => prepared.all(...values)),
      };
    },
    close: () => db.close(),
  };
}
