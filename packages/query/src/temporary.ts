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
  const mapBatch = async ({ docs, info, isAgain }: Batch): Promise<void> => {
    began ??= info;
    now = info;
    for (const doc of docs) {
      if (isAgain) latest.set(doc.id, doc.seq);
      // Documents that changed since the beginning come later.
      if (isAgain || doc.seq <= began.update_seq) map(doc);
      const wait = slices.pause();
      if (wait === undefined) continue;
      await wait;
      signal?.throwIfAborted();
    }
  };
  for await (const batch of batches(store, signal)) await mapBatch(batch);
  let gone = NONE;
  // There is always a first batch.
  if (now!.purge_seq !== began!.purge_seq) {
    const end = await endOf(store, totals, now!, signal);
    gone = end.gone;
    await mapBatch(end);
  }
  const counts = (id: string, seq: number): boolean => (latest.get(id) ?? seq) === seq && !gone.has(id);
  const isPlain = latest.size === 0 && gone.size === 0;
  return {
    rows: isPlain ? rows : rows.filter((row) => counts(row.id, row.seq)),
    total: totals.reduce((sum, [id, seq, count]) => (isPlain || counts(id, seq) ? sum + count : sum), 0),
    seq: now!.update_seq,
    isPlain,
  };
}

interface Batch {
  readonly docs: readonly DocRow[];
  /** The counters when they were read. */
  readonly info: InfoRow;
  /** These changed since the first batch: they may have been in one before. */
  readonly isAgain: boolean;
  readonly isLast: boolean;
}

/** All documents, by id; then, by seq, those that changed meanwhile. */
async function* batches(
  store: Store<DatabaseTables>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Batch, void, void> {
  const size = new ReadSize(BATCH_DOCS);
  const read = async (range: Range, isAgain = false): Promise<Batch> => {
    const limit = size.next;
    const by = isAgain ? { by: 'seq' } : {};
    const queries = [INFO_QUERY, { from: 'docs', ...by, range, limit, texts: DOC_TEXTS }] as const;
    const found = store.readNow(queries) ?? (await store.read(queries, { signal }));
    const [[info], docs] = found as [[InfoRow], DocRow[]]; // Opening wrote the row of counters.
    size.saw(docs.length, docs);
    return { docs, info, isAgain, isLast: docs.length < limit };
  };
  let batch = await read({ gt: '' });
  let since = batch.info.update_seq;
  yield batch;
  while (!batch.isLast) {
    batch = await read({ gt: batch.docs.at(-1)!.id }); // It is full.
    yield batch;
  }
  if (batch.info.update_seq === since) return;
  do {
    batch = await read({ gt: since }, true);
    yield batch;
    since = batch.docs.at(-1)?.seq ?? since;
  } while (!batch.isLast);
}

const NONE: ReadonlySet<string> = new Set();

/**
 * What was purged while others were mapped, which no change tells, and what has changed since the last batch: all of one state.
 * @param last the counters of that batch
 */
async function endOf(
  store: Store<DatabaseTables>,
  mapped: readonly (readonly [id: string, ...unknown[]])[],
  last: InfoRow,
  signal: AbortSignal | undefined,
): Promise<Batch & { readonly gone: ReadonlySet<string> }> {
  const ids = [...new Set(mapped.map(([id]) => id))];
  const changed = { from: 'docs', by: 'seq', range: { gt: last.update_seq }, texts: DOC_TEXTS } as const;
  const queries = [INFO_QUERY, changed, { from: 'docs', keys: ids }] as const;
  const [[info], docs, found] = await store.read(queries, { signal });
  const gone = new Set(ids.filter((_, i) => found[i] === undefined));
  return { docs, info: info!, isAgain: true, isLast: true, gone };
}
