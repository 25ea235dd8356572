/**
 * I6: an index at seq s equals mapping the documents at s, whatever happened to them and to the contexts that index them. Random
 * edits, deletions, branches, purges, compactions, queries, clean-ups and crashes (the storage fails before a commit, or after
 * it) in three contexts on one storage, one by one and at once. A failure prints its seed.
 */
import { memory } from '@settledb/adapter-memory';
import { isDatabaseError, type Json, type Loose, type ViewResult } from '@settledb/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Hooks, hooked } from '../support/hooked-adapter';
import { atOnce, expectWhole, openContext, type PlainMap, type QueryContext } from '../support/query-context';
import { mulberry32 } from '../support/slow-adapter';

const IDS = ['a', 'b', 'c', 'd', 'constructor', 'toString', 'é', 'g/h', 'i', 'j', 'k', 'l'];
const STEPS = 30;

/** Sources, and the functions they stand for: few rows, doubled ones, none for some, an error for some; and very many. */
const MAPS: Readonly<Record<string, { readonly source: string; readonly map: PlainMap }>> = {
  plain: { source: 'function (doc) { emit(doc.n, doc._rev); }', map: (doc, emit) => emit(doc.n, doc._rev) },
  tags: {
    source:
      'function (doc) { if (doc.n % 5 === 4) throw new Error("four"); for (var i = 0; i < doc.n % 4; i++) emit([i % 2, "t"], doc._conflicts || i); }',
    map: (doc, emit) => {
      if (doc.n % 5 === 4) throw new Error('four');
      for (let i = 0; i < doc.n % 4; i++) emit([i % 2, 't'], doc._conflicts || i);
    },
  },
  many: {
    source:
      'function (doc, emit) { for (var i = 0; i < 70 + doc.n % 9; i++) emit([i % 3, doc.n, i], i === 7 ? "long ".repeat(60) : doc.n); }',
    map: (doc, emit) => {
      for (let i = 0; i < 70 + (doc.n % 9); i++)
        emit([i % 3, doc.n, i], i === 7 ? 'long '.repeat(60) : doc.n);
    },
  },
};
const NAMES = Object.keys(MAPS);

interface World {
  readonly random: () => number;
  readonly adapter: ReturnType<typeof memory>;
  readonly hooks: Hooks[];
  readonly contexts: QueryContext[];
}

const below = ({ random }: World, n: number): number => Math.floor(random() * n);
const pick = <T>(world: World, list: readonly T[]): T => list[below(world, list.length)] as T;

async function open(world: World, at: number): Promise<void> {
  world.hooks[at] = {};
  world.contexts[at] = await openContext(hooked(world.adapter, world.hooks[at] as Hooks), 'db', {
    checkpoint: at === 0,
  });
}

async function edit(world: World, { database }: QueryContext): Promise<void> {
  const _id = pick(world, IDS);
  const n = below(world, 30);
  if (world.random() < 0.25) {
    const path = Array.from({ length: 1 + below(world, 3) }, () => below(world, 4).toString(16)).join('');
    const ids = Array.from({ length: path.length }, (_, i) => path.slice(0, path.length - i));
    const gone = world.random() < 0.2 ? { _deleted: true } : {};
    const edits = { _id, _rev: `${path.length}-${path}`, _revisions: { start: ids.length, ids }, n, ...gone };
    await database.bulkDocs([edits], { new_edits: false });
    return;
  }
  const leaves = await database.get(_id, { open_revs: 'all' }).catch(() => []);
  const live = leaves.flatMap((leaf) => ('ok' in leaf && leaf.ok._deleted !== true ? [leaf.ok._rev] : []));
  const base = live.length === 0 ? {} : { _rev: pick(world, live) };
  const gone = live.length > 0 && world.random() < 0.25 ? { _deleted: true } : {};
  await database.bulkDocs([{ _id, ...base, ...gone, n } as Loose]);
}

async function purge(world: World, { database }: QueryContext): Promise<void> {
  const id = pick(world, IDS);
  const leaves = await database.get(id, { open_revs: 'all' }).catch(() => []);
  for (const leaf of leaves)
    if ('ok' in leaf && (world.random() < 0.7 || leaves.length === 1)) await database.purge(id, leaf.ok._rev);
}

/** Whatever a query answers belongs to one moment; which one, in the midst of others' writes, only the index knows. */
async function query(world: World, { views }: QueryContext): Promise<void> {
  const name = pick(world, NAMES);
  const kind = below(world, 5);
  const update = pick(world, [true, true, true, false, 'lazy'] as const);
  const signal = world.random() < 0.1 ? AbortSignal.timeout(below(world, 3)) : undefined;
  if (kind === 0) await views.query(`v/${name}`, { reduce: false, update, signal });
  else if (kind === 1) await views.query(`v/${name}`, { group_level: 1, update, signal });
  else if (kind === 2)
    await views.query(`v/${name}`, { group: true, descending: true, limit: 3, update, signal });
  else if (kind === 3) await views.query(`v/${name}`, { startkey: [1], update, signal });
  else await views.query(`v/${name}`, { update, signal });
}

async function step(world: World): Promise<void> {
  const at = below(world, world.contexts.length);
  const context = world.contexts[at] as QueryContext;
  const kind = below(world, 20);
  if (kind < 9) return edit(world, context);
  if (kind < 14) return query(world, context);
  if (kind === 14) return purge(world, context);
  if (kind === 15) return void (await context.database.compact());
  if (kind === 16) return void (await context.views.viewCleanup());
  if (kind === 17) return changeViews(world, context);
  return crash(world, at);
}

