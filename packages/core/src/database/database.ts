/**
 * The verbs of the CouchDB protocol as one interface. The local database, the remote one and the worker-hosted one
 * implement it; replication, the server and the facade use it and cannot tell which they hold. Methods, options and
 * answers are PouchDB's (which are CouchDB's), so that a wrapped or hand-made object is a valid peer too. Members of options
 * are not `readonly`, because programs put options together step by step; nothing here writes to them.
 */
import type {
  AllDocsResult,
  AttachmentData,
  BinaryData,
  BulkDoc,
  BulkDocsRow,
  BulkGetRequest,
  BulkGetResult,
  Cancelled,
  Change,
  ChangesResult,
  DatabaseInfo,
  ExistingDoc,
  OpenedAttachment,
  OpenRevsRow,
  Rev,
  RevsDiffResult,
  Seq,
  Written,
} from '../model/types';
import type { CallOptions } from '../store/store';
import type { Feed } from './feed';
import type { Loose } from './queries';

export type { CallOptions } from '../store/store';

/** How attachments of documents are answered: as stubs, unless these options say otherwise. */
export interface AttachmentsOptions {
  /** Attachments come with their data. */
  attachments?: boolean | undefined;
  /** With `attachments`: data as bytes (a `Blob`; in Node a `Buffer`), not base64. */
  binary?: boolean | undefined;
  /** Adds `encoding` and `encoded_length` to attachments that are stored encoded. */
  att_encoding_info?: boolean | undefined;
}

export interface OpenAttachmentOptions extends CallOptions {
  /** The revision whose attachment is read. Default: the winner. */
  rev?: Rev | undefined;
  /** The first byte wanted. Default 0. */
  start?: number | undefined;
  /** Where to end: the byte after the last one wanted. Default, and at most: `length`. */
  end?: number | undefined;
  /** Give the bytes as they are stored; `encoding` then says how they are encoded. Default: decoded. A range counts the bytes that are given. */
  encoded?: boolean | undefined;
}

export interface GetOptions extends CallOptions, AttachmentsOptions {
  /** The revision to read, leaf or not. Default: the winner. */
  rev?: Rev | undefined;
  /** Adds `_revisions`: the ancestry of the revision that is answered. */
  revs?: boolean | undefined;
  /** Adds `_revs_info`: the ancestry, and which revisions are available. */
  revs_info?: boolean | undefined;
  /**
   * `'all'` or a list of revisions: the answer is then a list of `{ ok }` and `{ missing }`. `revs_info`, `conflicts`,
   * `deleted_conflicts` and `local_seq` do not count then, as in CouchDB.
   */
  open_revs?: 'all' | readonly Rev[] | undefined;
  /** Adds `_conflicts` when there are any: live leaves that lose, highest first. */
  conflicts?: boolean | undefined;
  /** Adds `_deleted_conflicts` when there are any: tombstone leaves that lose. */
  deleted_conflicts?: boolean | undefined;
  /** With `rev` or `open_revs`: read the leaf, or leaves, of that branch instead. */
  latest?: boolean | undefined;
  /** Adds `_local_seq`. */
  local_seq?: boolean | undefined;
  /** Data of only those attachments that changed after these revisions, as {@link BulkGetRequest} has it for each document. Not for `_local/` documents. */
  atts_since?: readonly Rev[] | undefined;
}

export interface BulkDocsOptions extends CallOptions {
  /** `false`: store the revisions as given (replication); the answer then lists failures only. Default true. */
  new_edits?: boolean | undefined;
  /** With `new_edits`: an edit of a revision that is not a leaf makes a new branch instead of a conflict. Default false. */
  force?: boolean | undefined;
}

export interface BulkGetOptions extends CallOptions, AttachmentsOptions {
  /** Adds `_revisions`: the ancestry of each revision that is answered. */
  revs?: boolean | undefined;
  /** Of a revision that has been edited since, read the leaf, or leaves, of its branch instead. */
  latest?: boolean | undefined;
}

