/**
 * Views that are queried once: every document is mapped, the rows stay in memory, nothing is stored.
 *
 * Documents are read by id, which is how they are stored, in batches; then, by seq, those that changed since the first batch. A
 * document that comes again has a higher seq, and its earlier rows then no longer count.
 */
import {
  type CallOptions,
  type DatabaseError,
  type DatabaseTables,
  type DocRow,
  INFO_QUERY,
  type IndexEntry,
  type InfoRow,
  isDesignId,
  type Range,
  ReadSize,
  type Store,
} from '@settledb/core';
import type { IndexDefinition } from './index-reader';
import { DOC_TEXTS, type Emitted, Mapper, type RowFilter } from './map';
import { Slices } from './slices';
import { mapError } from './source';

/** Most documents read at a time. */
const BATCH_DOCS = 500;

interface MappedRows {
  /** Unordered. */
  readonly rows: readonly MappedRow[];
  /** Number of rows of all documents, even of those not wanted. */
  readonly total: number;
  /** The seq of the state that the rows are of. */
  readonly seq: number;
  /** Nothing changed meanwhile: no row that `wanted` saw was withdrawn. */
  readonly isPlain: boolean;
}

/** A row of an index that is not stored. */
interface MappedRow extends IndexEntry {
  readonly seq: number;
}

/** @param wanted which rows to keep. @param failed is called with documents on which the map threw */
export async function mapAll(
  store: Store<DatabaseTables>,
  index: IndexDefinition,
  wanted: RowFilter,
  failed: (error: DatabaseError) => void,
  { signal }: CallOptions,
): Promise<MappedRows> {
  const mapper = new Mapper(index.map, wanted);
  const slices = new Slices();
  const rows: MappedRow[] = [];
  const totals: [id: string, seq: number, count: number][] = [];
  /** The latest seqs of documents that may have been read more than once. */
  const latest = new Map<string, number>();
  const map = (doc: DocRow): void => {
    if (doc.deleted || isDesignId(doc.id)) return;
    const { id, seq } = doc;
    const before = mapper.emitted;
    try {
      const emitted = mapper.run(mapper.docOf(doc));
      totals.push([id, seq, mapper.emitted - before]);
      for (let n = 0; n < emitted.length; n++) rows.push({ ...(emitted[n] as Emitted), tag: '', seq, id, n });
    } catch (cause) {
      failed(mapError(index, id, cause));
    }
  };
  let began: InfoRow | undefined;
  let now: InfoRow | undefined;
  let byId: string | undefined = '';
  const size = new ReadSize(BATCH_DOCS);
  for (let since = 0; ; ) {
    const limit = size.next;
    const range: Range = byId === undefined ? { gt: since } : { gt: byId };
    const order = byId === undefined ? { by: 'seq' } : {};
    const [[info], docs] = await readBatch(store, { range, ...order, limit }, signal);
    size.saw(docs.length, docs);
    now = info;
    began ??= info;
    for (const doc of docs) {
      if (byId === undefined) latest.set(doc.id, doc.seq);
      // Documents that changed since the beginning come later.
      if (byId === undefined || doc.seq <= began.update_seq) map(doc);
      const wait = slices.pause();
      if (wait === undefined) continue;
      await wait;
      signal?.throwIfAborted();
    }
    const last = docs.at(-1);
    if (byId !== undefined) {
      byId = docs.length < limit ? undefined : last?.id;
      since = began.update_seq;
      if (byId !== undefined || now.update_seq > since) continue;
    } else since = last?.seq ?? since;
    if (docs.length < limit) break;
  }
  const gone = now.purge_seq === began.purge_seq ? NONE : await missing(store, totals);
  const counts = (id: string, seq: number): boolean => (latest.get(id) ?? seq) === seq && !gone.has(id);
  const isPlain = latest.size === 0 && gone.size === 0;
  return {
    rows: isPlain ? rows : rows.filter((row) => counts(row.id, row.seq)),
    total: totals.reduce((sum, [id, seq, count]) => (isPlain || counts(id, seq) ? sum + count : sum), 0),
    seq: now.update_seq,
    isPlain,
  };
}

async function readBatch(
  store: Store<DatabaseTables>,
  from: { readonly range: Range; readonly by?: string; readonly limit: number },
  signal: AbortSignal | undefined,
): Promise<[[InfoRow], DocRow[]]> {
  const queries = [INFO_QUERY, { from: 'docs', ...from, texts: DOC_TEXTS }] as const;
  const found = store.readNow(queries) ?? (await store.read(queries, { signal }));
  return found as [[InfoRow], DocRow[]]; // Opening wrote the row of counters.
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
