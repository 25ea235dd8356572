/** better-sqlite3 as a contender: WAL, one table of JSON texts by id, prepared statements, transactions for bulk. */
import Database from 'better-sqlite3';
import type { PerfDoc } from '../docs';
import type { Contender } from '../document-cases';

export function sqlite(
  synchronous: 'NORMAL' | 'FULL',
  pathOf: (name: string) => string,
  remove: (path: string) => void,
): Contender {
  return {
    name: `better-sqlite3 WAL ${synchronous}`,
    open: async (name) => {
      const path = `${pathOf(name)}.sqlite`;
      const db = new Database(path);
      db.pragma('journal_mode = WAL');
      db.pragma(`synchronous = ${synchronous}`);
      db.exec('CREATE TABLE IF NOT EXISTS docs (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID');
      const put = db.prepare('INSERT OR REPLACE INTO docs VALUES (?, ?)');
      const get = db.prepare('SELECT body FROM docs WHERE id = ?').pluck();
      const all = db.prepare('SELECT body FROM docs ORDER BY id').pluck();
      const ids = db.prepare('SELECT id FROM docs ORDER BY id').pluck();
      const range = db.prepare('SELECT body FROM docs WHERE id >= ? ORDER BY id LIMIT ?').pluck();
      const count = db.prepare('SELECT count(*) FROM docs').pluck();
      const putAll = db.transaction((docs: readonly PerfDoc[]) => {
        for (const doc of docs) put.run(doc._id, JSON.stringify(doc));
      });
      const parse = (bodies: unknown[]): PerfDoc[] =>
        bodies.map((body) => JSON.parse(body as string) as PerfDoc);
      return {
        bulk: async (docs) => putAll(docs),
        put: async (doc) => void put.run(doc._id, JSON.stringify(doc)),
        get: async (id) => JSON.parse(get.get(id) as string) as PerfDoc,
        allDocs: async (bodies) => (bodies ? parse(all.all()) : ids.all()).length,
        updateAll: async () => putAll(parse(all.all()).map((doc) => ({ ...doc, changed: true }))),
        range: async (from, limit) => parse(range.all(from, limit)).length,
        count: async () => count.get() as number,
        close: async () => void db.close(),
        destroy: async () => {
          db.close();
          remove(path);
        },
      };
    },
  };
}
