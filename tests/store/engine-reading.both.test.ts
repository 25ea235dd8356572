/** Reads over pages, recent rows and tombstones at once; what a read loads; and when it may believe its memory. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, type DocRow, type Range, type Store, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Hooks, hooked } from '../support/hooked-adapter';
import { timeless } from '../support/turns';

type TestStore = Store<DatabaseTables>;

const put = (store: TestStore, rows: readonly DocRow[], gone: readonly string[] = []): Promise<number> =>
  store.write([], () => ({ writes: [{ into: 'docs', put: rows, delete: gone }], value: 0 }));

const doc = (id: string, seq: number): DocRow => ({ id, seq, rev: `${seq}-x`, body: `"${id} ${seq}"` });
const nameOf = (i: number): string => String(i).padStart(4, '0');

async function setUp(hooks: Hooks = {}) {
  const world = memory();
  const adapter = hooked(world, hooks);
  const open = async (): Promise<TestStore> =>
    openLogStore<DatabaseTables>(await adapter.open('db'), schema, { checkpoint: false });
  return { world, adapter, open, store: await open(), hooks };
}

/** Over a thousand rows in pages; some of them since changed, deleted and, at every place, added. */
async function mixture() {
  const { store, open } = await setUp();
  const model = new Map<string, DocRow>();
  let seq = 0;
  const write = async (ids: readonly number[], gone: readonly number[]): Promise<void> => {
    const rows = ids.map((i) => doc(nameOf(i), ++seq));
    for (const i of gone) model.delete(nameOf(i));
    for (const row of rows) model.set(row.id, row);
    await put(store, rows, gone.map(nameOf));
  };
  const numbers = Array.from({ length: 3000 }, (_, i) => i);
  await write(
    numbers.filter((i) => i % 2 === 0),
    [],
  );
  await store.compact();
  await write(
    numbers.filter((i) => i % 7 === 0 || (i > 900 && i < 930) || i > 2980),
    numbers.filter((i) => i % 5 === 0 && i % 7 !== 0),
  );
  // A whole page of tombstones.
  await write(
    [],
    numbers.filter((i) => i >= 1200 && i < 1900),
  );
  return { store, open, model };
}

const bound = <K extends string | number>(keys: fc.Arbitrary<K>): fc.Arbitrary<Range> =>
  fc
    .tuple(fc.constantFrom('gt', 'gte', 'none'), keys, fc.constantFrom('lt', 'lte', 'none'), keys)
    .map(([low, from, high, to]) => ({
      ...(low === 'none' ? {} : { [low]: from }),
      ...(high === 'none' ? {} : { [high]: to }),
    }));

function naive(rows: Iterable<DocRow>, by: 'id' | 'seq', range: Range, how: How): string[] {
  const within = (key: string | number): boolean =>
    (range.gt === undefined || key > range.gt) &&
    (range.gte === undefined || key >= range.gte) &&
    (range.lt === undefined || key < range.lt) &&
    (range.lte === undefined || key <= range.lte);
  const sorted = [...rows].filter((row) => within(row[by])).sort((a, b) => (a[by] < b[by] ? -1 : 1));
  if (how.reverse) sorted.reverse();
  return sorted.slice(how.skip, how.limit === undefined ? undefined : how.skip + how.limit).map(seen);
}

const seen = (row: DocRow): string => `${row.id} ${row.seq} ${String(row.body)}`;

const ALL: How = { reverse: false, skip: 0, limit: undefined };

interface How {
  readonly reverse: boolean;
  readonly skip: number;
  readonly limit: number | undefined;
}

