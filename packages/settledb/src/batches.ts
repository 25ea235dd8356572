/** All rows of a table, a batch at a time: a database may be larger than memory. */
import type { DatabaseTables, Key, Store } from '@settledb/core';

/** Rows read at a time … */
const BATCH = 1_000;
/** … and with their texts, of which a megabyte each is nothing unusual. */
const BATCH_OF_TEXTS = 100;

interface What<N> {
  readonly from: N;
  /** In this order; by default that of the primary key. */
  readonly by?: string;
  readonly texts?: readonly string[];
}

/** @param keyOf the key of a row in the order asked for */
export async function* batches<N extends keyof DatabaseTables & string>(
  store: Store<DatabaseTables>,
  what: What<N>,
  keyOf: (row: DatabaseTables[N]) => Key,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly DatabaseTables[N][]> {
  const limit = what.texts === undefined ? BATCH : BATCH_OF_TEXTS;
  for (let range = {}; ; ) {
    const query = { ...what, texts: what.texts ?? false, range, limit };
    const [rows] = (await store.read([query as never], { signal })) as unknown as [DatabaseTables[N][]];
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return;
    range = { gt: keyOf(last) };
  }
}
