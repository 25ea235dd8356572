/** Rows of indexes against what the index says of them, the order by documents, and the documents. */
import {
  type DatabaseTables,
  type DocRow,
  DROPPED,
  INFO,
  type IndexEntry,
  type Key,
  type Store,
  type ViewStateRow,
} from '@settledb/core';
import { batches } from './batches';
import type { Note } from './contradictions';

interface Index {
  /** Absent: rows are there, and no index that they belong to. */
  readonly state: ViewStateRow | undefined;
  byKey: number;
  byDoc: number;
}

export async function indexesIn(
  store: Store<DatabaseTables>,
  note: Note,
  signal: AbortSignal | undefined,
): Promise<void> {
  const [states] = await store.read([{ from: 'views', range: {} }], { signal });
  const [infos] = await store.read(INFO, { signal });
  const last = infos[0]?.update_seq ?? 0;
  for (const { view, seq } of states)
    if (seq > last) note(`The index ${view} knows change ${seq}, and update_seq is ${last}`);
  const indexes = new Map<string, Index>(states.map((state) => [state.tag, { state, byKey: 0, byDoc: 0 }]));
  const indexOf = (tag: string): Index => {
    const index = indexes.get(tag) ?? { state: undefined, byKey: 0, byDoc: 0 };
    indexes.set(tag, index);
    return index;
  };
  const byKey = ({ tag, key, id, n }: IndexEntry): Key => [tag, key, id, n];
  for await (const rows of batches(store, { from: 'index' }, byKey, signal)) {
    const ids = [...new Set(rows.map(({ id }) => id))];
    const [docs] = await store.read([{ from: 'docs', keys: ids }], { signal });
    const byId = new Map(ids.map((id, i) => [id, docs[i]]));
    for (const { tag, id } of rows) {
      const index = indexOf(tag);
      index.byKey++;
      const { state } = index;
      if (state !== undefined && !isDropped(state) && !mayList(state, byId.get(id)))
        note(`The index ${state.view} lists ${JSON.stringify(id)}, which is not there`);
    }
  }
  const byDoc = ({ id, tag, n }: IndexEntry): Key => [id, tag, n];
  for await (const rows of batches(store, { from: 'index', by: 'doc' }, byDoc, signal))
    for (const { tag } of rows) indexOf(tag).byDoc++;
  for (const index of indexes.values()) compare(index, note);
}

/** What is left of its rows need not agree with anything. */
const isDropped = ({ view }: ViewStateRow): boolean => view.startsWith(DROPPED);

/** A document that was deleted after what the index has seen is taken out of it at its next update; what was purged, at once. */
const mayList = ({ seq }: ViewStateRow, doc: DocRow | undefined): boolean =>
  doc !== undefined && (doc.deleted !== true || doc.seq > seq);

function compare({ state, byKey, byDoc }: Index, note: Note): void {
  if (state === undefined) note(`Rows that belong to no index: ${Math.max(byKey, byDoc)}`);
  else if (!isDropped(state)) {
    const name = `The index ${state.view}`;
    if (state.rows !== byKey) note(`${name} says that it has ${state.rows} rows, and has ${byKey}`);
    if (byDoc !== byKey) note(`${name} has ${byKey} rows by key, and ${byDoc} by document`);
  }
}
