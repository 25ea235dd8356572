/** What in a database does not fit together: what no damaged byte explains, and no reader would notice. */
import {
  type CallOptions,
  type DatabaseTables,
  type DocRow,
  INFO,
  infoOf,
  type Store,
  TREE_TEXTS,
  treeOf,
  winner,
} from '@settledb/core';

/** Named at most; one fault may show in every document. */
export const CONTRADICTIONS_MAX = 100;
/** Rows read at a time. */
const BATCH = 1_000;

/** Counters against the rows they count, each order against the other, and rows against their revision trees. */
export async function contradictionsIn(
  store: Store<DatabaseTables>,
  { signal }: CallOptions,
): Promise<string[]> {
  const found: string[] = [];
  const note = (contradiction: string): void => {
    if (found.length < CONTRADICTIONS_MAX) found.push(contradiction);
  };
  const counts = { live: 0, deleted: 0, last: 0 };
  for await (const row of rows(store, undefined, signal)) {
    counts[row.deleted ? 'deleted' : 'live']++;
    if (row.seq > counts.last) counts.last = row.seq;
    const { rev, deleted } = winner(treeOf(row));
    if (rev !== row.rev || deleted !== (row.deleted === true))
      note(`The winner of ${JSON.stringify(row.id)} is ${rev} by its tree, and ${row.rev} by its row`);
  }
  const [infos] = await store.read(INFO, { signal });
  // Whoever made the log was stopped before it wrote anything.
  if (infos[0] === undefined && counts.live + counts.deleted === 0) return found;
  const info = infoOf(infos);
  const compare = (what: string, said: number, real: number): void => {
    if (said !== real) note(`${what} is ${said}, and there are ${real}`);
  };
  compare('doc_count', info.doc_count, counts.live);
  compare('doc_del_count', info.doc_del_count, counts.deleted);
  if (info.update_seq < counts.last)
    note(`update_seq is ${info.update_seq}, and there is a change ${counts.last}`);
  let [changes, before] = [0, 0];
  for await (const { id, seq } of rows(store, 'seq', signal)) {
    changes++;
    if (seq <= before)
      note(`The change of ${JSON.stringify(id)} is listed after change ${before}, and is ${seq}`);
    before = seq;
  }
  compare('The number of changes', changes, counts.live + counts.deleted);
  return found;
}

/** All documents, by id with what their trees are made of, or by seq. */
async function* rows(
  store: Store<DatabaseTables>,
  by: 'seq' | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<DocRow> {
  for (let range = {}; ; ) {
    const query =
      by === undefined
        ? ({ from: 'docs', range, limit: BATCH, texts: TREE_TEXTS } as const)
        : ({ from: 'docs', by, range, limit: BATCH, texts: false } as const);
    const [some] = await store.read([query], { signal });
    yield* some;
    const last = some.at(-1);
    if (last === undefined || some.length < BATCH) return;
    range = { gt: by === undefined ? last.id : last.seq };
  }
}
