/** settledb as a contender, over any adapter. */
import type { SettleDB } from '../../../packages/settledb/src/settledb';
import type { PerfDoc } from '../docs';
import type { Contender, Handle } from '../document-cases';

type Open = (name: string) => SettleDB<Record<string, unknown>>;

export function settledb(name: string, open: Open): Contender {
  return {
    name,
    open: async (database) => {
      const db = open(database);
      await db.info();
      return handle(db);
    },
  };
}

function handle(db: SettleDB<Record<string, unknown>>): Handle {
  return {
    bulk: async (docs) => void (await db.bulkDocs(docs as PerfDoc[])),
    put: async (doc) => void (await db.put(doc)),
    get: (id) => db.get(id),
    allDocs: async (bodies) => (await db.allDocs({ include_docs: bodies })).rows.length,
    changes: async () => {
      const answer = await db.changes({ since: 0 });
      return 'results' in answer ? answer.results.length : 0;
    },
    updateAll: async () => {
      const { rows } = await db.allDocs({ include_docs: true });
      const docs = rows.map((row) => ({ ...('doc' in row ? row.doc : undefined), changed: true }));
      await db.bulkDocs(docs as PerfDoc[]);
    },
    range: async (startkey, limit) => (await db.allDocs({ startkey, limit, include_docs: true })).rows.length,
    count: async () => (await db.info()).doc_count,
    pull: async (url) => (await db.replicate.from(url)).docs_written,
    push: async (url) => (await db.replicate.to(url)).docs_written,
    load: async (url) => (await db.loadSnapshot(url)).docs_written,
    close: () => db.close(),
    destroy: async () => void (await db.destroy()),
  };
}
