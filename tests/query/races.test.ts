/**
 * Between working out a commit of index rows and making it, another context does something that the rows do not know of. It is
 * done just before the commit reaches the storage, so the commit loses the race, and is planned again.
 */
import { memory } from '@settledb/adapter-memory';
import { afterEach, describe, expect, it } from 'vitest';
import { storedId } from '../../packages/query/src/definitions';
import { type Hooks, hooked } from '../support/hooked-adapter';
import { atOnce, expectWhole, openContext, type PlainMap, type QueryContext } from '../support/query-context';

const SOURCE = 'function (doc, emit) { for (var i = 0; i < 400; i++) emit([doc.n, i], doc.n); }';
const map: PlainMap = (doc, emit) => {
  for (let i = 0; i < 400; i++) emit([doc.n, i], doc.n);
};
const DDOC = { _id: '_design/v', views: { v: { map: SOURCE, reduce: '_count' } } };

const opened: QueryContext[] = [];
afterEach(async () => {
  for (const { database } of opened.splice(0)) await database.close();
});

interface Race {
  readonly one: QueryContext;
  readonly other: QueryContext;
  /** Does `work` in the other context before the next commit of the first. */
  meanwhile(work: () => Promise<unknown>): void;
}

async function race(): Promise<Race> {
  const adapter = memory();
  const hooks: Hooks = {};
  const one = await openContext(hooked(adapter, hooks), 'db');
  const other = await openContext(adapter, 'db');
  opened.push(one, other);
  await one.database.bulkDocs([DDOC, ...['a', 'b', 'c'].map((_id, n) => ({ _id, n }))]);
  const meanwhile = (work: () => Promise<unknown>): void => {
    hooks.before = async ({ kind }) => {
      if (kind !== 'append') return;
      hooks.before = undefined;
      await work();
    };
  };
  return { one, other, meanwhile };
}

async function expectRight({ store, views }: QueryContext, total: number): Promise<void> {
  expect((await views.query('v', { reduce: false })).total_rows).toBe(total);
  expect((await views.query('v')).rows).toEqual([{ key: null, value: total }]);
  const [states] = await store.read([{ from: 'views', range: { gte: '' } }]);
  const state = states.find(({ view }) => view === storedId(SOURCE));
  const { rows, expected } = await atOnce(store, state?.tag ?? '', map);
  expect(rows).toEqual(expected);
  await expectWhole(store);
}

it('a reduction that was stored meanwhile, of rows as they were, does not outlive them', async () => {
  const { one, other, meanwhile } = await race();
  // Of the same index; counting alone needs no reduction that is stored.
  await one.database.put({ _id: '_design/w', views: { w: { map: SOURCE, reduce: '_sum' } } } as never);
  await one.views.query('w', { reduce: false });
  await one.database.put({ ...(await one.database.get('c')), _deleted: true } as never);
  let stored = 0;
  meanwhile(async () => {
    expect((await other.views.query('w', { update: false })).rows).toEqual([{ key: null, value: 1_200 }]);
    const [runs] = await other.store.read([{ from: 'reductions', range: {} }]);
    stored = runs.length;
  });
  await one.views.query('w', { reduce: false });
  expect(stored).toBeGreaterThan(0);
  for (const { views } of [one, other])
    expect((await views.query('w')).rows).toEqual([{ key: null, value: 400 }]);
  await expectRight(one, 800);
});

it('a purge takes the rows that were indexed meanwhile, and the reductions of them', async () => {
  const { one, other, meanwhile } = await race();
  await one.database.put({ _id: '_design/w', views: { w: { map: SOURCE, reduce: '_sum' } } } as never);
  const { _rev } = await one.database.get('b');
  meanwhile(async () => expect((await other.views.query('w')).rows).toEqual([{ key: null, value: 1_200 }]));
  await one.database.purge('b', _rev);
  for (const { views } of [one, other])
    expect((await views.query('w')).rows).toEqual([{ key: null, value: 800 }]);
  await expectRight(one, 800);
});

describe('an index row is not written', () => {
  it('of a document that was purged meanwhile', async () => {
    const { one, other, meanwhile } = await race();
    const { _rev } = await one.database.get('b');
    meanwhile(() => other.database.purge('b', _rev));
    await one.views.query('v');
    await expectRight(one, 800);
    await expectRight(other, 800);
  });

  it('into an index that was dropped meanwhile', async () => {
    const { one, other, meanwhile } = await race();
    await one.views.query('v');
    const ddoc = await one.database.get('_design/v');
    await one.database.put({ _id: 'a', n: 7, _rev: (await one.database.get('a'))._rev } as never);
    meanwhile(async () => {
      const { rev } = await other.database.put({ ...ddoc, views: {} } as never);
      await other.views.viewCleanup();
      await other.database.put({ ...ddoc, _rev: rev } as never);
    });
    await one.views.query('v');
    await expectRight(one, 1_200);
    await other.views.viewCleanup();
    await expectRight(other, 1_200);
  });

  it('twice, when two contexts index the same changes', async () => {
    const { one, other, meanwhile } = await race();
    meanwhile(() => other.views.query('v', { update: false }));
    await Promise.all([one.views.query('v'), other.views.query('v')]);
    await expectRight(one, 1_200);
  });
});

