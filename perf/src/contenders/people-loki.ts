/** LokiJS, in Node and in pages alike. */
import Loki from 'lokijs';
import type { PeopleContender, Person } from '../operation-cases';

/** Nothing is written until somebody saves: a crash loses what came since. */
export const peopleLoki: PeopleContender = {
  name: 'LokiJS (memory only)',
  open: async (name) => {
    const db = new Loki(name);
    const people = db.addCollection<Person>('people', { unique: ['_id'] });
    return {
      insertOne: async (person) => people.insert({ ...person }),
      insertMany: async (many) => people.insert(many.map((person) => ({ ...person }))),
      findById: async (id) => people.by('_id', id),
      findAll: async () => people.find().length,
      scanByName: async (given) => people.find({ name: given }).length,
      index: async () => {
        for (const field of ['name', 'role', 'score'] as const) people.ensureIndex(field);
      },
      findByName: async (given) => people.find({ name: given }).length,
      findByRole: async (role) => people.find({ role }).length,
      updateOne: async (id, change) => people.update({ ...people.by('_id', id)!, ...change }),
      deleteOne: async (id) => people.remove(people.by('_id', id)!),
      count: async () => people.count(),
      sorted: async () => {
        const found = people.chain().simplesort('score', { desc: true }).data();
        return [found[0]!.score, found.at(-1)!.score];
      },
      destroy: async () => db.close(),
    };
  },
};
