/**
 * SQLite WASM over opfs-sahpool, its quickest way to keep a file; only workers have it. One message is one call: a statement, or one
 * statement with many rows of values in a transaction.
 */
import initSqlite from '@sqlite.org/sqlite-wasm';
import wasm from '@sqlite.org/sqlite-wasm/sqlite3.wasm';

type Values = readonly unknown[];
export interface SqliteRequest {
  readonly id: number;
  readonly database: string;
  readonly call: 'open' | 'exec' | 'all' | 'many' | 'close' | 'remove';
  readonly source?: string;
  readonly values?: Values | readonly Values[];
}
export interface SqliteAnswer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

// The VFSs that need helpers of their own are left out: those would be files beside this one.
Object.assign(globalThis, {
  sqlite3ApiConfig: { disable: { vfs: { opfs: true, 'opfs-wl': true, 'opfs-vfs': true } } },
});

async function start() {
  const sqlite = await initSqlite({ locateFile: () => wasm });
  return sqlite.installOpfsSAHPoolVfs({ initialCapacity: 12 });
}

const pool = start();
type Db = InstanceType<Awaited<typeof pool>['OpfsSAHPoolDb']>;
type Statement = ReturnType<Db['prepare']>;
interface Opened {
  readonly db: Db;
  readonly statements: Map<string, Statement>;
}
const opened = new Map<string, Opened>();

function statement({ db, statements }: Opened, source: string): Statement {
  const known = statements.get(source) ?? db.prepare(source);
  statements.set(source, known);
  return known;
}

function bound(prepared: Statement, values: Values): Statement {
  return values.length === 0 ? prepared : prepared.bind(values);
}

function rows(prepared: Statement, values: Values): object[] {
  const found: object[] = [];
  try {
    bound(prepared, values);
    while (prepared.step()) found.push(prepared.get({}));
    return found;
  } finally {
    prepared.reset();
  }
}

function close(database: string): void {
  const { db, statements } = opened.get(database)!;
  for (const prepared of statements.values()) prepared.finalize();
  db.close();
  opened.delete(database);
}

const calls: Record<SqliteRequest['call'], (request: SqliteRequest) => unknown> = {
  open: async ({ database }) => {
    const { OpfsSAHPoolDb } = await pool;
    const db = new OpfsSAHPoolDb(`/${database}`);
    // A lock held for good lets it do without shared memory, which this VFS has not, so that WAL works.
    for (const pragma of ['locking_mode = EXCLUSIVE', 'journal_mode = WAL', 'synchronous = NORMAL'])
      db.exec(`PRAGMA ${pragma}`);
    opened.set(database, { db, statements: new Map() });
  },
  exec: ({ database, source }) => void opened.get(database)!.db.exec(source!),
  all: ({ database, source, values = [] }) =>
    rows(statement(opened.get(database)!, source!), values as Values),
  many: ({ database, source, values = [] }) => {
    const at = opened.get(database)!;
    const prepared = statement(at, source!);
    at.db.transaction(() => {
      for (const each of values as readonly Values[]) bound(prepared, each).stepReset();
    });
  },
  close: ({ database }) => close(database),
  remove: async ({ database }) => {
    close(database);
    (await pool).unlink(`/${database}`);
  },
};

addEventListener('message', async ({ data }: MessageEvent<SqliteRequest>) => {
  const answer = await Promise.resolve()
    .then(() => calls[data.call](data))
    .then(
      (value): SqliteAnswer => ({ id: data.id, value }),
      (error): SqliteAnswer => ({ id: data.id, error: String(error) }),
    );
  postMessage(answer);
});