it('a reduction that was stored meanwhile goes with the rows it was made of', async () => {
  const { one, other, meanwhile } = await race();
  await one.views.query('v', { reduce: false });
  const { _rev } = await one.database.get('b');
  await one.database.put({ _id: 'b', n: 1, more: true, _rev } as never);
  const { rev } = await one.database.put({
    _id: 'c',
    n: 0,
    _rev: (await one.database.get('c'))._rev,
  } as never);
  expect(rev).toMatch(/^2-/);
  meanwhile(async () => expect((await other.views.query('v', { update: false })).rows[0]?.value).toBe(1_200));
  await one.views.query('v', { reduce: false });
  await expectRight(one, 1_200);
  await expectRight(other, 1_200);
});

it('batches that are read while others are written see documents change in between, and the index is right', async () => {
  const COUNT = 4_500;
  const adapter = memory();
  const hooks: Hooks = {};
  const one = await openContext(hooked(adapter, hooks), 'db');
  const other = await openContext(adapter, 'db');
  opened.push(one, other);
  const source = 'function (doc, emit) { emit(doc.n, doc._rev); }';
  await one.database.bulkDocs([
    { _id: '_design/v', views: { v: { map: source, reduce: '_count' } } },
    ...Array.from({ length: COUNT }, (_, n) => ({ _id: `d${String(n).padStart(4, '0')}`, n })),
  ] as never);
  let commits = 0;
  hooks.before = async ({ kind }) => {
    // Each time the commit is made anew, and rivals must end some time.
    if (kind !== 'append' || ++commits > 12) return;
    // Of those that are mapped already, of those that are on their way, and of those that come: some change, some go.
    for (const at of [10, 150, 900, 2_500, 4_400]) {
      const doc = (await other.database.get(`d${String(at + commits).padStart(4, '0')}`)) as never as object;
      await other.database.put({
        ...doc,
        n: -commits,
        ...(commits % 3 === 0 ? { _deleted: true } : {}),
      } as never);
    }
    if (commits === 4) {
      const { _rev } = await other.database.get('d4499');
      await other.database.purge('d4499', _rev);
    }
  };
  await one.views.query('v');
  hooks.before = undefined;
  expect(commits).toBeGreaterThan(4);
  for (const { store, views } of [one, other]) {
    await views.query('v');
    const [states] = await store.read([{ from: 'views', range: { gte: '' } }]);
    const state = states.find(({ view }) => view === storedId(source));
    const { rows, expected } = await atOnce(store, state!.tag, (doc, emit) => emit(doc.n, doc._rev));
    expect(rows).toEqual(expected);
    await expectWhole(store);
  }
});

it('an index that is ahead of another stays there while they are built together: nothing is mapped or counted twice', async () => {
  const context = await openContext(memory(), 'db');
  opened.push(context);
  const { database, views, store } = context;
  const seqs = async (): Promise<number[]> => {
    const [states] = await store.read([{ from: 'views', range: {} }]);
    return states.map(({ seq }) => seq).sort((a, b) => a - b);
  };
  await database.put(DDOC);
  await database.bulkDocs(Array.from({ length: 20 }, (_, n) => ({ _id: `doc ${n}`, n })));
  await views.query('v', { limit: 0 });
  await database.bulkDocs([{ _id: 'new', n: 20 }] as never);
  const { _rev } = await database.get('_design/v');
  // Of 400 rows a document: the second is written in parts of some documents.
  const more = { map: SOURCE.replace('[doc.n, i]', '[i, doc.n]') };
  await database.put({ ...DDOC, views: { ...DDOC.views, more }, _rev } as never);
  const seen: number[] = [];
  const stop = store.watch(() => void seqs().then(([, ahead]) => ahead && seen.push(ahead)));
  await views.query('v/more', { limit: 0 });
  stop();
  expect(seen.every((seq) => seq >= 21)).toBe(true);
  expect((await seqs()).every((seq) => seq === 23)).toBe(true);
  await expectRight(context, 21 * 400);
});