export interface AllDocsOptions extends CallOptions, AttachmentsOptions {
  /** Adds the document of each row, in `doc`. */
  include_docs?: boolean | undefined;
  /** With `include_docs`: losing leaves, in `_conflicts` of each document. */
  conflicts?: boolean | undefined;
  /** The first id; also `start_key`. With `descending`, the greatest. */
  startkey?: string | undefined;
  start_key?: string | undefined;
  /** The last id; also `end_key`. It is included unless `inclusive_end` is false. `startkey: 'a:', endkey: 'a:\ufff0'` gives ids that begin with `a:`. */
  endkey?: string | undefined;
  end_key?: string | undefined;
  /** Default true. */
  inclusive_end?: boolean | undefined;
  /** 0 gives no rows. */
  limit?: number | undefined;
  /** Rows left out at the start. */
  skip?: number | undefined;
  /** From the last id to the first; `startkey` and `endkey` then change places. */
  descending?: boolean | undefined;
  /** The row of this id, or none. */
  key?: string | undefined;
  /** Rows of these ids, in this order, including repeats; missing ones are `{ key, error: 'not_found' }`. */
  keys?: readonly string[] | undefined;
  /** Adds the position in the changes at which the answer stands. */
  update_seq?: boolean | undefined;
}

/** `req.query` holds `query_params`. It is called for tombstones too, and for documents of any kind. */
export type FilterFunction = (doc: ExistingDoc<Loose>, req: { query: Record<string, Loose> }) => unknown;

export interface ChangesOptions extends CallOptions, AttachmentsOptions {
  /** Goes on until cancelled. Default false: ends when caught up. */
  live?: boolean | undefined;
  /** CouchDB's word for `live`. */
  continuous?: boolean | undefined;
  /** Changes after this position; `'now'`: no past changes. Default 0. */
  since?: Seq | undefined;
  /** At most so many changes, after filtering; 0 is taken as 1. */
  limit?: number | undefined;
  /** Newest first. Documents that are edited while several pages are read come after them, as they then are. */
  descending?: boolean | undefined;
  /** `all_docs`: `changes` lists every leaf, including deleted ones. Default `main_only`. */
  style?: 'main_only' | 'all_docs' | undefined;
  /** Adds the document, in `doc`, as it is when the change is given. */
  include_docs?: boolean | undefined;
  /** With `include_docs`: losing leaves, in `_conflicts`. */
  conflicts?: boolean | undefined;
  /** Changes of these documents only. */
  doc_ids?: readonly string[] | undefined;
  /** Changes of documents that match, as in `find`. */
  selector?: object | undefined;
  /** A function; `'ddoc/name'`; `'name'` for `'name/name'`; `'_view'`, `'_doc_ids'`, `'_selector'`, `'_design'`. */
  filter?: FilterFunction | string | undefined;
  /** `'ddoc/view'`: documents for which the view's map emits. */
  view?: string | undefined;
  /** What a filter function finds in `req.query`. */
  query_params?: Record<string, unknown> | undefined;
  /** `false`: `results` stays empty, as is best for a long feed. Default true. Live feeds keep no results, whatever this says. */
  return_docs?: boolean | undefined;
  /** Changes read at a time. Default 25 over HTTP; a local feed reads 1,000. */
  batch_size?: number | undefined;
  /** Only every n-th row needs its seq; the others may have `null`. */
  seq_interval?: number | undefined;
  /** ms; for remote databases. */
  heartbeat?: number | boolean | undefined;
  /** ms; for remote databases. */
  timeout?: number | false | undefined;
}

/** What `changes` gives: iterate over it, listen to it, or await its result. */
export interface ChangesFeed<Content extends object = object>
  extends Feed<Change<Content>, ChangesResult<Content> | Cancelled> {}

/** A database, wherever it is kept. Replication takes any object that has its methods. */
export interface Database<Content extends object = object> {
  /** The name as given when it was opened, but never with credentials. */
  readonly name: string;
  readonly adapter: string;
  /** A string that stays the same as long as the database exists: it goes into replication ids. */
  id(options?: CallOptions): Promise<string>;
  info(options?: CallOptions): Promise<DatabaseInfo>;

