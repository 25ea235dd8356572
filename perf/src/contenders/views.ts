/** settledb and PouchDB as contenders of the view cases: their calls are the same. */
import type { ViewContender } from '../view-cases';

// biome-ignore lint/suspicious/noExplicitAny: PouchDB ships no types, and settledb answers to the same calls
type Queried = any;

const DDOC = {
  _id: '_design/by',
  views: {
    score: { map: 'function (doc) { emit(doc.score, doc.title); }' },
  },
};
/** In a document of its own, so that it is not built with the first. */
const TYPES = {
  _id: '_design/types',
  views: { types: { map: 'function (doc) { emit(doc.type, null); }', reduce: '_count' } },
};
type Emit = (key: unknown, value: unknown) => void;

export function viewsOf(name: string, open: (database: string) => Queried): ViewContender {
  return {
    name,
    open: async (database) => {
      const db = open(database);
      await db.info();
      const rows = async (options: object): Promise<number> =>
        (await db.query('by/score', options)).rows.length;
      let hasTypes = false;
      return {
        bulk: (docs) => db.bulkDocs(docs),
        temporary: async (startkey, limit) => {
          const map = (doc: { score: number; title: string }, emit: Emit): void => emit(doc.score, doc.title);
          return (await db.query(map, { startkey, limit })).rows.length;
        },
        build: async (startkey, limit) => {
          await db.put(DDOC);
          return rows({ startkey, limit });
        },
        range: (startkey, limit) => rows({ startkey, limit }),
        stale: (startkey, limit) => rows({ startkey, limit, stale: 'ok' }),
        rangeWithDocs: (startkey, limit) => rows({ startkey, limit, include_docs: true }),
        all: () => rows({}),
        edit: async ({ _id }) => {
          const doc = await db.get(_id);
          await db.put({ ...doc, score: doc.score + 1 });
        },
        groups: async () => {
          if (!hasTypes) await db.put(TYPES);
          hasTypes = true;
          return (await db.query('types', { group: true })).rows.length;
        },
        destroy: () => db.destroy(),
      };
    },
  };
}
