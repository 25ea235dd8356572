/**
 * The tables of a database. Later issues add `blobs`, `blobrefs`, `views` and `index`; a stored database whose tables are
 * a prefix of these opens as it is.
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
  /** The packed revision tree (`packTree`); absent while the tree is the one revision `rev`. */
  readonly tree?: Text;
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

export type DatabaseTables = { docs: DocRow; bodies: BodyRow; local: LocalRow; info: InfoRow };

export const schema = {
  docs: {
    key: 'id',
    fields: ['id', 'seq', 'rev', 'deleted', 'tree', 'body'],
    orders: { seq: 'seq' },
    texts: ['tree', 'body'],
  },
  bodies: { key: ['id', 'rev'], fields: ['id', 'rev', 'deleted', 'body'], texts: ['body'] },
  local: { key: 'id', fields: ['id', 'rev', 'body'], texts: ['body'] },
  info: { key: 'name', fields: ['name', 'uuid', 'update_seq', 'doc_count', 'doc_del_count', 'purge_seq'] },
} as const satisfies Schema;
