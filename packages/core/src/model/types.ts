/**
 * What users and other databases see: documents, and the rows of every answer. The names are CouchDB's.
 */

/** A revision id, `<generation>-<hash>`. Our own hashes are 32 lower-case hex digits; hashes made elsewhere are accepted as they are. */
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

/** What every read says about an attachment. */
export interface AttachmentInfo {
  readonly content_type: string;
  /** `md5-` and the base64 of the md5 of the bytes as stored. */
  readonly digest: string;
  /** The generation at which the content last changed. */
  readonly revpos: number;
  /** How the stored bytes are encoded; only with `att_encoding_info`, and only if they are encoded. */
  readonly encoding?: AttachmentEncoding;
  /** How many bytes are stored; given together with `encoding`. */
  readonly encoded_length?: number;
}

/** How stored bytes may be encoded. Only attachments that CouchDB sent encoded are. */
export type AttachmentEncoding = 'gzip';

/** An attachment without its data. */
export interface Stub extends AttachmentInfo {
  /** Bytes of the content, decoded. */
  readonly length: number;
  readonly stub: true;
}

/** Bytes as `binary: true` answers them: a `Blob`; in Node a `Buffer` that has the content type as its `type`. */
export type BinaryData = Blob | (Uint8Array & { readonly type: string });

/** An attachment with its data, as `attachments: true` answers it. */
export interface FullAttachment extends AttachmentInfo {
  /** Base64, or with `binary` the bytes. Never encoded. */
  readonly data: string | BinaryData;
}

/**
 * Content to be stored. A string is base64. A stream (also one of Node) is read once, from where it is; a function is called
 * for one when its turn comes.
 *
 * The data of one call are read one after another: document by document as given, within one in the order of the names in
 * `_attachments`. So the parts of one incoming stream can be handed on as streams without any being kept in memory. Only of data that
 * are `encoded` a remote database may call a function after others were read, and again if the request has to be sent again.
 */
export type AttachmentData =
  | string
  | Blob
  | ArrayBuffer
  | Uint8Array
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | (() => ReadableStream<Uint8Array> | Promise<ReadableStream<Uint8Array>>);

/** An attachment with data, as a user or a replicator writes it. Any other fields are dropped. */
export interface NewAttachment {
  /** Default: the data's own type (`Blob`), or `application/octet-stream`. */
  readonly content_type?: string | undefined;
  readonly data: AttachmentData;
  /** Used with `new_edits: false` only (then 0 when absent); otherwise the database decides it. */
  readonly revpos?: number | undefined;
  /**
   * `data` (no string) are the bytes as another database stores them, as `openAttachment(…, { encoded: true })` reads them:
   * encoded as `encoding` says, and kept so, with their digest. Default: the content itself; `encoding`, `digest` and `length` then mean
   * nothing, for what a document was read with is not to be believed when it is written.
   */
  readonly encoded?: boolean | undefined;
  /** With `encoded`. */
  readonly encoding?: AttachmentEncoding | undefined;
  /** With `encoded`: if the bytes do not match it, the document is refused with 400 `content_md5_mismatch`. */
  readonly digest?: string | undefined;
  /** With `encoded`: bytes of the content, decoded. If the length differs, the document is refused with 400 `bad_request`. */
  readonly length?: number | undefined;
}

/**
 * An attachment that is stored already: as the document had it when it was read, or content that any document has, by its
 * digest. Without `digest` it is that of the revision edited. 412 `missing_stub` when there is none.
 */
export interface StubAttachment {
  readonly stub: true;
  readonly digest?: string | undefined;
  readonly content_type?: string | undefined;
  readonly revpos?: number | undefined;
  readonly length?: number | undefined;
}

/** Attachments by name, as a user writes them. A document read with any options can be written again as it is. */
export type AttachmentsInput = Record<string, NewAttachment | StubAttachment>;