/** One view comes or goes. */
async function changeViews(world: World, { database }: QueryContext): Promise<void> {
  const { _rev, views = {} } = (await database.get('_design/v').catch(() => ({}))) as Loose;
  const name = pick(world, NAMES);
  const { [name]: present, ...others } = views;
  const changed = present === undefined ? { ...views, [name]: viewOf(name) } : others;
  await database.put({ _id: '_design/v', views: changed, ...(_rev ? { _rev } : {}) } as Loose);
}

const viewOf = (name: string): object => ({ map: MAPS[name]?.source, reduce: '_count' });

/** The storage fails at some commit to come, and the context is opened anew, as after a reload. */
async function crash(world: World, at: number): Promise<void> {
  const hooks = world.hooks[at] as Hooks;
  let left = below(world, 4);
  const fail = ({ kind }: { kind: string }): void => {
    if (kind === 'append' && left-- <= 0) throw new Error('the storage failed');
  };
  if (world.random() < 0.5) hooks.before = fail;
  else hooks.after = fail;
  const context = world.contexts[at] as QueryContext;
  await settled([query(world, context), edit(world, context), query(world, context)]);
  await context.database.close().catch(() => undefined);
  await open(world, at);
}

/** Refusals are part of the game: conflicts, missing views, aborted calls, failed storage. Mistakes of the program are not. */
async function settled(works: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(works)) {
    if (outcome.status === 'fulfilled') continue;
    const { reason } = outcome;
    const fine =
      isDatabaseError(reason) || reason?.name === 'TimeoutError' || reason?.message === 'the storage failed';
    if (!fine) throw reason;
  }
}

async function verify(world: World): Promise<void> {
  const context = pick(world, world.contexts);
  const { rev: _rev } = { rev: (await context.database.get('_design/v').catch(() => undefined))?._rev };
  await context.database.put({
    _id: '_design/v',
    views: Object.fromEntries(NAMES.map((name) => [name, viewOf(name)])),
    ...(_rev === undefined ? {} : { _rev }),
  } as Loose);
  for (const [name, { map }] of Object.entries(MAPS)) {
    const answer = await context.views.query(`v/${name}`, { reduce: false, update_seq: true });
    for (const other of world.contexts) {
      const tag = await tagOf(other, name, answer);
      const { expected, rows, seq, states } = await atOnce(other.store, tag, map);
      expect(states.find((state) => state.tag === tag)?.seq).toBe(seq);
      expect(rows).toEqual(expected);
      expect(answer).toEqual({ total_rows: expected.length, offset: 0, update_seq: seq, rows: expected });
      await expectReduced(other, name, expected);
    }
  }
  await expectWhole(context.store);
}

/** By what it holds: only one index has these rows and this seq and is not being dropped. */
async function tagOf({ store, views }: QueryContext, name: string, answer: ViewResult): Promise<string> {
  await views.query(`v/${name}`, { limit: 0, reduce: false });
  const { signature } = (await views.viewInfo('v')).view_index;
  expect(typeof signature).toBe('string');
  const source = MAPS[name]?.source as string;
  const [states] = await store.read([{ from: 'views', range: { gte: '' } }]);
  const { storedId } = await import('../../packages/query/src/definitions');
  const state = states.find(({ view }) => view === storedId(source));
  expect(state?.rows).toBe(answer.total_rows);
  return state?.tag as string;
}

async function expectReduced(
  { views }: QueryContext,
  name: string,
  rows: readonly { readonly key: Json }[],
): Promise<void> {
  const count = (keep: (key: Loose) => boolean): number => rows.filter(({ key }) => keep(key)).length;
  const total = rows.length === 0 ? [] : [{ key: null, value: rows.length }];
  expect((await views.query(`v/${name}`)).rows).toEqual(total);
  const first = (key: Loose): string => JSON.stringify(Array.isArray(key) ? key.slice(0, 1) : key);
  const groups = [...new Set(rows.map(({ key }) => first(key)))].map((group) => ({
    key: JSON.parse(group),
    value: count((key) => first(key) === group),
  }));
  expect((await views.query(`v/${name}`, { group_level: 1 })).rows).toEqual(groups);
  const last = (await views.query(`v/${name}`, { group_level: 1, descending: true, limit: 2 })).rows;
  expect(last).toEqual([...groups].reverse().slice(0, 2));
  const within = count((key) => Array.isArray(key) && key[0] === 1 && key[1] >= 10);
  const ranged = await views.query(`v/${name}`, { startkey: [1, 10], endkey: [1, {}] });
  expect(ranged.rows[0]?.value ?? 0).toBe(name === 'tags' ? count((key) => key[0] === 1) : within);
}

it('holds what mapping the documents gives, after any mixture of what may happen (I6)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const world: World = { random: mulberry32(seed), adapter: memory(), hooks: [], contexts: [] };
      const keeper = await world.adapter.open('db');
      for (let at = 0; at < 3; at++) await open(world, at);
      for (let i = 0; i < STEPS; i++) {
        const together = Array.from({ length: 1 + below(world, 4) }, () => step(world));
        await settled(together);
        if (i % 10 === 9) await verify(world);
      }
      for (const { database } of world.contexts) await database.close();
      await keeper.close();
    }),
    { numRuns: Number(process.env.RUNS ?? 15) },
  );
});