describe('reading', () => {
  it('answers every range as sorting and filtering would, over pages, recent rows and tombstones', async () => {
    const { store, open, model } = await mixture();
    const cold = await open();
    const how = fc.record<How>({
      reverse: fc.boolean(),
      skip: fc.oneof(fc.constant(0), fc.nat(1800)),
      limit: fc.option(fc.nat(700), { nil: undefined }),
    });
    const check = async (by: 'id' | 'seq', range: Range, { limit, ...rest }: How): Promise<void> => {
      for (const each of [store, cold]) {
        const order = by === 'seq' ? { by } : {};
        const upTo = limit === undefined ? {} : { limit };
        const [rows, count] = await each.read([
          { from: 'docs', range, texts: true, ...rest, ...order, ...upTo },
          { from: 'docs', count: range, ...order },
        ]);
        expect(count).toBe(naive(model.values(), by, range, ALL).length);
        expect(rows.map(seen)).toEqual(naive(model.values(), by, range, { limit, ...rest }));
      }
    };
    const ids = fc.oneof(fc.nat(3100).map(nameOf), fc.constantFrom('', '~', '0'));
    const seqs = fc.integer({ min: -5, max: 2500 });
    await fc.assert(
      fc.asyncProperty(bound(ids), how, (range, each) => check('id', range, each)),
      { numRuns: 60 },
    );
    await fc.assert(
      fc.asyncProperty(bound(seqs), how, (range, each) => check('seq', range, each)),
      { numRuns: 60 },
    );
    // Short ones, which are read by a shorter way where a page, or what is recent, has all of it.
    const short = fc
      .tuple(fc.nat(3000), fc.nat(4), fc.constantFrom('gt', 'gte'), fc.constantFrom('lt', 'lte'))
      .map(([from, length, low, high]): Range => ({ [low]: nameOf(from), [high]: nameOf(from + length) }));
    await fc.assert(
      fc.asyncProperty(short, fc.option(fc.nat(2), { nil: undefined }), (range, limit) =>
        check('id', range, { ...ALL, limit }),
      ),
      { numRuns: 300 },
    );
  });

  it('answers all keys under a beginning, and no others', async () => {
    const { store, open } = await setUp();
    const ids = ['', '\0', '\0\0', 'a', 'a\0', 'a\0\x01', 'a\x01', 'aa', 'b', '3', 'é', '\u{1f600}'];
    const rowsOf = (revs: readonly string[]) =>
      ids.flatMap((id) => revs.map((rev) => ({ id, rev, body: `"${id} ${rev}"` })));
    const writes = (revs: readonly string[]) => [{ into: 'bodies' as const, put: rowsOf(revs) }];
    await store.write([], () => ({ writes: writes(ids), value: 0 }));
    await store.compact();
    for (const recent of [false, true]) {
      // What is recent lies among what pages have.
      if (recent) await store.write([], () => ({ writes: writes(['9', '\0\0\0']), value: 0 }));
      const revs = [...ids, ...(recent ? ['9', '\0\0\0'] : [])].sort();
      for (const each of [store, await open()]) {
        for (const id of ids) {
          const [all, later] = await each.read([
            { from: 'bodies', range: { gte: [id], lte: [id, []] }, texts: true },
            { from: 'bodies', range: { gt: [id, 'a'], lt: [id, []] } },
          ]);
          expect(all).toEqual(revs.map((rev) => ({ id, rev, body: `"${id} ${rev}"` })));
          expect(later.map(({ rev }) => rev)).toEqual(revs.filter((rev) => rev > 'a'));
        }
      }
    }
  });

  it('reads ahead after the first two documents, so that a few more find the rest in memory', async () => {
    const { store, open } = await setUp();
    await put(
      store,
      Array.from({ length: 5000 }, (_, i) => ({ ...doc(nameOf(i), i + 1), body: 'x'.repeat(300) })),
    );
    await store.compact();
    const { liveTextLength, pages } = store.stats();
    const cold = await open();
    const loaded: number[] = [];
    for (let i = 0; i < 60; i++) {
      const [[row]] = await cold.read([{ from: 'docs', keys: [nameOf((i * 2477) % 5000)], texts: true }]);
      expect(row?.body).toHaveLength(300);
      loaded.push(cold.stats().pagesLoaded);
    }
    expect(loaded[1]! - loaded[0]!).toBeLessThanOrEqual(1);
    expect(loaded.at(-1)).toBeGreaterThanOrEqual(pages >> 1); // all of its rows
    expect(new Set(loaded).size).toBeLessThan(pages >> 2); // calls that lacked something
    expect(cold.stats().cachedTextLength).toBeGreaterThanOrEqual(liveTextLength);
  });

  it('fails what lies in a block that cannot be read, and nothing that it was only read ahead for', async () => {
    const { store, open, hooks } = await setUp();
    const names = Array.from({ length: 5000 }, (_, i) => nameOf(i));
    await put(
      store,
      names.map((name, i) => ({ ...doc(name, i + 1), body: 'x'.repeat(300) })),
    );
    await store.compact();
    const read = async (from: TestStore, name: string): Promise<unknown> =>
      (await from.read([{ from: 'docs', keys: [name], texts: true }]))[0][0]?.body?.length;
    let asked: readonly number[] = [];
    hooks.before = (step) => {
      if (step.kind === 'load') asked = step.ids;
    };
    await read(await open(), '2500');
    const damaged = asked.at(-1) as number; // after its page: the block of its text
    hooks.before = (step) => {
      if (step.kind === 'load' && step.ids.includes(damaged)) throw new Error('damaged');
    };
    const cold = await open();
    const failed: string[] = [];
    for (const name of names.filter((_, i) => i % 61 === 0 || i === 2500)) {
      const length = await read(cold, name).catch(() => failed.push(name) * 0);
      if (length !== 0) expect(length).toBe(300);
    }
    expect(failed).toContain('2500');
    expect(failed.length).toBeLessThan(10); // those of its block alone
    hooks.before = undefined;
    for (const name of failed) expect(await read(cold, name)).toBe(300);
  });

  it('answers all rows in the order of their numbers, whole or not, close together or far apart', async () => {
    const { store } = await setUp();
    for (const seqs of [
      [3, 1, 2],
      [2.5, -7, 0, 1e-9],
      [5, 9e15, -2, 6],
      [8, 7],
    ]) {
      const before = await store.read([{ from: 'docs', range: {} }]);
      const gone = before[0].map(({ id }) => id);
      await put(
        store,
        seqs.map((seq) => doc(`d${seq}`, seq)),
        gone,
      );
      await store.compact();
      await put(store, [doc('late', -100)]); // not in pages
      const sorted = [-100, ...seqs].sort((a, b) => a - b);
      for (const reverse of [false, true]) {
        const [rows] = await store.read([{ from: 'docs', by: 'seq', range: {}, reverse, texts: false }]);
        expect(rows.map(({ seq }) => seq)).toEqual(reverse ? [...sorted].reverse() : sorted);
      }
    }
  });

  it('loads for a short range of another order only the pages of the rows it answers', async () => {
    const { store, open } = await setUp();
    // By seq, neighbours lie on different pages.
    await put(
      store,
      Array.from({ length: 5000 }, (_, i) => doc(nameOf((i * 1567) % 5000), i + 1)),
    );
    await store.compact();
    const cold = await open();
    const [rows] = await cold.read([{ from: 'docs', by: 'seq', range: { gt: 0 }, limit: 3 }]);
    expect(rows.map((row) => row.seq)).toEqual([1, 2, 3]);
    expect(cold.stats().pagesLoaded).toBeLessThanOrEqual(4);
  });

  it('counts a range without loading what lies between its ends', async () => {
    const { store, open } = await setUp();
    await put(
      store,
      Array.from({ length: 5000 }, (_, i) => doc(nameOf(i), i + 1)),
    );
    await store.compact();
    const cold = await open();
    expect(await cold.read([{ from: 'docs', count: {} }])).toEqual([5000]);
    expect(cold.stats().pagesLoaded).toBe(0);
    const queries = [
      { from: 'docs', by: 'seq', count: { gt: 1234 } },
      { from: 'docs', count: { gte: nameOf(700), lt: nameOf(4100) } },
      { from: 'bodies', count: {} },
    ] as const;
    expect(await cold.read(queries)).toEqual([3766, 3400, 0]);
    expect(cold.stats().pagesLoaded).toBeLessThanOrEqual(3);
  });

  it('takes few rounds of loading for a range whose beginning is gone', async () => {
    const { store, open, hooks } = await setUp();
    const rows = Array.from({ length: 20_000 }, (_, i) => doc(nameOf(i), i + 1));
    await put(store, rows);
    await store.compact();
    await put(
      store,
      [],
      rows.slice(0, -1).map((row) => row.id),
    );
    const cold = await open();
    let loads = 0;
    hooks.before = ({ kind }) => {
      if (kind === 'load') loads++;
    };
    const [found] = await cold.read([{ from: 'docs', range: {}, limit: 1 }]);
    expect(found.map((row) => row.id)).toEqual([rows.at(-1)?.id]);
    expect(loads).toBeLessThan(15);
  });

  it('does not believe its memory while what another context wrote is on its way to it', async () => {
    timeless();
    const { store, world, hooks } = await setUp();
    await put(store, [doc('a', 1)]);
    const other = await openLogStore<DatabaseTables>(await world.open('db'), schema);
    await put(other, [doc('b', 2)]);
    await other.close();
    // The journal has read the other's commit, and is alone again; the store has not got it yet.
    const second = new Promise<number>((resolve, reject) => {
      hooks.after = async ({ kind }) => {
        if (kind !== 'read') return;
        hooks.after = undefined;
        expect(store.readNow([{ from: 'docs', range: {} }])).toBeUndefined();
        store.read([{ from: 'docs', range: {} }]).then(([rows]) => resolve(rows.length), reject);
        await new Promise((later) => setTimeout(later, 0));
      };
    });
    const [rows] = await store.read([{ from: 'docs', range: {} }]);
    expect(rows.length).toBe(2);
    expect(await second).toBe(2);
    expect(store.readNow([{ from: 'docs', range: {} }])?.[0].length).toBe(2);
  });

  it('looks anew for a read that begins while the look for another is under way', async () => {
    const { store, world, hooks } = await setUp({ deaf: true });
    const other: TestStore = await openLogStore(await world.open('db'), schema, { checkpoint: false });
    await put(other, [doc('a', 1)]);
    let go = (): void => {};
    const held = new Promise<void>((resolve) => (go = resolve));
    const isLooking = new Promise<void>((resolve) => {
      hooks.after = async ({ kind }) => {
        if (kind !== 'read') return;
        hooks.after = undefined;
        resolve();
        await held;
      };
    });
    const first = store.read([{ from: 'docs', range: {} }]);
    await isLooking;
    await put(other, [doc('b', 2)]);
    const second = store.read([{ from: 'docs', range: {} }]);
    go();
    await first;
    expect((await second)[0].map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('has done a write although a watcher throws', async () => {
    const { store } = await setUp();
    const failure = new Error('of a watcher');
    const uncaught = catchUncaught();
    store.watch(() => {
      throw failure;
    });
    await put(store, [doc('a', 1)]);
    expect(await uncaught).toBe(failure);
  });

  it('takes prototype names for ordinary keys, in pages and out of them', async () => {
    const { store, open } = await setUp();
    const names = ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'valueOf', 'prototype'].sort();
    await put(
      store,
      names.map((id, i) => doc(id, i + 1)),
    );
    await store.write([], () => ({
      writes: [{ into: 'bodies', put: names.map((id) => ({ id, rev: '__proto__', body: `"${id}"` })) }],
      value: 0,
    }));
    for (const each of [store, await open()]) await checkNames(each, names);
    await store.compact();
    for (const each of [store, await open()]) await checkNames(each, names);
    await put(store, [], names);
    const [none] = await (await open()).read([{ from: 'docs', keys: names }]);
    expect(none).toEqual(names.map(() => undefined));
  });

  it('reads back a commit larger than all of its caches', async () => {
    const world = memory();
    const open = async (): Promise<TestStore> =>
      openLogStore<DatabaseTables>(await world.open('db'), schema, { textCacheLength: 100_000 });
    let store = await open();
    // One text larger than the cache, and many that together are.
    const rows = Array.from({ length: 800 }, (_, i) => ({
      ...doc(nameOf(i), i + 1),
      body: JSON.stringify(nameOf(i).repeat(i === 7 ? 100_000 : 500)),
    }));
    for (const step of ['written', 'compacted', 'reopened']) {
      if (step === 'written') await put(store, rows);
      if (step === 'compacted') await store.compact();
      if (step === 'reopened') {
        await store.close();
        store = await open();
      }
      const [found] = await store.read([{ from: 'docs', range: {}, texts: true }]);
      expect(found.length).toBe(rows.length);
      expect(
        found.every((row, i) => row.body === rows[i]?.body),
        step,
      ).toBe(true);
      expect(store.stats().cachedTextLength).toBeLessThanOrEqual(100_000);
    }
  });
});

async function checkNames(store: TestStore, names: readonly string[]): Promise<void> {
  const [byKey, range, bodies] = await store.read([
    { from: 'docs', keys: [...names, 'isPrototypeOf'], texts: true },
    { from: 'docs', range: {} },
    { from: 'bodies', keys: names.map((id) => [id, '__proto__']), texts: true },
  ]);
  expect(byKey.map((row) => row?.body)).toEqual([...names.map((id, i) => `"${id} ${i + 1}"`), undefined]);
  expect(range.map((row) => row.id)).toEqual(names);
  expect(bodies.map((row) => row?.body)).toEqual(names.map((id) => `"${id}"`));
}

/** The next error that nobody catches, taken from the test runner. */
function catchUncaught(): Promise<unknown> {
  return new Promise((resolve) => {
    if (typeof window === 'undefined') {
      const program = (globalThis as { process?: NodeProcess }).process as NodeProcess;
      const others = program.listeners('uncaughtException');
      program.removeAllListeners('uncaughtException');
      program.once('uncaughtException', (error) => {
        for (const other of others) program.on('uncaughtException', other);
        resolve(error);
      });
    } else {
      const listener = (event: ErrorEvent): void => {
        event.preventDefault();
        event.stopImmediatePropagation();
        window.removeEventListener('error', listener, true);
        resolve(event.error);
      };
      window.addEventListener('error', listener, true);
    }
  });
}

interface NodeProcess {
  listeners(event: string): ((error: unknown) => void)[];
  removeAllListeners(event: string): void;
  once(event: string, listener: (error: unknown) => void): void;
  on(event: string, listener: (error: unknown) => void): void;
}
