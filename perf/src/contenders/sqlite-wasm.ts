/** SQLite WASM as a contender of every suite in a page: its file is in the origin's private file system, it itself in a worker. */
import type { PerfDoc } from '../docs';
import type { Contender } from '../document-cases';
import type { FindContender, Question } from '../find-cases';
import { whereItRuns } from '../suite';
import type { ViewContender } from '../view-cases';
import type { SqliteAnswer, SqliteRequest } from '../workers/sqlite-wasm';
import { peopleSqlite, type Sqlite } from './people-sqlite';

const NAME = 'SQLite WASM (worker)';
type Waiting = { resolve(value: unknown): void; reject(error: Error): void };
type Call = Omit<SqliteRequest, 'id' | 'database'>;
type Row = Record<string, unknown>;

const waiting = new Map<number, Waiting>();
let worker: Worker | undefined;
let last = 0;

function ask(database: string, call: Call): Promise<unknown> {
  worker ??= start();
  const id = ++last;
  worker.postMessage({ ...call, id, database });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

function start(): Worker {
  const started = new Worker('/sqlite-wasm.js', { type: 'module' });
  started.onmessage = ({ data: { id, value, error } }: MessageEvent<SqliteAnswer>) => {
    const { resolve, reject } = waiting.get(id)!;
    waiting.delete(id);
    if (error === undefined) resolve(value);
    else reject(new Error(error));
  };
  started.onerror = ({ message }) => {
    for (const { reject } of waiting.values()) reject(new Error(`the worker failed: ${message}`));
    waiting.clear();
  };
  return started;
}

class Database {
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  static async open(name: string): Promise<Database> {
    await ask(name, { call: 'open' });
    return new Database(name);
  }

  exec(source: string): Promise<unknown> {
    return ask(this.#name, { call: 'exec', source });
  }

  all(source: string, ...values: unknown[]): Promise<Row[]> {
    return ask(this.#name, { call: 'all', source, values }) as Promise<Row[]>;
  }

  async get(source: string, ...values: unknown[]): Promise<Row | undefined> {
    return (await this.all(source, ...values))[0];
  }

  /** One statement for each row of values, in one transaction and one message. */
  async many(source: string, values: readonly (readonly unknown[])[]): Promise<void> {
    await ask(this.#name, { call: 'many', source, values });
  }

  close(): Promise<unknown> {
    return ask(this.#name, { call: 'close' });
  }

  remove(): Promise<unknown> {
    return ask(this.#name, { call: 'remove' });
  }
}

export const ifThere = whereItRuns(NAME, async () => (await Database.open('probe')).remove());

const bodies = (rows: readonly Row[]): PerfDoc[] => rows.map(({ body }) => JSON.parse(body as string));
const valuesOf = (doc: PerfDoc): unknown[] => [
  doc._id,
  doc.type,
  doc.author_name ?? null,
  doc.score,
  doc.title,
  JSON.stringify(doc),
];
const PUT = 'INSERT OR REPLACE INTO docs VALUES (?, ?, ?, ?, ?, ?)';

async function openDocs(name: string): Promise<Database> {
  const db = await Database.open(name);
  await db.exec(
    'CREATE TABLE docs (id TEXT PRIMARY KEY, type TEXT, author_name TEXT, score REAL, title TEXT, body TEXT NOT NULL) WITHOUT ROWID',
  );
  return db;
}

export const sqliteWasm: Contender = {
  name: NAME,
  open: async (name) => {
    const db = await Database.open(name);
    await db.exec('CREATE TABLE IF NOT EXISTS docs (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID');
    const put = 'INSERT OR REPLACE INTO docs VALUES (?, ?)';
    const all = async (): Promise<PerfDoc[]> => bodies(await db.all('SELECT body FROM docs ORDER BY id'));
    const putAll = (docs: readonly PerfDoc[]): Promise<void> =>
      db.many(
        put,
        docs.map((doc) => [doc._id, JSON.stringify(doc)]),
      );
    return {
      bulk: putAll,
      put: async (doc) => void (await db.all(put, doc._id, JSON.stringify(doc))),
      get: async (id) => bodies(await db.all('SELECT body FROM docs WHERE id = ?', id))[0] as PerfDoc,
      allDocs: async (withBodies) =>
        (withBodies ? await all() : await db.all('SELECT id FROM docs ORDER BY id')).length,
      updateAll: async () => putAll((await all()).map((doc) => ({ ...doc, changed: true }))),
      range: async (from, limit) =>
        bodies(await db.all('SELECT body FROM docs WHERE id >= ? ORDER BY id LIMIT ?', from, limit)).length,
      count: async () => (await db.get('SELECT count(*) AS n FROM docs'))?.n as number,
      close: async () => void (await db.close()),
      destroy: async () => void (await db.remove()),
    };
  },
};

export const viewsSqliteWasm: ViewContender = {
  name: NAME,
  open: async (name) => {
    const db = await openDocs(name);
    const range = async (from: number, limit: number, fields = 'score, id, title'): Promise<Row[]> =>
      db.all(`SELECT ${fields} FROM docs WHERE score >= ? ORDER BY score LIMIT ?`, from, limit);
    const rows = async (from: number, limit: number): Promise<number> => (await range(from, limit)).length;
    return {
      bulk: (docs) => db.many(PUT, docs.map(valuesOf)),
      temporary: rows,
      build: async (from, limit) => {
        await db.exec('CREATE INDEX by_score ON docs (score, title)');
        return rows(from, limit);
      },
      range: rows,
      rangeWithDocs: async (from, limit) => bodies(await range(from, limit, 'body')).length,
      all: async () => (await db.all('SELECT score, id, title FROM docs ORDER BY score')).length,
      edit: async ({ _id }) => {
        const [doc] = bodies(await db.all('SELECT body FROM docs WHERE id = ?', _id));
        await db.all(PUT, ...valuesOf({ ...(doc as PerfDoc), score: (doc?.score as number) + 1 }));
      },
      groups: async () => (await db.all('SELECT type, count(*) AS n FROM docs GROUP BY type')).length,
      destroy: async () => void (await db.remove()),
    };
  },
};

export const findSqliteWasm: FindContender = {
  name: NAME,
  scans: true,
  open: async (name) => {
    const db = await openDocs(name);
    const find = ({ type, author, score, limit }: Question): Promise<Row[]> => {
      const bounds = [
        ['type =', type],
        ['author_name =', author],
        ['score >=', score],
      ].filter(([, value]) => value !== undefined);
      const where = bounds.map(([bound]) => `${bound} ?`).join(' AND ');
      return db.all(
        `SELECT body FROM docs WHERE ${where} LIMIT ?`,
        ...bounds.map(([, value]) => value),
        limit,
      );
    };
    return {
      bulk: (docs) => db.many(PUT, docs.map(valuesOf)),
      createIndex: async (fields) =>
        void (await db.exec(`CREATE INDEX by_${fields.join('_')} ON docs (${fields.join(', ')})`)),
      find: async (question) => bodies(await find(question)).length,
      destroy: async () => void (await db.remove()),
    };
  },
};

/** The same as any other SQLite, but for many rows, which are one message. */
export const peopleSqliteWasm = peopleSqlite(
  NAME,
  async (name): Promise<Sqlite> => {
    const db = await Database.open(name);
    return {
      exec: (source) => db.exec(source),
      many: (source, values) => db.many(source, values),
      prepare: (source) => {
        const all = (...values: unknown[]) => db.all(source, ...values);
        return { run: all, all, get: (...values) => db.get(source, ...values) };
      },
      close: () => db.remove(),
    };
  },
  () => {},
  undefined,
);
