/** What in a database does not fit together: what no damaged byte explains, and no reader would notice. */
import {
  type CallOptions,
  type DatabaseTables,
  INFO,
  infoOf,
  type Store,
  TREE_TEXTS,
  treeOf,
  winner,
} from '@settledb/core';
import { batches } from './batches';
import { indexesIn } from './contradictions-of-indexes';
import { referencesIn } from './contradictions-of-references';

/** Named at most; one fault may show in every document. */
const CONTRADICTIONS_MAX = 100;

/** Takes a contradiction, in words. */
export type Note = (contradiction: string) => void;

/**
 * Counters against the rows they count, each order against the other, rows against their revision trees, attachments against the
 * references that keep their content, and indexes against the documents.
 */
export async function contradictionsIn(
  store: Store<DatabaseTables>,
  { signal }: CallOptions,
): Promise<string[]> {
  const found: string[] = [];
  const note: Note = (contradiction) => {
    if (found.length < CONTRADICTIONS_MAX) found.push(contradiction);
  };
  await documentsIn(store, note, signal);
  await referencesIn(store, note, signal);
  await indexesIn(store, note, signal);
  return found;
}

async function documentsIn(
  store: Store<DatabaseTables>,
  note: Note,
  signal: AbortSignal | undefined,
): Promise<void> {
  const counts = { live: 0, deleted: 0, last: 0 };
  const byId = { from: 'docs', texts: TREE_TEXTS } as const;
  for await (const rows of batches(store, byId, ({ id }) => id, signal)) {
    for (const row of rows) {
      counts[row.deleted ? 'deleted' : 'live']++;
      if (row.seq > counts.last) counts.last = row.seq;
      const { rev, deleted } = winner(treeOf(row));
      if (rev !== row.rev || deleted !== (row.deleted === true))
        note(`The winner of ${JSON.stringify(row.id)} is ${rev} by its tree, and ${row.rev} by its row`);
    }
  }
  const [infos] = await store.read(INFO, { signal });
  // Whoever made the log was stopped before it wrote anything.
  if (infos[0] === undefined && counts.live + counts.deleted === 0) return;
  const info = infoOf(infos);
  const compare = (what: string, said: number, real: number): void => {
    if (said !== real) note(`${what} is ${said}, and there are ${real}`);
  };
  compare('doc_count', info.doc_count, counts.live);
  compare('doc_del_count', info.doc_del_count, counts.deleted);
  if (info.update_seq < counts.last)
    note(`update_seq is ${info.update_seq}, and there is a change ${counts.last}`);
  let [changes, before] = [0, 0];
  for await (const rows of batches(store, { from: 'docs', by: 'seq' }, ({ seq }) => seq, signal)) {
    for (const { id, seq } of rows) {
      changes++;
      if (seq <= before)
        note(`The change of ${JSON.stringify(id)} is listed after change ${before}, and is ${seq}`);
      before = seq;
    }
  }
  compare('The number of changes', changes, counts.live + counts.deleted);
}
