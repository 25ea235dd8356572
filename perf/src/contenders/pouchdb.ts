/** PouchDB as a contender. Its calls are settledb's, which is the point. */
import type { PerfDoc } from '../docs';
import type { Contender } from '../document-cases';

// biome-ignore lint/suspicious/noExplicitAny: PouchDB ships no types.
type Pouch = any;

export function pouchdb(name: string, open: (database: string) => Pouch): Contender {
  return {
    name,
    open: async (database) => {
      const db = open(database);
      await db.info();
      return {
        bulk: (docs) => db.bulkDocs(docs),
        put: (doc) => db.put(doc),
        get: (id) => db.get(id),
        allDocs: async (bodies) => (await db.allDocs({ include_docs: bodies })).rows.length,
        changes: async () => (await db.changes({ since: 0 })).results.length,
        updateAll: async () => {
          const { rows } = await db.allDocs({ include_docs: true });
          await db.bulkDocs(rows.map((row: { doc: PerfDoc }) => ({ ...row.doc, changed: true })));
        },
        range: async (startkey, limit) =>
          (await db.allDocs({ startkey, limit, include_docs: true })).rows.length,
        count: async () => (await db.info()).doc_count,
        pull: async (url) => (await db.replicate.from(url)).docs_written,
        push: async (url) => (await db.replicate.to(url)).docs_written,
        close: () => db.close(),
        destroy: () => db.destroy(),
      };
    },
  };
}
