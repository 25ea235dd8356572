/**
 * A database with indexes in a context of its own, opened beside others on the same storage, with its store at hand; and what
 * any index must hold, worked out the plain way.
 */
import {
  compareKeys,
  conflicts,
  type DatabaseTables,
  evaluate,
  fromKey,
  type IndexEntry,
  type Json,
  joinDoc,
  LocalDatabase,
  type Loose,
  type Query,
  type Store,
  schema,
  unpackTree,
  type ViewStateRow,
} from '@settledb/core';
import { type Adapter, openLogStore } from '@settledb/engine';
import { expect } from 'vitest';
import { Indexes, Views, type ViewsOptions } from '../../packages/query/src/index';

export interface QueryContext {
  readonly store: Store<DatabaseTables>;
  readonly database: LocalDatabase;
  readonly indexes: Indexes;
  readonly views: Views;
}

export async function openContext(
  adapter: Adapter,
  name: string,
  options: ViewsOptions & { readonly checkpoint?: boolean } = {},
): Promise<QueryContext> {
  const { checkpoint = true } = options;
  const store = await openLogStore<DatabaseTables>(await adapter.open(name), schema, { checkpoint });
  const database = await LocalDatabase.open(store, { name, adapter: adapter.name });
  const indexes = new Indexes(database);
  const views = new Views(database, indexes, { evaluate, ...options });
  return { store, database, indexes, views };
}

export interface PlainRow {
  readonly id: string;
  readonly key: Json;
  readonly value: Loose;
}

/** The rows that a map emits for all documents there are, in order. */
export type PlainMap = (doc: Loose, emit: (key: unknown, value?: unknown) => void) => void;

interface Snapshot {
  readonly seq: number;
  readonly states: readonly ViewStateRow[];
  readonly rows: readonly PlainRow[];
}

/** The index of `tag`, and the rows that `map` gives for the documents of the same moment. */
export async function atOnce(
  store: Store<DatabaseTables>,
  tag: string,
  map: PlainMap,
): Promise<Snapshot & { readonly expected: readonly PlainRow[] }> {
  const queries = [
    { from: 'info', keys: ['info'] },
    { from: 'views', range: { gte: '' } },
    { from: 'docs', range: { gte: '' }, texts: true },
    { from: 'index', range: { gte: [tag], lte: [tag, []] }, texts: true },
  ] as const satisfies readonly Query<DatabaseTables>[];
  const [[info], states, docs, index] = await store.read(queries);
  const expected: PlainRow[] = [];
  for (const row of docs) {
    if (row.deleted || row.id.startsWith('_design/')) continue;
    const losers = row.tree === undefined ? [] : conflicts(unpackTree(row.tree as string));
    const meta = losers.length === 0 ? {} : { _conflicts: losers.map(({ rev }) => rev) };
    const doc = joinDoc(row.id, row.rev, false, (row.body as string | undefined) ?? '{}', meta);
    const emitted: PlainRow[] = [];
    try {
      map(doc, (key, value) => emitted.push({ id: row.id, key: plain(key), value: plain(value) }));
      expected.push(...emitted);
    } catch {
      // Left out, as a view leaves it out.
    }
  }
  expected.sort(
    (a, b) =>
      compareKeys(a.key, b.key) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0) || compareKeys(a.value, b.value),
  );
  return { seq: info!.update_seq, states, rows: index.map(plainRow), expected };
}

const plain = (value: unknown): Json => JSON.parse(JSON.stringify([value]))[0] as Json;

const plainRow = ({ id, key, value, long }: IndexEntry): PlainRow => ({
  id,
  key: fromKey(key),
  value: JSON.parse(value ?? (long as string | undefined) ?? 'null'),
});

/** Asserts that what the tables say about indexes fits together: counts, both orders, stored reductions of counts. */
export async function expectWhole(store: Store<DatabaseTables>): Promise<void> {
  const [states, rows, byDoc, runs] = await store.read([
    { from: 'views', range: { gte: '' } },
    { from: 'index', range: { gte: [''] }, texts: true },
    { from: 'index', by: 'doc', range: { gte: [''] }, texts: true },
    { from: 'reductions', range: { gte: [''] }, texts: true },
  ]);
  const text = (row: IndexEntry): string =>
    JSON.stringify([row.tag, row.key, row.id, row.n, row.value, row.long]);
  expect(byDoc.map(text).sort()).toEqual(rows.map(text).sort());
  const tags = new Map(states.map((state) => [state.tag, state]));
  expect(tags.size).toBe(states.length);
  for (const [tag, state] of tags)
    if (!state.view.startsWith('dropped:'))
      expect(rows.filter((row) => row.tag === tag)).toHaveLength(state.rows);
  for (const row of [...rows, ...runs]) expect(tags.has(row.tag)).toBe(true);
  for (const run of runs) {
    expect(tags.get(run.tag)).toMatchObject({ reduced: true });
    const within = rows.filter(
      (row) =>
        row.tag === run.tag &&
        !before(row, run) &&
        before(row, { key: run.end_key, id: run.end_id, n: run.end_n }),
    );
    const values = JSON.parse(run.values as string);
    if ('_count' in values) expect(values._count).toBe(within.length);
    expect(within.at(-1)?.key).toBe(run.last);
  }
}

type Place = Pick<IndexEntry, 'key' | 'id' | 'n'>;
function before(a: Place, b: Place): boolean {
  if (a.key !== b.key) return a.key < b.key;
  return a.id === b.id ? a.n < b.n : a.id < b.id;
}
