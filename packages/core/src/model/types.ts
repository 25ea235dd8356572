/**
 * What users and other databases see: documents, and the rows of every answer. The names are CouchDB's.
 */

/** A revision id, `<generation>-<hash>`. Our own hashes are 32 lower-case hex digits; others' are taken as they are. */
export type Rev = string;

/** A position in the changes order. A local database counts 1, 2, 3 …; a remote one's is opaque and may be a string. */
export type Seq = number | string;

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };

/** An attachment without its data. */
export interface Stub {
  readonly content_type: string;
  /** `md5-` and the base64 of the md5 of the bytes as stored. */
  readonly digest: string;
  /** Bytes. */
  readonly length: number;
  /** The generation at which the content last changed. */
  readonly revpos: number;
  readonly stub: true;
}

/** The ancestry of one revision: `ids[0]` is the hash at generation `start`, newest first. */
export interface Revisions {
  readonly start: number;
  readonly ids: readonly string[];
}

export interface RevInfo {
  readonly rev: Rev;
  readonly status: 'available' | 'missing' | 'deleted';
}

/** The fields of a document that belong to the database, all beginning with `_`. */
export interface DocMeta {
  _id: string;
  _rev?: Rev;
  _deleted?: boolean;
  _attachments?: Record<string, unknown>;
  _revisions?: Revisions;
  _revs_info?: RevInfo[];
  _conflicts?: Rev[];
  _deleted_conflicts?: Rev[];
  _local_seq?: Seq;
}

/** What a user writes: any JSON object with the fields of {@link DocMeta} he cares for. */
export type Doc<Content extends object = object> = Content & Partial<DocMeta>;

/** What a user reads: a document that has an id and a revision. */
export type ExistingDoc<Content extends object = object> = Content & DocMeta & { _rev: Rev };

/** The answer to one accepted edit. */
export interface Written {
  readonly ok: true;
  readonly id: string;
  readonly rev: Rev;
}

/** An edit that was not accepted, as a row of a bulk answer: plain data, not an `Error`. */
export interface WriteFailure {
  readonly id: string;
  readonly error: true;
  readonly status: number;
  readonly name: string;
  readonly message: string;
  readonly reason: string;
}

export type BulkDocsRow = Written | WriteFailure;

export interface AllDocsRow<Content extends object = object> {
  readonly id: string;
  readonly key: string;
  readonly value: { readonly rev: Rev; readonly deleted?: true };
  /** With `include_docs`; `null` for a deleted document named in `keys`. */
  readonly doc?: ExistingDoc<Content> | null;
}

/** A key asked for in `keys` that no document has. */
export interface MissingRow {
  readonly key: string;
  readonly error: 'not_found';
}

export interface AllDocsResult<Content extends object = object> {
  /** Live documents in the database, whatever was asked for. */
  readonly total_rows: number;
  /** Rows before the first, as `skip` said; `null` with `keys` over HTTP. */
  readonly offset: number | null;
  readonly rows: readonly (AllDocsRow<Content> | MissingRow)[];
  readonly update_seq?: Seq;
}

export interface Change<Content extends object = object> {
  readonly id: string;
  /** `null` where the source left it out under `seq_interval`. */
  readonly seq: Seq | null;
  readonly changes: readonly { readonly rev: Rev }[];
  readonly deleted?: true;
  readonly doc?: ExistingDoc<Content> | null;
}

export interface ChangesResult<Content extends object = object> {
  readonly results: readonly Change<Content>[];
  readonly last_seq: Seq;
  /** Changes after `last_seq` that the feed has not looked at, where the source knows. */
  readonly pending?: number;
}

/** How a live or cancelled feed ends. */
export interface Cancelled {
  readonly status: 'cancelled';
}

export interface BulkGetRequest {
  readonly docs: readonly { readonly id: string; readonly rev?: Rev; readonly atts_since?: readonly Rev[] }[];
}

export interface BulkGetFailure {
  readonly id: string;
  readonly rev: string;
  readonly error: string;
  readonly reason: string;
}

export interface BulkGetResult<Content extends object = object> {
  readonly results: readonly {
    readonly id: string;
    readonly docs: readonly ({ readonly ok: ExistingDoc<Content> } | { readonly error: BulkGetFailure })[];
  }[];
}

export type OpenRevsRow<Content extends object = object> =
  | { readonly ok: ExistingDoc<Content> }
  | { readonly missing: Rev };

export type RevsDiffResult = Record<string, { missing: Rev[]; possible_ancestors?: Rev[] }>;

export interface DatabaseInfo {
  readonly db_name: string;
  /** Live documents: winner not deleted; `_local` ones not counted, design documents counted. */
  readonly doc_count: number;
  /** Documents whose winner is deleted. */
  readonly doc_del_count?: number;
  /** 0 when nothing was ever written. */
  readonly update_seq: Seq;
  readonly adapter: string;
  readonly auto_compaction: boolean;
  readonly [more: string]: unknown;
}