/** One attachment, opened for reading. Nothing is read before `stream` is. */
export interface OpenedAttachment {
  readonly content_type: string;
  readonly digest: string;
  readonly revpos: number;
  /** Bytes of the whole content, decoded. */
  readonly length: number;
  /** How the bytes of `stream` are encoded: only if the option `encoded` was given and they are encoded. */
  readonly encoding?: AttachmentEncoding;
  /** How many bytes are stored, if they are encoded, whether `encoded` was asked for or not: then ranges are of no use. */
  readonly encoded_length?: number;
  /** Bytes that `stream` will give, if all goes well. */
  readonly size: number;
  /**
   * The bytes, in chunks of at most 1 MB, read as they are pulled. Fails with `corrupt` at a chunk that is not what was stored.
   * Cancel it when it is not read to its end.
   */
  readonly stream: ReadableStream<Uint8Array>;
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
  /** Any non-empty string. `_design/…` and `_local/…` are the database's own kinds. */
  _id: string;
  /** The revision that was read, or the one that an edit is made from. */
  _rev?: Rev;
  /** A tombstone: what a removed document leaves, so that the removal replicates. */
  _deleted?: boolean;
  /** By name: stubs, unless data was asked for. */
  _attachments?: Record<string, Stub | FullAttachment>;
  /** With `revs`: the ancestry. */
  _revisions?: Revisions;
  /** With `revs_info`: the ancestry, and which revisions can still be read. */
  _revs_info?: RevInfo[];
  /** With `conflicts`, if there are any: leaves that lost and are not deleted. */
  _conflicts?: Rev[];
  /** With `deleted_conflicts`, if there are any: deleted leaves. */
  _deleted_conflicts?: Rev[];
  /** With `local_seq`: the position of its last change. */
  _local_seq?: Seq;
}

/** The fields of {@link DocMeta} as a user writes them. What is `undefined` is as good as left out. */
// One type with a name, so that the compiler's messages, which list what an intersection consists of, stay readable.
export type DocMetaInput = {
  [field in keyof DocMeta]?: (field extends '_attachments' ? AttachmentsInput : DocMeta[field]) | undefined;
};

/** What a user writes: any JSON object, with those fields of {@link DocMeta} that are needed. */
export type Doc<Content extends object = object> = Content & DocMetaInput;

/** Documents of the database's own kinds have fields of their own, whatever the others look like. */
export type ReservedId = `_design/${string}` | `_local/${string}`;
export type ReservedDoc<Id extends ReservedId = ReservedId> = {
  _id: Id;
  _rev?: Rev | undefined;
  [field: string]: unknown;
};
/** An edit that deletes. */
export type Tombstone = { _id: string; _rev?: Rev | undefined; _deleted: true };

/** What `bulkDocs` takes, for each document. */
export type BulkDoc<Content extends object> = Doc<Content> | OtherEdit;
/** What `put` takes. */
export type PutDoc<Content extends object> = (Doc<Content> & { _id: string }) | OtherEdit;
type OtherEdit =
  | Tombstone
  | ReservedDoc
  // It is one already. But TypeScript tells members of a union apart by `_id` only where that of one is a single pattern, and else
  // would let a note have any field, as a reserved document may.
  | ReservedDoc<`_design/${string}`>;

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

/** A row of `allDocs` with `include_docs` and without `keys`. */
export interface FullRow<Content extends object = object> extends AllDocsRow<Content> {
  readonly doc: ExistingDoc<Content>;
}

/** A key in `keys` that no document has. */
export interface MissingRow {
  readonly key: string;
  readonly error: 'not_found';
}

/** @typeParam Row what `rows` hold: rows for missing documents too, if `keys` were given */
export interface AllDocsResult<Content extends object = object, Row = AllDocsRow<Content> | MissingRow> {
  /** Live documents in the database, whatever was asked for. */
  readonly total_rows: number;
  /** How many rows come before the first one: the value of `skip`. */
  readonly offset: number;
  readonly rows: readonly Row[];
  readonly update_seq?: Seq;
}

export interface Change<Content extends object = object> {
  readonly id: string;
  /** `null` where the source left it out because of `seq_interval`. */
  readonly seq: Seq | null;
  readonly changes: readonly { readonly rev: Rev }[];
  /** The document was deleted: its winner is a tombstone. */
  readonly deleted?: true;
  /** With `include_docs`. Of what was deleted the tombstone, which mostly has no content, though the type promises it: look at `deleted` first. */
  readonly doc?: ExistingDoc<Content> | null;
}

export interface ChangesResult<Content extends object = object> {
  readonly results: readonly Change<Content>[];
  readonly last_seq: Seq;
  /** With a `limit`: how many changes come after `last_seq`, including those that a filter would leave out. Servers may always give it. */
  readonly pending?: number;
}

/** How a live or cancelled feed ends. */
export interface Cancelled {
  readonly status: 'cancelled';
}

export interface BulkGetRequest {
  readonly docs: readonly {
    readonly id: string;
    readonly rev?: Rev | undefined;
    readonly atts_since?: readonly Rev[] | undefined;
  }[];
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
  /** Live documents, whose winner is not deleted. Design documents are counted, `_local` documents are not. */
  readonly doc_count: number;
  /** Documents whose winner is deleted. */
  readonly doc_del_count?: number;
  /** 0 when nothing was ever written. */
  readonly update_seq: Seq;
  readonly adapter: string;
  readonly auto_compaction: boolean;
  readonly [more: string]: unknown;
}
