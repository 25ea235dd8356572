/**
 * What every store must do, whatever journal lies below: run on memory, file and IndexedDB.
 *
 * Model: two plain maps. Random writes, reads, compactions and re-openings through one or several handles are compared with it
 * after each step; a failure prints its seed and the steps.
 */
import type { BodyRow, DatabaseTables, DocRow, Store, Text } from '@settledb/core';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';

export type TestStore = Store<DatabaseTables>;

export interface StoreContext {
  /** Opens (again) a handle on the database called `name`. */
  open(name: string): Promise<TestStore>;
  /** Whether several handles may be open at once. */
  readonly shared: boolean;
  /** Random runs of the model; fewer where storage is slow. */
  readonly runs: number;
}

let names = 0;

export function storeConformance(adapter: string, context: StoreContext): void {
  describe(`store over ${adapter}`, () => {
    const opened: TestStore[] = [];
    const open = async (name: string): Promise<TestStore> => {
      const store = await context.open(name);
      opened.push(store);
      return store;
    };
    const fresh = (): string => `store-${Date.now()}-${++names}`;
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((store) => store.close()));
    });

    it('answers what was written, by key, by range and by another order', async () => {
      const store = await open(fresh());
      await store.write([], () => ({
        writes: [{ into: 'docs', put: [doc('b', 1), doc('a', 2), doc('c', 3)] }],
        value: 0,
      }));
      const [byKey, range, bySeq] = await store.read([
        { from: 'docs', keys: ['a', 'x', 'b'], texts: true },
        { from: 'docs', range: { gte: 'a', lt: 'c' } },
        { from: 'docs', by: 'seq', range: { gt: 1 }, reverse: true },
      ]);
      expect(byKey.map((row) => row?.body)).toEqual([bodyOf('a', 2), undefined, bodyOf('b', 1)]);
      expect(range.map((row) => row.id)).toEqual(['a', 'b']);
      expect(bySeq.map((row) => row.id)).toEqual(['c', 'a']);
    });

    it('writes nothing when the plan throws', async () => {
      const store = await open(fresh());
      const failure = new Error('no');
      const write = store.write([], () => {
        throw failure;
      });
      await expect(write).rejects.toBe(failure);
      const [rows] = await store.read([{ from: 'docs', range: {} }]);
      expect(rows).toEqual([]);
    });

    it('gives a plan what the writes before it left', async () => {
      const store = await open(fresh());
      const increments = Array.from({ length: 50 }, () => increment(store));
      const seen = await Promise.all(increments);
      expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
    });

    it('keeps a text that a plan moved by reference into another row', async () => {
      const store = await open(fresh());
      await put(store, doc('a', 1));
      await moveBody(store, 'a', 2);
      await store.compact();
      const [docs, bodies] = await store.read([
        { from: 'docs', keys: ['a'], texts: true },
        { from: 'bodies', range: { gte: ['a'], lte: ['a', []] }, texts: true },
      ]);
      expect(docs[0]?.body).toBe(bodyOf('a', 2));
      expect(bodies.map((row) => row.body)).toEqual([bodyOf('a', 1)]);
    });

    it('finds 3,000 rows by key and by seq before and after compaction and reopening', async () => {
      const name = fresh();
      let store = await open(name);
      const rows = Array.from({ length: 3000 }, (_, i) => doc(`doc-${(i * 7919) % 3000}`, i + 1));
      await store.write([], () => ({ writes: [{ into: 'docs', put: rows }], value: 0 }));
      for (const step of ['written', 'compacted', 'reopened']) {
        if (step === 'compacted') await store.compact();
        if (step === 'reopened') {
          await store.close();
          store = await open(name);
        }
        const [all, some, tail] = await store.read([
          { from: 'docs', range: {}, texts: true },
          { from: 'docs', keys: ['doc-17', 'doc-2999', 'nobody'], texts: ['body'] },
          { from: 'docs', by: 'seq', range: { gt: 2990 } },
        ]);
        expect(all.length, step).toBe(3000);
        expect(
          all.every((row) => row.body === bodyOf(row.id, row.seq)),
          step,
        ).toBe(true);
        expect(
          some.map((row) => row?.id),
          step,
        ).toEqual(['doc-17', 'doc-2999', undefined]);
        expect(
          tail.map((row) => row.seq),
          step,
        ).toEqual([2991, 2992, 2993, 2994, 2995, 2996, 2997, 2998, 2999, 3000]);
      }
      expect(store.stats().recentRows).toBe(0);
    });

    it('does not load the whole directory to read one row after reopening', async () => {
      const name = fresh();
      let store = await open(name);
      const rows = Array.from({ length: 4000 }, (_, i) => doc(`doc-${i}`, i + 1));
      await store.write([], () => ({ writes: [{ into: 'docs', put: rows }], value: 0 }));
      await store.compact();
      await store.close();
      store = await open(name);
      await store.read([{ from: 'docs', keys: ['doc-1234'], texts: true }]);
      expect(store.stats().pages).toBeGreaterThan(20);
      expect(store.stats().pagesLoaded).toBe(1);
    });

    it('takes no more room for dead texts after compaction', async () => {
      const store = await open(fresh());
      for (let i = 0; i < 20; i++)
        await put(store, ...Array.from({ length: 50 }, (_, d) => doc(`d${d}`, i * 50 + d + 1)));
      await store.compact();
      const { deadTextLength, liveTextLength } = store.stats();
      expect(deadTextLength).toBeLessThanOrEqual(liveTextLength);
      const [rows] = await store.read([{ from: 'docs', range: {}, texts: true }]);
      expect(rows.map((row) => row.body)).toEqual(rows.map((row) => bodyOf(row.id, row.seq)));
    });

    it('tells watchers of each commit', async () => {
      const store = await open(fresh());
      let heard = 0;
      const unwatch = store.watch(() => heard++);
      await put(store, doc('a', 1));
      await put(store, doc('b', 2));
      unwatch();
      await put(store, doc('c', 3));
      expect(heard).toBe(2);
    });

    it('rejects after close and ends writes under way first', async () => {
      const name = fresh();
      const store = await open(name);
      const write = put(store, doc('a', 1));
      await store.close();
      await write;
      await expect(store.read([])).rejects.toMatchObject({ name: 'closed', status: 412 });
      const [rows] = await (await open(name)).read([{ from: 'docs', range: {} }]);
      expect(rows.length).toBe(1);
    });

    it('agrees with a model after any mixture of writes, compactions, checkpoints and re-openings', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
          const name = fresh();
          const handles = [await open(name)];
          if (context.shared) handles.push(await open(name), await open(name));
          const model = new Model();
          for (const { kind, handle, ids } of steps) {
            const at = handle % handles.length;
            const store = handles[at] as TestStore;
            if (kind === 'compact')
              await Promise.all([
                store.compact(),
                model.check(handles[(at + 1) % handles.length] as TestStore),
              ]);
            else if (kind === 'reopen') {
              await store.close();
              handles[at] = await open(name);
            } else if (kind === 'together') await together(handles, store, ids, model);
            else await apply(kind, store, ids, model);
            await model.check(handles[(at + 1) % handles.length] as TestStore);
          }
          await Promise.all(handles.map((store) => store.close()));
        }),
        { numRuns: context.runs },
      );
    });
  });
}

