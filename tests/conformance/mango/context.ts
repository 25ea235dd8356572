/** What the Mango suite is given: fresh databases that no other test sees, closed after the test. */
import type { Database, Queries } from '@settledb/core';

export type MangoDatabase = Pick<Database, 'put' | 'bulkDocs' | 'get' | 'allDocs' | 'changes' | 'close'> &
  Pick<Queries, 'createIndex' | 'getIndexes' | 'deleteIndex' | 'find' | 'explain'>;

export type OpenMango = (name: string) => MangoDatabase;

let count = 0;
const run = Math.random().toString(36).slice(2, 8);

export interface MangoTraits {
  /** A server: an index that was named and cannot be used is done without, as in CouchDB, and the answer says so. */
  readonly fallsBack?: boolean;
}

export class MangoContext {
  readonly #open: OpenMango;
  readonly traits: MangoTraits;
  #opened: MangoDatabase[] = [];

  constructor(open: OpenMango, traits: MangoTraits) {
    this.#open = open;
    this.traits = traits;
  }

  /** A new database with these documents. */
  async with(...docs: readonly object[]): Promise<MangoDatabase> {
    const db = this.#open(`mango-${run}-${++count}`);
    this.#opened.push(db);
    await db.bulkDocs(docs as never);
    return db;
  }

  async cleanUp(): Promise<void> {
    await Promise.all(this.#opened.splice(0).map((db) => db.close()));
  }
}

/** Documents to be found. */
export const people = [
  { _id: 'ann', age: 31, name: { first: 'Ann', last: 'Lee' }, tags: ['x', 'y'] },
  { _id: 'bob', age: 25, name: { first: 'Bob', last: 'Lee' }, tags: [] },
  { _id: 'cid', age: 31, name: { first: 'Cid', last: 'Roe' } },
  { _id: 'dan', name: { first: 'Dan', last: 'Roe' }, tags: 'x' },
  { _id: 'eve', age: null, name: { first: 'Eve', last: 'Fox' }, tags: ['y'] },
];

/** The ids of the documents found, in their order. */
export async function ids(db: MangoDatabase, selector: object, more: object = {}): Promise<string[]> {
  const { docs } = await db.find({ selector, ...more } as never);
  return docs.map((doc) => doc._id);
}
