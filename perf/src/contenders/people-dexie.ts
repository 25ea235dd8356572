/** Dexie, with its indexes in the schema; another one is another version of the database. */
import { Dexie } from 'dexie';
import type { PeopleContender, Person } from '../operation-cases';

// biome-ignore lint/suspicious/noExplicitAny: the peers' types are not needed here
type Loose = any;

export const peopleDexie: PeopleContender = {
  name: 'Dexie',
  open: async (name) => {
    const opened = async (version: number, indexes: string): Promise<Loose> => {
      const db: Loose = new Dexie(`dexie-${name}`);
      db.version(version).stores({ people: indexes });
      await db.open();
      return db;
    };
    let db = await opened(1, '_id');
    const by = async (field: string, value: string): Promise<number> =>
      (await db.people.where(field).equals(value).toArray()).length;
    return {
      insertOne: (person) => db.people.add(person),
      insertMany: (people) => db.people.bulkAdd([...people]),
      findById: (id) => db.people.get(id),
      findAll: async () => (await db.people.toArray()).length,
      scanByName: async (given) =>
        (await db.people.filter((person: Person) => person.name === given).toArray()).length,
      index: async () => {
        db.close();
        db = await opened(2, '_id, name, role, score');
      },
      findByName: (given) => by('name', given),
      findByRole: (role) => by('role', role),
      updateOne: (id, change) => db.people.update(id, change),
      deleteOne: (id) => db.people.delete(id),
      count: () => db.people.count(),
      sorted: async () => {
        const people: Person[] = await db.people.orderBy('score').reverse().toArray();
        return [people[0]!.score, people.at(-1)!.score];
      },
      destroy: () => db.delete(),
    };
  },
};
