/** Peers that keep every document in memory and write a file beside it, or none. */
import Nedb from '@seald-io/nedb';
import { JSONFilePreset } from 'lowdb/node';
import type { PeopleContender, Person } from '../operation-cases';

/** Appends each change to a file, and rewrites it now and then. */
export const peopleNedb = (
  pathOf: (name: string) => string,
  remove: (path: string) => void,
): PeopleContender => ({
  name: 'NeDB (memory, log)',
  open: async (name) => {
    const filename = `${pathOf(name)}.nedb`;
    const db = new Nedb<Person>({ filename });
    await db.loadDatabaseAsync();
    const find = async (query: object): Promise<number> => (await db.findAsync(query)).length;
    return {
      insertOne: (person) => db.insertAsync(person),
      insertMany: (people) => db.insertAsync([...people]),
      findById: (id) => db.findOneAsync({ _id: id }),
      findAll: () => find({}),
      scanByName: (given) => find({ name: given }),
      index: async () => {
        for (const fieldName of ['name', 'role']) await db.ensureIndexAsync({ fieldName });
      },
      findByName: (given) => find({ name: given }),
      findByRole: (role) => find({ role }),
      updateOne: (id, change) => db.updateAsync({ _id: id }, { $set: change }),
      deleteOne: (id) => db.removeAsync({ _id: id }, {}),
      count: () => db.countAsync({}),
      sorted: async () => {
        const people = await db.findAsync({}).sort({ score: -1 });
        return [people[0]!.score, people.at(-1)!.score];
      },
      destroy: async () => remove(filename),
    };
  },
});

/** A JSON file: every write is the whole file. Indexes there are none but a map by id. */
export const peopleLowdb = (
  pathOf: (name: string) => string,
  remove: (path: string) => void,
): PeopleContender => ({
  name: 'lowdb (JSON file)',
  open: async (name) => {
    const path = `${pathOf(name)}.json`;
    const db = await JSONFilePreset<{ people: Record<string, Person> }>(path, { people: {} });
    const all = (): Person[] => Object.values(db.data.people);
    const put = (person: Person): void => {
      db.data.people[person._id] = person;
    };
    return {
      insertOne: async (person) => {
        put(person);
        await db.write();
      },
      insertMany: async (people) => {
        people.forEach(put);
        await db.write();
      },
      findById: async (id) => db.data.people[id],
      findAll: async () => all().length,
      scanByName: async (given) => all().filter((person) => person.name === given).length,
      index: async () => {},
      findByName: async (given) => all().filter((person) => person.name === given).length,
      findByRole: async (role) => all().filter((person) => person.role === role).length,
      updateOne: async (id, change) => {
        put({ ...db.data.people[id]!, ...change });
        await db.write();
      },
      deleteOne: async (id) => {
        delete db.data.people[id];
        await db.write();
      },
      count: async () => all().length,
      sorted: async () => {
        const people = all().sort((a, b) => b.score - a.score);
        return [people[0]!.score, people.at(-1)!.score];
      },
      destroy: async () => remove(path),
    };
  },
});
