/**
 * The tables of a database. Later ones are added at the end, and later fields at the end of theirs; orders stay as they are.
 * A stored database whose tables are a prefix of these opens as it is; one that has more is refused, because the next
 * checkpoint would drop it. So what a row means changes with a new field, never in an old one.
 */
import type { Schema, Text } from './store';

/** One document: its winner, and its tree when there is more to it than that. */
export interface DocRow {
  readonly id: string;
  /** The seq of the last change of this document. */
  readonly seq: number;
  /** The winner. */
  readonly rev: string;
  /** The winner is a tombstone. */
  readonly deleted?: true;
  /** The packed revision tree (`packTree`), but for what `tip` adds to it; absent while it is nothing but a tip and the winner. */
  readonly tree?: Text;
  /** Revisions that the winner descends from, made since the tree was packed: see tip.ts. */
  readonly tip?: Text;
  /** JSON of the winner without `_id _rev _deleted`. Absent: `{}`, or compacted away is impossible for a leaf (I4). */
  readonly body?: Text;
}

/** The body of a revision that is not the winner: losing leaves, and past revisions until compaction. Never changes, only goes. */
export interface BodyRow {
  readonly id: string;
  readonly rev: string;
  readonly deleted?: true;
  readonly body?: Text;
}

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

/**
 * How far one index is. `view` is the hash of all that decides its rows; `dropped:…` stands for one whose rows are still
 * being removed. Whoever changes rows of an index changes this row in the same commit.
 */
export interface ViewStateRow {
  readonly view: string;
  /** Names the rows of `index` and `reductions`; made anew when the view is. */
  readonly tag: string;
  /** The seq up to which changes were mapped. */
  readonly seq: number;
  /** `update_seq` when it was made: a change up to it cannot have rows of an earlier one of the same document. */
  readonly since: number;
  /** Rows in the index. */
  readonly rows: number;
  /** How often rows were written or removed: two equal ones are one state. */
  readonly version: number;
  /** Documents on which the map threw, counted each time. */
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
  /** Rows of one document in their order: 0, 1, … */
  readonly n: number;
  /** JSON of the value, when it is short; `null` is left out. */
  readonly value?: string | undefined;
  /** The same when it is long. */
  readonly long?: Text;
}

/** Reduced values of a run of neighbours in `index`, kept until one of them changes. Named by the position it begins at. */
export interface ReductionRow {
  readonly tag: string;
  readonly key: string;
  readonly id: string;
  readonly n: number;
  /** The position after the run. */
  readonly end_key: string;
  readonly end_id: string;
  readonly end_n: number;
  /** Key of its last row. */
  readonly last: string;
  /** JSON: reducer → value. */
  readonly values: Text;
}

/** Content of attachments: once for each content, whoever refers to it. */
export interface BlobRow {
  /** The digest of the stored bytes; where they are gzip of the content, with `;gzip` after it. */
  readonly blob: string;
  /** Where the bytes lie (`Store.blobs`). */
  readonly place: string;
  /** Bytes there. */
  readonly size: number;
  /** Bytes of the content, where those stored are encoded. */
  readonly length?: number;
}

/** An available revision has an attachment of this content. Rows, not counts: putting and deleting one again changes nothing. */
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
    // What is read most comes last: it is what is read ahead.
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
