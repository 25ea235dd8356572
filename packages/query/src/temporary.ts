/**
 * Views that are asked once: every document is mapped, the rows stay in memory, nothing is stored.
 *
 * Documents are read in batches by seq, until a batch ends at the latest one. A document that changes meanwhile comes again with a
 * higher seq, and its earlier rows then count no more.
 */
import {
  type CallOptions,
  type DatabaseError,
  type DatabaseTables,
  type IndexEntry,
  isDesignId,
  type Store,
} from '@settledb/core';
import type { IndexDefinition } from './index-reader';
import { DOC_TEXTS, docOf, Mapper } from './map';
import { Slices } from './slices';
import { mapError } from './updater';

/** Documents read at a time. */
const BATCH_DOCS = 500;

export interface MappedRows {
  /** Unordered. */
  readonly rows: readonly IndexEntry[];
  /** Rows of all documents, also those that are not wanted. */
  readonly total: number;
  /** What the rows are those of. */
  readonly seq: number;
}

interface Row extends IndexEntry {
  readonly seq: number;
}

/** @param wanted which rows to keep. @param failed is told of documents on which the map threw */
export async function mapAll(
  store: Store<DatabaseTables>,
  index: IndexDefinition,
  wanted: (row: { key: string; id: string }) => boolean,
  failed: (error: DatabaseError) => void,
  { signal }: CallOptions,
): Promise<MappedRows> {
  const mapper = new Mapper(index.map);
  const slices = new Slices();
  const rows: Row[] = [];
  const totals: [id: string, seq: number, count: number][] = [];
  const latest = new Map<string, number>();
  let began: number | undefined;
  let purged: number | undefined;
  for (let since = 0; ; ) {
    const queries = [
      { from: 'info', keys: ['info'] },
      { from: 'docs', by: 'seq', range: { gt: since }, limit: BATCH_DOCS, texts: DOC_TEXTS },
    ] as const;
    const [[info], docs] = store.readNow(queries) ?? (await store.read(queries, { signal }));
    began ??= info!.update_seq; // Opening wrote the row.
    purged ??= info!.purge_seq;
    for (const doc of docs) {
      if (doc.seq > began) latest.set(doc.id, doc.seq);
      if (doc.deleted || isDesignId(doc.id)) continue;
      const { id, seq } = doc;
      try {
        const emitted = mapper.run(docOf(doc));
        totals.push([id, seq, emitted.length]);
        for (const [n, { key, value }] of emitted.entries()) {
          const row = { tag: '', seq, key, id, n, ...(value === undefined ? {} : { value }) };
          if (wanted(row)) rows.push(row);
        }
      } catch (cause) {
        failed(mapError(index, id, cause));
      }
      const wait = slices.pause();
      if (wait !== undefined) {
        await wait;
        signal?.throwIfAborted();
      }
    }
    since = docs.at(-1)?.seq ?? since;
    if (docs.length === BATCH_DOCS) continue;
    const gone = info!.purge_seq === purged ? NONE : await missing(store, totals);
    const counts = (id: string, seq: number): boolean => (latest.get(id) ?? seq) === seq && !gone.has(id);
    const total = totals.reduce((sum, [id, seq, count]) => (counts(id, seq) ? sum + count : sum), 0);
    const isPlain = latest.size === 0 && gone.size === 0;
    return {
      rows: isPlain ? rows : rows.filter((row) => counts(row.id, row.seq)),
      total,
      seq: info!.update_seq,
    };
  }
}

const NONE: ReadonlySet<string> = new Set();

/** Documents that were purged while others were mapped. */
async function missing(
  store: Store<DatabaseTables>,
  mapped: readonly (readonly [id: string, ...unknown[]])[],
): Promise<ReadonlySet<string>> {
  const ids = [...new Set(mapped.map(([id]) => id))];
  const [found] = await store.read([{ from: 'docs', keys: ids }]);
  return new Set(ids.filter((_, i) => found[i] === undefined));
}
