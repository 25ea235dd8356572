/** Who keeps rows of his own is told which of them changed, whoever changed them, before he can read that they did. */
import { memory } from '@settledb/adapter-memory';
import type { Schema, Store } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import fc from 'fast-check';
import { expect, it } from 'vitest';

type Rows = { rows: { id: string; n: number }; others: { id: string } };
const schema = {
  rows: { key: 'id', fields: ['id', 'n'] },
  others: { key: 'id', fields: ['id'] },
} satisfies Schema;

const IDS = ['a', 'b', 'c', 'd', 'e'];
const ids = fc.uniqueArray(fc.constantFrom(...IDS), { minLength: 1 });
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ who: fc.nat(1), put: ids, gone: ids, other: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ who: fc.nat(1), read: ids }) },
  { weight: 1, arbitrary: fc.record({ who: fc.nat(1), compact: fc.constant(true) }) },
);

/** What one context read, as long as he is not told that it changed. */
class Keeper {
  readonly known = new Map<string, number | undefined>();
  told = 0;
  readonly #store: Store<Rows>;

  constructor(store: Store<Rows>) {
    this.#store = store;
    store.watchRows('rows', (keys) => {
      this.told++;
      for (const key of keys ?? IDS) this.known.delete(key as string);
    });
  }

  async read(keys: readonly string[]): Promise<void> {
    const [found] = await this.#store.read([{ from: 'rows', keys }]);
    for (const [i, key] of keys.entries()) {
      if (this.known.has(key)) expect(this.known.get(key)).toBe(found[i]?.n);
      this.known.set(key, found[i]?.n);
    }
  }
}

it('tells of rows that a commit wrote or removed, and of nothing else', () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const storage = memory();
      const open = async () =>
        openLogStore<Rows>(await storage.open('watched'), schema, { checkpoint: false });
      const stores = [await open(), await open()];
      const keepers = stores.map((store) => new Keeper(store));
      let n = 0;
      for (const each of steps) {
        const store = stores[each.who]!;
        const keeper = keepers[each.who]!;
        if ('compact' in each) await store.compact();
        else if ('read' in each) await keeper.read(each.read);
        else {
          await keeper.read([]); // what the other one did
          const { told } = keeper;
          const put = each.put.map((id) => ({ id, n: ++n }));
          const write = each.other
            ? ({ into: 'others', put: [{ id: 'x' }] } as const)
            : ({ into: 'rows', put, delete: each.gone.filter((id) => !each.put.includes(id)) } as const);
          await store.write([], () => ({ writes: [write], value: undefined }));
          expect(keeper.told > told).toBe(!each.other);
          if (!each.other) for (const { id } of put) expect(keeper.known.has(id)).toBe(false);
        }
      }
      for (const keeper of keepers) await keeper.read(IDS);
      for (const store of stores) await store.close();
    }),
    { numRuns: 200 },
  ));
