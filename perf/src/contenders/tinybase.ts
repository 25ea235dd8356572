/** TinyBase as a contender: all documents in memory, and all of them written whenever something is saved. */
import { createIndexes, createStore, type Store } from 'tinybase';
import type { PerfDoc } from '../docs';
import type { Contender } from '../document-cases';
import type { PeopleContender, Person } from '../operation-cases';
import type { ViewContender } from '../view-cases';

/** What keeps a store, if something does. `failed` hears of what it would otherwise ignore. */
export interface Keeper {
  load(): Promise<unknown>;
  save(): Promise<unknown>;
  destroy(): Promise<unknown>;
}
export type Keep = (store: Store, database: string, failed: (error: unknown) => void) => Keeper;
export type Remove = (database: string) => unknown;

const TABLE = 'docs';

class Kept {
  readonly store = createStore();
  readonly #keeper: Keeper | undefined;
  readonly #remove: () => unknown;
  #failure: unknown;
  #running: Promise<unknown> = Promise.resolve();
  #next: Promise<void> | undefined;

  /** @param remove what is left of it once it is closed */
  constructor(keep: Keep | undefined, database: string, remove: Remove) {
    this.#remove = () => remove(database);
    this.#keeper = keep?.(this.store, database, (error) => {
      this.#failure = error;
    });
  }

  /** Empty where nothing was kept yet, of which a file complains. */
  async load(): Promise<void> {
    await this.#keeper?.load();
    this.#failure = undefined;
  }

  /** One save serves all that was changed before it began. */
  save(): Promise<void> {
    this.#next ??= this.#running.then(async () => {
      this.#next = undefined;
      this.#running = Promise.resolve(this.#keeper?.save());
      await this.#running;
      if (this.#failure !== undefined) throw this.#failure;
    });
    return this.#next;
  }

  put(docs: readonly PerfDoc[]): Promise<void> {
    this.store.transaction(() => {
      for (const { _id, ...doc } of docs) this.store.setRow(TABLE, _id, doc);
    });
    return this.save();
  }

  docs(): PerfDoc[] {
    return Object.entries(this.store.getTable(TABLE)).map(([_id, row]) => ({ _id, ...row }));
  }

  get(id: string): PerfDoc {
    return { _id: id, ...this.store.getRow(TABLE, id) };
  }

  async close(): Promise<void> {
    await this.#keeper?.destroy();
  }

  async destroy(): Promise<void> {
    await this.close();
    await this.#remove();
  }
}

async function opened(keep: Keep | undefined, database: string, remove: Remove): Promise<Kept> {
  const kept = new Kept(keep, database, remove);
  await kept.load();
  return kept;
}

export const tinybase = (name: string, keep: Keep | undefined, remove: Remove): Contender => ({
  name,
  open: async (database) => {
    const kept = await opened(keep, database, remove);
    const { store } = kept;
    return {
      bulk: (docs) => kept.put(docs),
      put: (doc) => kept.put([doc]),
      get: async (id) => kept.get(id),
      allDocs: async (bodies) => (bodies ? kept.docs() : store.getRowIds(TABLE)).length,
      updateAll: () => kept.put(kept.docs().map((doc) => ({ ...doc, changed: true }))),
      range: async (from, limit) => {
        const ids = store.getRowIds(TABLE).sort();
        const at = firstFrom(ids.length, (i) => ids[i]! >= from);
        return ids.slice(at, at + limit).map((id) => kept.get(id)).length;
      },
      count: async () => store.getRowCount(TABLE),
      close: () => kept.close(),
      destroy: () => kept.destroy(),
    };
  },
});

/** An index of one slice, sorted by score; the place in it by bisection. */
export const viewsTinybase = (name: string, keep: Keep | undefined, remove: Remove): ViewContender => ({
  name,
  open: async (database) => {
    const kept = await opened(keep, database, remove);
    const { store } = kept;
    const indexes = createIndexes(store);
    const scoreOf = (id: string): number => store.getCell(TABLE, id, 'score') as number;
    const row = (id: string) => [scoreOf(id), id, store.getCell(TABLE, id, 'title')];
    const ids = (from: number, limit: number): string[] => {
      const all = indexes.getSliceRowIds('score', '');
      const at = firstFrom(all.length, (i) => scoreOf(all[i]!) >= from);
      return all.slice(at, at + limit);
    };
    const range = async (from: number, limit: number): Promise<number> => ids(from, limit).map(row).length;
    return {
      bulk: (docs) => kept.put(docs),
      build: async (from, limit) => {
        indexes.setIndexDefinition(
          'score',
          TABLE,
          () => '',
          'score',
          undefined,
          (a, b) => (a as number) - (b as number),
        );
        return range(from, limit);
      },
      range,
      rangeWithDocs: async (from, limit) => ids(from, limit).map((id) => kept.get(id)).length,
      all: async () => indexes.getSliceRowIds('score', '').map(row).length,
      edit: async ({ _id }) => {
        store.setCell(TABLE, _id, 'score', scoreOf(_id) + 1);
        await kept.save();
      },
      destroy: () => kept.destroy(),
    };
  },
});

export const peopleTinybase = (name: string, keep: Keep | undefined, remove: Remove): PeopleContender => ({
  name,
  slow: keep !== undefined,
  open: async (database) => {
    const kept = await opened(keep, database, remove);
    const { store } = kept;
    const indexes = createIndexes(store);
    const by = async (field: string, value: string): Promise<number> =>
      indexes.getSliceRowIds(field, value).map((id) => kept.get(id)).length;
    return {
      insertOne: (person) => kept.put([person]),
      insertMany: (people) => kept.put(people),
      findById: async (id) => kept.get(id),
      findAll: async () => kept.docs().length,
      scanByName: async (given) => {
        const found: PerfDoc[] = [];
        store.forEachRow(TABLE, (id) => {
          if (store.getCell(TABLE, id, 'name') === given) found.push(kept.get(id));
        });
        return found.length;
      },
      index: async () => {
        for (const field of ['name', 'role']) indexes.setIndexDefinition(field, TABLE, field);
      },
      findByName: (given) => by('name', given),
      findByRole: (role) => by('role', role),
      updateOne: (id, change) => {
        store.setPartialRow(TABLE, id, change);
        return kept.save();
      },
      deleteOne: (id) => {
        store.delRow(TABLE, id);
        return kept.save();
      },
      count: async () => store.getRowCount(TABLE),
      sorted: async () => {
        const people = store.getSortedRowIds(TABLE, 'score', true).map((id) => kept.get(id) as Person);
        return [people[0]!.score, people.at(-1)!.score];
      },
      destroy: () => kept.destroy(),
    };
  },
});

/** The first place from which on a statement is true. */
function firstFrom(length: number, isTrue: (at: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
