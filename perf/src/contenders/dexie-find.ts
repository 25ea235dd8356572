/** Dexie's own indexes. They are part of the schema: another one is another version of the database. */
import { Dexie } from 'dexie';
import type { PerfDoc } from '../docs';
import type { FindContender } from '../find-cases';

// biome-ignore lint/suspicious/noExplicitAny: the peers' types are not needed here
type Loose = any;

const HIGHEST = Number.MAX_SAFE_INTEGER;

export const dexieFind: FindContender = {
  name: 'Dexie',
  scans: true,
  open: async (name) => {
    let indexes = '_id';
    let version = 1;
    const open = async (): Promise<Loose> => {
      const db: Loose = new Dexie(name);
      db.version(version).stores({ docs: indexes });
      await db.open();
      return db;
    };
    let db = await open();
    return {
      bulk: async (docs: readonly PerfDoc[]) => void (await db.docs.bulkPut(docs)),
      createIndex: async (fields) => {
        db.close();
        indexes += `, ${fields.length === 1 ? fields[0] : `[${fields.join('+')}]`}`;
        version += 1;
        db = await open();
      },
      find: async ({ type, author, score, limit }) => {
        const { docs } = db;
        if (!indexes.includes(', type')) {
          const matches = (doc: Loose): boolean =>
            doc.type === type &&
            (author === undefined || doc.author_name === author) &&
            (score === undefined || doc.score >= score);
          return (await docs.filter(matches).limit(limit).toArray()).length;
        }
        const found =
          author === undefined
            ? docs.where('type').equals(type)
            : docs
                .where('[type+author_name+score]')
                .between([type, author, score], [type, author, HIGHEST], true, true);
        return (await found.limit(limit).toArray()).length;
      },
      destroy: async () => {
        db.close();
        await db.delete();
      },
    };
  },
};