  /** Also reads `_local/` and `_design/` documents. @throws not_found, bad_request */
  get(
    id: string,
    options: GetOptions & { open_revs: 'all' | readonly Rev[] },
  ): Promise<OpenRevsRow<Content>[]>;
  get(id: string, options?: GetOptions & { open_revs?: undefined }): Promise<ExistingDoc<Content>>;
  /** For options of which it is not known whether they have `open_revs`. */
  get(id: string, options?: GetOptions): Promise<ExistingDoc<Content> | OpenRevsRow<Content>[]>;
  /** One document, by its `_id`. @throws conflict and the validation errors */
  put(doc: BulkDoc<Content>, options?: BulkDocsOptions): Promise<Written>;
  /**
   * One answer per document, in order (with `new_edits: false`: failures only).
   *
   * A document that is invalid (malformed id, revision or reserved field, or not JSON) rejects the call and nothing is written:
   * the error has its `docId` and its `index` in the list. A conflict is the answer to its own document.
   */
  bulkDocs(
    docs:
      | readonly BulkDoc<Content>[]
      | { readonly docs: readonly BulkDoc<Content>[]; readonly new_edits?: boolean | undefined },
    options?: BulkDocsOptions,
  ): Promise<BulkDocsRow[]>;
  bulkGet(request: BulkGetRequest & BulkGetOptions): Promise<BulkGetResult<Content>>;
  allDocs(options?: AllDocsOptions): Promise<AllDocsResult<Content>>;
  changes(options?: ChangesOptions): ChangesFeed<Content>;
  /** Which of these revisions the database lacks; ids that lack nothing are absent. The answer has no prototype. */
  revsDiff(revs: Record<string, readonly Rev[]>, options?: CallOptions): Promise<RevsDiffResult>;

  /**
   * Puts one attachment on a document, which is created if there is none. `rev` is the revision edited. It is left out (also by
   * leaving out the argument), null or '' if the document is new or deleted.
   * @throws conflict
   */
  putAttachment(
    id: string,
    name: string,
    rev: Rev | null | undefined,
    data: AttachmentData,
    type?: string,
    options?: CallOptions,
  ): Promise<Written>;
  putAttachment(id: string, name: string, data: AttachmentData, type?: string): Promise<Written>;
  /** The bytes of one attachment: a `Blob`; in Node a `Buffer` with a `type`. @throws not_found, corrupt */
  getAttachment(
    id: string,
    name: string,
    options?: CallOptions & { readonly rev?: Rev | undefined },
  ): Promise<BinaryData>;
  /**
   * One attachment to be read as a stream, or a part of it. The signal ends the stream too, with its reason.
   * @throws not_found; 416 `requested_range_not_satisfiable` when `start` is not before the end of the bytes
   */
  openAttachment(id: string, name: string, options?: OpenAttachmentOptions): Promise<OpenedAttachment>;
  /** Takes one attachment off a document; if it is not there, that is no error, and no edit. @throws conflict, not_found */
  removeAttachment(id: string, name: string, rev: Rev, options?: CallOptions): Promise<Written>;

  /** Forgets the bodies of past revisions. A remote database is asked every `interval` ms whether it is done; default 200. */
  compact(options?: CallOptions & { readonly interval?: number | undefined }): Promise<{ ok: true }>;
  /** Forgets a leaf and the ancestors that only it has, leaving no trace that would replicate. */
  purge(
    id: string,
    rev: Rev,
    options?: CallOptions,
  ): Promise<{ ok: true; deletedRevs: Rev[]; documentWasRemovedCompletely: boolean }>;

  close(): Promise<void>;
  destroy(options?: CallOptions): Promise<{ ok: true }>;
}

/** A database that makes rows when they are taken. */
export interface RowSource {
  /**
   * As `get` with `open_revs`, without the data of attachments and without `att_encoding_info`; all rows are of one moment. Of thousands
   * of leaves only the bodies are held: their ancestries may be a hundred times as long as what is stored.
   */
  openRevs(
    id: string,
    options: GetOptions & { readonly open_revs: 'all' | readonly Rev[] },
  ): Promise<Iterable<OpenRevsRow>>;
}

/** A database that has its documents as JSON: what only passes through need not be read and written again. */
export interface JsonSource {
  /** As `bulkGet`: the JSON of each of its results. */
  bulkGetJson(request: BulkGetRequest & BulkGetOptions): Promise<string[]>;
}