type Kind = 'put' | 'bulk' | 'delete' | 'move' | 'compact' | 'reopen' | 'together';

const step = fc.record({
  kind: fc.constantFrom<Kind>('put', 'put', 'bulk', 'delete', 'move', 'compact', 'reopen', 'together'),
  handle: fc.nat(5),
  ids: fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', '__proto__', 'é', '\u{1f600}'), {
    minLength: 1,
    maxLength: 5,
  }),
});

/** The documents and past bodies there should be. */
class Model {
  readonly docs = new Map<string, number>();
  readonly bodies = new Map<string, string>();
  seq = 0;

  async check(store: TestStore): Promise<void> {
    const [docs, bySeq, bodies, keyed, later, among] = await store.read([
      { from: 'docs', range: {}, texts: true },
      { from: 'docs', by: 'seq', range: {} },
      { from: 'bodies', range: {}, texts: true },
      { from: 'docs', keys: [...this.docs.keys(), 'nobody'] },
      { from: 'docs', by: 'seq', count: { gt: this.seq >> 1 } },
      { from: 'bodies', count: { gte: ['b'], lt: ['pad', []] } },
    ]);
    expect(later).toBe([...this.docs.values()].filter((seq) => seq > this.seq >> 1).length);
    expect(among).toBe(bodies.filter(({ id }) => id >= 'b' && id <= 'pad').length);
    expect(docs.map((row) => [row.id, row.seq, row.body])).toEqual(
      [...this.docs].sort(byId).map(([id, seq]) => [id, seq, bodyOf(id, seq)]),
    );
    expect(bySeq.map((row) => row.id)).toEqual(
      [...this.docs].sort(([, a], [, b]) => a - b).map(([id]) => id),
    );
    expect(bodies.map((row) => [`${row.id}@${row.rev}`, row.body]).sort()).toEqual([...this.bodies].sort());
    expect(keyed.map((row) => row?.id)).toEqual([...this.docs.keys(), undefined]);
    for (const one of ['a', 'b', 'pad']) {
      const revs = bodies.filter(({ id }) => id === one).map(({ rev }) => rev);
      expect(store.fieldNow('bodies', 'rev', [one], 3) ?? revs.slice(0, 3)).toEqual(revs.slice(0, 3));
    }
  }
}

