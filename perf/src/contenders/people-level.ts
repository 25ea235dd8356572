/** classic-level, with indexes by hand: an entry of each indexed field in the batch of its document. */
import { ClassicLevel } from 'classic-level';
import type { PeopleContender, Person } from '../operation-cases';

/** After every id. */
const END = '\uffff';
const key = (field: string, value: string, id: string): string => `${field}/${value}/${id}`;

export const peopleLevel = (
  pathOf: (name: string) => string,
  remove: (path: string) => void,
): PeopleContender => ({
  name: 'classic-level',
  open: async (name) => {
    const path = `${pathOf(name)}-level`;
    const db = new ClassicLevel<string, Person>(path, { valueEncoding: 'json' });
    await db.open();
    const docs = db.sublevel<string, Person>('docs', { valueEncoding: 'json' });
    const index = db.sublevel<string, string>('index', { valueEncoding: 'utf8' });
    let indexed: readonly string[] = [];
    const entries = (type: 'put' | 'del', person: Person): object[] =>
      indexed.map((field) => ({
        type,
        sublevel: index,
        key: key(field, String(person[field]), person._id),
        value: person._id,
      }));
    const puts = (person: Person): object[] => [
      { type: 'put', sublevel: docs, key: person._id, value: person },
      ...entries('put', person),
    ];
    const by = async (field: string, value: string): Promise<number> => {
      const ids = await index.values({ gte: key(field, value, ''), lt: key(field, value, END) }).all();
      return (await docs.getMany(ids)).length;
    };
    const scan = async (name: string): Promise<number> =>
      (await docs.values().all()).filter((person) => person.name === name).length;
    return {
      insertOne: (person) => db.batch(puts(person) as never),
      insertMany: (people) => db.batch(people.flatMap(puts) as never),
      findById: (id) => docs.get(id),
      findAll: async () => (await docs.values().all()).length,
      scanByName: scan,
      index: async () => {
        indexed = ['name', 'role'];
        await db.batch((await docs.values().all()).flatMap((person) => entries('put', person)) as never);
      },
      findByName: (given) => by('name', given),
      findByRole: (role) => by('role', role),
      updateOne: async (id, change) => {
        const old = (await docs.get(id)) as Person;
        await db.batch([...entries('del', old), ...puts({ ...old, ...change })] as never);
      },
      deleteOne: async (id) => {
        const old = (await docs.get(id)) as Person;
        await db.batch([{ type: 'del', sublevel: docs, key: id }, ...entries('del', old)] as never);
      },
      count: async () => (await docs.keys().all()).length,
      sorted: async () => {
        const people = (await docs.values().all()).sort((a, b) => b.score - a.score);
        return [people[0]!.score, people.at(-1)!.score];
      },
      destroy: async () => {
        await db.close();
        remove(path);
      },
    };
  },
});
