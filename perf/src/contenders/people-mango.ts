/** settledb, and PouchDB with `pouchdb-find`: their calls are the same. */
import type { PeopleContender, Person } from '../operation-cases';

// biome-ignore lint/suspicious/noExplicitAny: PouchDB ships no types, and settledb answers to the same calls
type Mango = any;

const ALL = 100_000;

export const peopleMango = (name: string, open: (database: string) => Mango): PeopleContender => ({
  name,
  open: async (database) => {
    const db = open(database);
    await db.info();
    // Design documents are documents too.
    let designs = 0;
    const find = async (selector: object): Promise<number> =>
      (await db.find({ selector, limit: ALL })).docs.length;
    return {
      insertOne: (person) => db.put(person),
      insertMany: (people) => db.bulkDocs(people),
      findById: (id) => db.get(id),
      findAll: async () => (await db.allDocs({ include_docs: true })).rows.length,
      scanByName: (given) => find({ name: given }),
      index: async () => {
        for (const field of ['name', 'role', 'score']) {
          await db.createIndex({ index: { fields: [field] } });
          designs++;
        }
      },
      findByName: (given) => find({ name: given }),
      findByRole: (role) => find({ role }),
      updateOne: async (id, change) => db.put({ ...(await db.get(id)), ...change }),
      deleteOne: async (id) => db.remove(await db.get(id)),
      count: async () => (await db.info()).doc_count - designs,
      sorted: async () => {
        const request = { selector: { score: { $gte: 0 } }, sort: [{ score: 'desc' }], limit: ALL };
        const { docs } = (await db.find(request)) as { docs: Person[] };
        return [docs[0]!.score, docs.at(-1)!.score];
      },
      destroy: () => db.destroy(),
    };
  },
});
