/**
 * The tables of a database. New tables are added at the end, and new fields at the end of theirs; orders stay as they are.
 * A stored database whose tables are a prefix of these opens as it is; one that has more is refused, because the next
 * checkpoint would drop them. So the meaning of a row changes only by a new field, never within an old one.
 */
import type { Schema, Text } from './store';

/** One document: its winner, and its tree if that has more than the winner. */
export interface DocRow {
  readonly id: string;
  /** The seq of the last change of this document. */
  readonly seq: number;
  /** The winner. */
  readonly rev: string;
  /** The winner is a tombstone. */
  readonly deleted?: true;
  /** The packed revision tree (`packTree`), without what `tip` adds to it; absent while a tip and the winner are all there is. */
  readonly tree?: Text;
  /** Ancestors of the winner made since the tree was packed: see tip.ts. */
  readonly tip?: Text;
  /** JSON of the winner without `_id _rev _deleted`. Absent means `{}`: as a leaf it cannot have been compacted away (I4). */
  readonly body?: Text;
}

/** The body of a revision that is not the winner: losing leaves, and past revisions until compaction. Never changed, only deleted. */
export interface BodyRow {
  readonly id: string;
  readonly rev: string;
  readonly deleted?: true;
  readonly body?: Text;
}

/** The JSON of a row's body, read with the row. */
export const storedBody = ({ body }: Pick<BodyRow, 'body'>): string => (body as string | undefined) ?? '{}';

/** A `_local/` document. `id` without the prefix; `rev` is `0-n`. */
export interface LocalRow {
  readonly id: string;
  readonly rev: string;
  readonly body: Text;
}

/** The one row `info`: counters decided in the same commit as what they count (I1, I2). */
export interface InfoRow {
  readonly name: 'info';
  readonly uuid: string;
  readonly update_seq: number;
  readonly doc_count: number;
  readonly doc_del_count: number;
  readonly purge_seq: number;
}

/** How the `view` of an index begins whose rows are still being removed. */
export const DROPPED = 'dropped:';

/**
 * The progress of one index. `view` is the hash of all that determines its rows, or begins with {@link DROPPED}. Whoever changes rows of
 * an index changes this row in the same commit.
 */
export interface ViewStateRow {
  readonly view: string;
  /** Names the rows of `index` and `reductions`; new whenever the view is made anew. */
  readonly tag: string;
  /** The seq up to which changes were mapped. */
  readonly seq: number;
  /** `update_seq` when the index was made: a change up to it cannot have rows from an earlier change of the same document. */
  readonly since: number;
  /** Rows in the index. */
  readonly rows: number;
  /** How often rows were written or removed: equal versions mean equal rows. */
  readonly version: number;
  /** Documents on which the map threw; one counts each time. */
  readonly threw?: number;
  /** There may be rows in `reductions`. */
  readonly reduced?: true;
}

/** One row that a map emitted. */
export interface IndexEntry {
  readonly tag: string;
  /** `toKey` of the emitted key. */
  readonly key: string;
  readonly id: string;
  /** Numbers the rows of one document in order: 0, 1, … */
  readonly n: number;
  /** JSON of the value, if it is short; `null` is left out. */
  readonly value?: string | undefined;
  /** The same if it is long. */
  readonly long?: Text;
}

/** Reduced values of a run of neighbours in `index`, kept until one of them changes. Identified by the position at which it begins. */
export interface ReductionRow {
  readonly tag: string;
  readonly key: string;
  readonly id: string;
  readonly n: number;
  /** The position after the run. */
  readonly end_key: string;
  readonly end_id: string;
  readonly end_n: number;
  /** Key of the run's last row. */
  readonly last: string;
  /** JSON: reducer → value. */
  readonly values: Text;
}

/** Content of attachments: one row for each content, whoever refers to it. */
export interface BlobRow {
  /** The digest of the stored bytes, followed by `;gzip` if they are the content's gzip. */
  readonly blob: string;
  /** Where the bytes lie (`Store.blobs`). */
  readonly place: string;
  /** Number of bytes there. */
  readonly size: number;
  /** Number of bytes of the content, if the stored ones are encoded. */
  readonly length?: number;
}

/** An available revision has an attachment with this content. Rows, not counts: adding or deleting one twice changes nothing. */
export interface BlobRefRow {
  readonly blob: string;
  readonly id: string;
  readonly rev: string;
}

export type DatabaseTables = {
  docs: DocRow;
  bodies: BodyRow;
  local: LocalRow;
  info: InfoRow;
  views: ViewStateRow;
  index: IndexEntry;
  reductions: ReductionRow;
  blobs: BlobRow;
  blobrefs: BlobRefRow;
};

export const schema = {
  docs: {
    key: 'id',
    fields: ['id', 'seq', 'rev', 'deleted', 'tree', 'body', 'tip'],
    orders: { seq: 'seq' },
    // What is read most often comes last, since that is what is read ahead.
    texts: ['tree', 'tip', 'body'],
  },
  bodies: { key: ['id', 'rev'], fields: ['id', 'rev', 'deleted', 'body'], texts: ['body'] },
  local: { key: 'id', fields: ['id', 'rev', 'body'], texts: ['body'] },
  info: { key: 'name', fields: ['name', 'uuid', 'update_seq', 'doc_count', 'doc_del_count', 'purge_seq'] },
  views: { key: 'view', fields: ['view', 'tag', 'seq', 'since', 'rows', 'version', 'threw', 'reduced'] },
  index: {
    key: ['tag', 'key', 'id', 'n'],
    fields: ['tag', 'key', 'id', 'n', 'value', 'long'],
    orders: { doc: ['id', 'tag', 'n'] },
    texts: ['long'],
  },
  reductions: {
    key: ['tag', 'key', 'id', 'n'],
    fields: ['tag', 'key', 'id', 'n', 'end_key', 'end_id', 'end_n', 'last', 'values'],
    texts: ['values'],
  },
  blobs: { key: 'blob', fields: ['blob', 'place', 'size', 'length'] },
  blobrefs: {
    key: ['blob', 'id', 'rev'],
    fields: ['blob', 'id', 'rev'],
    orders: { doc: ['id', 'rev', 'blob'] },
  },
} as const satisfies Schema;
