/** RxDB over its Dexie storage, which is the free one. Its indexes are part of the schema. */
import { createRxDatabase } from 'rxdb/plugins/core';
import { getRxStorageDexie } from 'rxdb/plugins/storage-dexie';
import type { PerfDoc } from '../docs';
import { type FindContender, selectorOf } from '../find-cases';

const text = { type: 'string', maxLength: 100 };

export const rxdb: FindContender = {
  name: 'RxDB dexie',
  scans: false,
  open: async (name) => {
    const db = await createRxDatabase({ name, storage: getRxStorageDexie() });
    const { docs } = await db.addCollections({
      docs: {
        schema: {
          version: 0,
          primaryKey: 'id',
          type: 'object',
          properties: {
            id: text,
            type: text,
            score: { type: 'number', minimum: 0, maximum: 100_000, multipleOf: 1 },
            author_name: text,
          },
          additionalProperties: true,
          required: ['id', 'type', 'score', 'author_name'],
          indexes: ['type', ['type', 'author_name', 'score']],
        },
      },
    });
    const content = ({ _id: id, ...doc }: PerfDoc): object => ({ id, ...doc });
    return {
      bulk: async (given) => void (await docs.bulkInsert(given.map(content))),
      find: async (question) =>
        (await docs.find({ selector: selectorOf(question), limit: question.limit }).exec()).length,
      destroy: async () => void (await db.remove()),
    };
  },
};