const byId = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1);

async function apply(kind: Kind, store: TestStore, ids: readonly string[], model: Model): Promise<void> {
  const id = ids[0] as string;
  if (kind === 'put' || kind === 'bulk') {
    const rows = (kind === 'put' ? [id] : [...new Set(ids)]).map((each) => doc(each, ++model.seq));
    for (const row of rows) model.docs.set(row.id, row.seq);
    // Padded to more than a commit keeps beside its head, so that segments are cut.
    const padding =
      kind === 'bulk'
        ? Array.from({ length: 40 }, (_, i): BodyRow => ({ id: 'pad', rev: `${i}`, body: '"x"' }))
        : [];
    // Known to be new where they are, as a database's own writes say it: also where an older one was deleted.
    await store.write([{ from: 'docs', keys: rows.map((row) => row.id) }], ([found]) => ({
      writes: [
        { into: 'docs', put: rows, fresh: found.every((row) => row === undefined) },
        { into: 'bodies', put: padding },
      ],
      value: 0,
    }));
    for (const { rev } of padding) model.bodies.set(`pad@${rev}`, '"x"');
  } else if (kind === 'delete') {
    model.docs.delete(id);
    await store.write([], () => ({ writes: [{ into: 'docs', delete: [id] }], value: 0 }));
  } else {
    const old = model.docs.get(id);
    if (old === undefined) return;
    model.bodies.set(`${id}@${old}`, bodyOf(id, old));
    model.docs.set(id, ++model.seq);
    await moveBody(store, id, model.seq);
  }
}

/** Writes on one handle while another is compacted. */
async function together(
  handles: readonly TestStore[],
  store: TestStore,
  ids: readonly string[],
  model: Model,
): Promise<void> {
  const compactions = handles.map((each) => each.compact());
  for (const id of ids) {
    await apply('put', store, [id], model);
    await apply('move', store, ids, model);
  }
  await Promise.all(compactions);
}

export const bodyOf = (id: string, seq: number): string =>
  JSON.stringify({ id, seq, text: `body of ${id} at ${seq}` });
const doc = (id: string, seq: number): DocRow => ({ id, seq, rev: `${seq}-x`, body: bodyOf(id, seq) });

const put = (store: TestStore, ...rows: DocRow[]): Promise<number> =>
  store.write([], () => ({ writes: [{ into: 'docs', put: rows }], value: 0 }));

/** A new body for a document, its old one going to `bodies` by reference. */
const moveBody = (store: TestStore, id: string, seq: number): Promise<number> =>
  store.write([{ from: 'docs', keys: [id] }], ([[old]]) => {
    const row = old as DocRow;
    return {
      writes: [
        { into: 'docs', put: [doc(id, seq)] },
        { into: 'bodies', put: [{ id, rev: String(row.seq), body: row.body as Text }] },
      ],
      value: 0,
    };
  });

const increment = (store: TestStore): Promise<number> =>
  store.write([{ from: 'info', keys: ['info'] }], ([[info]]) => {
    const update_seq = (info?.update_seq ?? 0) + 1;
    const row = {
      name: 'info' as const,
      uuid: 'u',
      update_seq,
      doc_count: 0,
      doc_del_count: 0,
      purge_seq: 0,
    };
    return { writes: [{ into: 'info', put: [row] }], value: update_seq };
  });
