/** Finds rows by the blocks that their texts lie in, and writes them again as they are, so that they leave those blocks. */
import type { Key, Store, Tables } from '@settledb/core';
import { isRef, type Layout, type Row, type TableLayout } from './layout';

/** Rows looked at in one read. */
const ROWS_READ = 1_000;

type Rows = Pick<Store<Tables>, 'read' | 'write'>;

/** Keys of rows, by table. */
export type Keys = Map<string, Key[]>;

/** For each of `blocks` that has any. */
export async function rowsIn(
  store: Rows,
  layout: Layout,
  blocks: ReadonlySet<number>,
  signal: AbortSignal | undefined,
): Promise<Map<number, Keys>> {
  const found = new Map<number, Keys>([...blocks].map((block) => [block, new Map()]));
  for (const table of layout.values()) {
    if (table.textFields.length === 0) continue;
    for await (const row of rowsOf(store, table, signal))
      for (const field of table.textFields) {
        const ref = row[field];
        const keys = isRef(ref) ? found.get(ref.block) : undefined;
        if (keys !== undefined) add(keys, table.name, [keyOf(row, table)]);
      }
  }
  return found;
}

async function* rowsOf(
  store: Rows,
  table: TableLayout,
  signal: AbortSignal | undefined,
): AsyncGenerator<Row> {
  for (let range = {}; ; ) {
    const [rows] = await store.read([{ from: table.name, range, limit: ROWS_READ }], { signal });
    yield* rows as Row[];
    const last = rows.at(-1) as Row | undefined;
    if (last === undefined || rows.length < ROWS_READ) return;
    range = { gt: keyOf(last, table) };
  }
}

function add(keys: Keys, table: string, more: readonly Key[]): void {
  const some = keys.get(table);
  if (some === undefined) keys.set(table, [...more]);
  else for (const key of more) some.push(key);
}

const keyOf = (row: Row, { key }: TableLayout): Key =>
  (typeof key === 'string' ? row[key] : key.map((field) => row[field])) as Key;

/** Writes those that still exist, in one commit. */
export async function writeAgain(
  store: Rows,
  rows: readonly Keys[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const all: Keys = new Map();
  for (const keys of rows) for (const [table, some] of keys) add(all, table, some);
  const queries = [...all].map(([from, keys]) => ({ from, keys, texts: true }));
  await store.write(
    queries,
    (found) => ({
      writes: queries.map(({ from }, i) => ({
        into: from,
        put: (found[i] as (object | undefined)[]).filter((row) => row !== undefined),
      })),
      value: undefined,
    }),
    { signal, makesRoom: 'now' },
  );
}
