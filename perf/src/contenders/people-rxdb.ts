/** RxDB over one of its storages. Its indexes are part of the schema, so that nothing is scanned. */
import { createRxDatabase } from 'rxdb/plugins/core';
import type { PeopleContender, Person } from '../operation-cases';

const text = { type: 'string', maxLength: 100 };

export const peopleRxdbOver = (name: string, storage: () => unknown): PeopleContender => ({
  name,
  open: async (database) => {
    const db = await createRxDatabase({ name: database, storage: storage(), multiInstance: false });
    const { docs } = await db.addCollections({
      docs: {
        schema: {
          version: 0,
          primaryKey: 'id',
          type: 'object',
          properties: {
            id: text,
            name: text,
            role: text,
            score: { type: 'number', minimum: 0, maximum: 100_000, multipleOf: 1 },
          },
          additionalProperties: true,
          required: ['id', 'name', 'role', 'score'],
          indexes: ['name', 'role', 'score'],
        },
      },
    });
    const content = ({ _id: id, ...person }: Person): object => ({ id, ...person });
    const find = async (selector: object): Promise<number> => (await docs.find({ selector }).exec()).length;
    const one = async (id: string) => (await docs.findOne(id).exec())!;
    return {
      insertOne: (person) => docs.insert(content(person)),
      insertMany: (people) => docs.bulkInsert(people.map(content)),
      findById: one,
      findAll: () => find({}),
      index: async () => {},
      findByName: (given) => find({ name: given }),
      findByRole: (role) => find({ role }),
      updateOne: async (id, change) => (await one(id)).patch(change),
      deleteOne: async (id) => (await one(id)).remove(),
      count: () => docs.count().exec(),
      sorted: async () => {
        const people = await docs.find({ sort: [{ score: 'desc' }] }).exec();
        return [people[0]!.score, people.at(-1)!.score];
      },
      destroy: () => db.remove(),
    };
  },
});
