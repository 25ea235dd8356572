/** Dexie as a contender: the index is IndexedDB's own, made by an upgrade of the schema. */
import { Dexie } from 'dexie';
import type { PerfDoc } from '../docs';
import type { ViewContender } from '../view-cases';

export const dexie: ViewContender = {
  name: 'Dexie',
  open: async (database) => {
    const opened = (version: number): Dexie => {
      const db = new Dexie(database);
      db.version(1).stores({ docs: '_id' });
      if (version > 1) db.version(2).stores({ docs: '_id, score' });
      return db;
    };
    let db = opened(1);
    const docs = () => db.table<PerfDoc>('docs');
    const from = (score: number, limit: number) => docs().where('score').aboveOrEqual(score).limit(limit);
    return {
      bulk: async (list) => void (await docs().bulkAdd([...list])),
      build: async (score, limit) => {
        db.close();
        db = opened(2);
        return (await from(score, limit).primaryKeys()).length;
      },
      range: async (score, limit) => (await from(score, limit).primaryKeys()).length,
      rangeWithDocs: async (score, limit) => (await from(score, limit).toArray()).length,
      all: async () => (await docs().orderBy('score').primaryKeys()).length,
      edit: async ({ _id }) => {
        const doc = await docs().get(_id);
        await docs().put({ ...(doc as PerfDoc), score: (doc?.score as number) + 1 });
      },
      destroy: () => db.delete(),
    };
  },
};
