/** settledb and PouchDB with `pouchdb-find` as contenders: their calls are the same. */
import type { PerfDoc } from '../docs';
import { type FindContender, selectorOf } from '../find-cases';

// biome-ignore lint/suspicious/noExplicitAny: PouchDB ships no types.
type Mango = any;

export function mango(name: string, open: (database: string) => Mango): FindContender {
  return {
    name,
    scans: true,
    open: async (database) => {
      const db = open(database);
      await db.info();
      return {
        bulk: (docs: readonly PerfDoc[]) => db.bulkDocs(docs),
        createIndex: (fields) => db.createIndex({ index: { fields } }),
        find: async (question) =>
          (await db.find({ selector: selectorOf(question), limit: question.limit })).docs.length,
        destroy: () => db.destroy(),
      };
    },
  };
}
