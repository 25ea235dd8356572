/**
 * The handle that programs hold: a database by its name, wherever it is. Construction is synchronous and opening continues in the
 * background; calls made meanwhile wait in their order. `Database` says what the verbs mean; the packages below do the work.
 *
 * Longer than other files: each verb says what it promises where an editor shows it, and a class is in one file.
 */
import {
  type AllDocsOptions,
  type AllDocsResult,
  type AllDocsRow,
  type AttachmentData,
  allAsOfNow,
  asItSays,
  askedNow,
  asOfNow,
  type BinaryData,
  type BulkDoc,
  type BulkDocsOptions,
  type BulkGetOptions,
  type BulkGetRequest,
  type BulkGetResult,
  type CallOptions,
  type ChangesFeed,
  type ChangesOptions,
  type CreateIndexRequest,
  type CreateIndexResult,
  checkIsDoc,
  conflict,
  type Database,
  type DatabaseInfo,
  type Doc,
  Emitter,
  type ExistingDoc,
  type Explanation,
  type FindRequest,
  type FullRow,
  type GetOptions,
  type IndexList,
  isDatabaseError,
  type Json,
  type LocalDatabase,
  type Loose,
  type MapFunction,
  type MappedResult,
  notAnObject,
  type OpenAttachmentOptions,
  type OpenedAttachment,
  type OpenRevsRow,
  type PutDoc,
  type Queries,
  type ReservedDoc,
  type ReservedId,
  type Rev,
  type RevsDiffResult,
  setTakesApart,
  type Tombstone,
  uuid,
  type ViewInfo,
  type ViewOptions,
  type ViewResult,
  type ViewSource,
  type Written,
  withEither,
} from '@settledb/core';
import type {
  DumpOptions,
  Input,
  LoadOptions,
  LoadResult,
  LoadSnapshotOptions,
  Manifest,
  Sink,
  SnapshotOptions,
  SnapshotResult,
} from '@settledb/dump';
import type { ReplicateOptions, Replication, Sync, SyncOptions } from '@settledb/replication';
import { dumpCode } from './code';
import type { Connection, ConnectionEvents } from './connection';
import { nameDispose } from './dispose';
import { lazyDump } from './dumps';
import { connectedChanges } from './feeds';
import type { FieldPath, FindOptions, Found, IndexOptions } from './find-options';
import { setLife } from './life';
import { type LazyLive, lazyLive } from './live';
import { LocalConnection } from './local-connection';
import type { AnyContent, BulkDocsRow, KeyRow, SettleOptions } from './options';
import { type MakeHandle, type Peer, replicateBetween, syncBetween } from './peers';
import { placeOf } from './place';
import { NO_ADAPTERS, type Platform } from './platform';
import { HandleQueries } from './queries';
import type { SettleEvents } from './settle-events';
import { VERSION, withDefaults } from './statics';
import { asVerb, BOUND, refuseCallback, refuseOther } from './verbs';

/**
 * A database of documents with this content, that works offline and settles with CouchDB later.
 *
 * Handles on one name share one database. Events: `created` (this handle), when it was opened; `destroyed`, on every
 * handle when anyone destroys the database; `closed`, after `close()`; `indexing`, with the progress of indexes that are built;
 * `error`, for what the map or the reduce of a view threw.
 *
 * @example
 * const db = new SettleDB<Note>('notes');
 * await db.put({ _id: 'a', text: 'hello' });
 * const sync = db.sync('https://couch.example/notes', { live: true, retry: true });
 */
export class SettleDB<Content extends AnyContent = AnyContent>
  extends Emitter<SettleEvents>
  implements Database<Content>
{
  /** The adapters that can be given by name. This class knows none; each entry of the package says which there are. */
  static readonly platform: Platform = NO_ADAPTERS;

  /** The version of this package: `1.2.3`. */
  static readonly version: string = VERSION;

  /** Made by a call that bundlers take for pure: for a static block, they would keep the class in pages that do not use it. */
  static readonly #own = /* @__PURE__ */ finished(SettleDB);

  /** The name as given; for a remote database the URL, without credentials. */
  readonly name: string;
  /** Where it is kept, by the name of an adapter: `'indexeddb'`, `'file'`, `'memory'`; `'http'` behind a URL. */
  readonly adapter: string;
  /** Copies changes to a peer, or from one, as `replicate.to(peer, options)` and `replicate.from(peer, options)`. */
  readonly replicate: {
    readonly to: (peer: Peer, options?: ReplicateOptions) => Replication;
    readonly from: (peer: Peer, options?: ReplicateOptions) => Replication;
  };
  readonly #connection: Connection;
  readonly #makePeer: MakeHandle;
  readonly #queries: HandleQueries;

  /**
   * This class, with `options` as the defaults of its handles; what a handle is given overrides them. Defaults of defaults
   * add up.
   */
  static defaults<Class extends typeof SettleDB>(this: Class, options: SettleOptions): Class {
    // biome-ignore lint/complexity/noThisInStatic: of the class it is asked of, which may be derived
    return withDefaults<Class>(this, options);
  }

  /** Copies changes from one database to another: names, URLs or databases. */
  static replicate(...given: [source: Peer, target: Peer, options?: ReplicateOptions]): Replication {
    const make: MakeHandle = (name, more) => new this(name, more);
    return asVerb('SettleDB.replicate', (source: Peer, target: Peer, options: ReplicateOptions = {}) =>
      replicateBetween(make, source, target, options),
    )(...given);
  }

  /** Replicates both ways; `push` is from the first to the second. */
  static sync(...given: [one: Peer, other: Peer, options?: SyncOptions]): Sync {
    const make: MakeHandle = (name, more) => new this(name, more);
    return asVerb('SettleDB.sync', (one: Peer, other: Peer, options: SyncOptions = {}) =>
      syncBetween(make, one, other, options),
    )(...given);
  }

  /**
   * @param name for a local database any string; in Node, by default, it is the path of the folder it is kept in. A URL (`http:`,
   *   `https:`) means the CouchDB database there
   * @throws at once: TypeError without a name; bad_request for an unknown adapter, a prefix that is not a string, and a name that
   *   looks like a mistyped URL. Anything else that is wrong rejects the first call
   */
  // If a view names the type of its documents, that says nothing about the others.
  constructor(name: string, options?: SettleOptions<NoInfer<Content>>);
  constructor(options: SettleOptions<NoInfer<Content>> & { readonly name: string });
  constructor(
    first: string | (SettleOptions & { readonly name: string }),
    second?: SettleOptions,
    third?: unknown,
  ) {
    super();
    refuseCallback('SettleDB', third ?? second);
    refuseOther('SettleDB', second);
    const [name, options] =
      typeof first === 'object' && first !== null ? [first.name, first] : [first, second ?? {}];
    this.#queries = new HandleQueries(options, {
      indexing: (progress) => this.fire('indexing', progress),
      error: (error) => this.fire('error', error),
    });
    const place = placeOf(new.target.platform, name, options, this.#told());
    this.name = place.name;
    this.adapter = place.adapter;
    this.#connection = place.connection;
    setLife(this, () => this.#connection.life);
    const Handle = new.target;
    // A peer given only by name is looked for where this database is.
    this.#makePeer = (peer, more) => new Handle(peer, { ...options, ...more });
    this.replicate = {
      to: asVerb('replicate.to', (peer: Peer, more: ReplicateOptions = {}) =>
        replicateBetween(this.#makePeer, this, peer, more),
      ),
      from: asVerb('replicate.from', (peer: Peer, more: ReplicateOptions = {}) =>
        replicateBetween(this.#makePeer, peer, this, more),
      ),
    };
    this.#bind();
  }

  /** Turns what the connection tells into events of this handle. */
  #told(): ConnectionEvents {
    return {
      opened: (again) => {
        this.#queries.begin(this.#connection.current);
        if (!again) this.fire('created', this);
        // For hosts, which tell their pages: after `destroyed`, it is another database.
        this.fire('opened');
      },
      // A handle may be kept for long, and must not keep what was in memory.
      detached: () => this.#queries.leave(),
      destroyed: (evicted) => {
        if (evicted) this.fire('evicted');
        this.fire('destroyed');
      },
      blocked: (waiting) => this.fire('blocked', waiting),
    };
  }

  #bind(): void {
    const apart = this.#connection instanceof LocalConnection ? 'bulkDocs' : 'bulkGet';
    for (const verb of BOUND) {
      const method = this[verb] as (...args: unknown[]) => unknown;
      const value = asVerb(verb, method.bind(this));
      // Only its own methods know documents that were taken apart: a method that replaced one would not.
      if (verb === apart && method === SettleDB.#own[verb]) setTakesApart(value);
      Object.defineProperty(this, verb, { value, configurable: true, writable: true });
    }
  }

  /** Leaves of one document, or its revisions of a list. @throws not_found */
  get(
    id: string,
    options: GetOptions & { open_revs: 'all' | readonly Rev[] },
  ): Promise<OpenRevsRow<Content>[]>;
  /** A document of the database's own kinds. @throws not_found */
  get(
    id: ReservedId,
    options?: GetOptions & { open_revs?: undefined },
  ): Promise<ExistingDoc<AnyContent> & { _id: ReservedId }>;
  /** One document: its winner, or what `options` ask for. @throws not_found */
  get(id: string, options?: GetOptions & { open_revs?: undefined }): Promise<ExistingDoc<Content>>;
  /** For options of which it is not known whether they have `open_revs`. */
  get(id: string, options?: GetOptions): Promise<ExistingDoc<Content> | OpenRevsRow<Content>[]>;
  get(id: string, options?: GetOptions): Promise<never> {
    return this.#run((database, asked) => database.get(id, asked as never) as Promise<never>, options);
  }

  /** Stores a tombstone, or a document of the database's own kinds. @throws conflict */
  put(doc: Tombstone | ReservedDoc, options?: BulkDocsOptions): Promise<Written>;
  // Anything that can be put, for what is only handed on; and last, since of the last the compiler says what is wrong.
  /**
   * Stores one document under its `_id`, as it is when this is called. To change a document, `_rev` must be the revision that is
   * changed. @throws conflict
   */
  put(doc: PutDoc<Content>, options?: BulkDocsOptions): Promise<Written>;
  put(doc: object, options?: BulkDocsOptions): Promise<Written> {
    const given = this.#taken(doc, asOfNow) as Doc;
    return this.#run((database, asked) => database.put(given, asked), options);
  }

  /** As {@link put}, with a random id unless the document has one. */
  post(doc: Tombstone | ReservedDoc, options?: BulkDocsOptions): Promise<Written>;
  /** As {@link put}, with a random id unless the document has one. */
  post(doc: Doc<Content>, options?: BulkDocsOptions): Promise<Written>;
  async post(doc: BulkDoc<Content>, options?: BulkDocsOptions): Promise<Written> {
    // First what its `toJSON` says, which may name an id, and which a copy of its fields may not have.
    const said = asItSays(doc) as BulkDoc<Content>;
    checkIsDoc(said);
    const withId = said._id === undefined ? { ...said, _id: uuid() } : said;
    return this.put(withId as Doc<Content> & { _id: string }, options);
  }

  /** Deletes a document, leaving a bare tombstone that replicates. @throws conflict, not_found */
  remove(
    doc: { readonly _id: string; readonly _rev?: Rev | undefined },
    options?: RemoveOptions,
  ): Promise<Written>;
  /** Deletes the document of this id; `rev` must be its revision. @throws conflict, not_found */
  remove(id: string, rev: Rev, options?: BulkDocsOptions): Promise<Written>;
  async remove(
    doc: string | { readonly _id: string; readonly _rev?: Rev | undefined },
    revOrOptions?: Rev | RemoveOptions,
    options: BulkDocsOptions = {},
  ): Promise<Written> {
    if (typeof doc === 'string') return this.#remove(doc, revOrOptions as Rev | undefined, options);
    if (typeof doc !== 'object' || doc === null) throw notAnObject();
    const { rev, ...more } = (revOrOptions ?? {}) as RemoveOptions;
    return this.#remove(doc._id, rev ?? doc._rev, more);
  }

  /**
   * Many edits in one call: one answer for each, in order; a conflict affects only its own document. One document that is
   * invalid rejects the call, and nothing is written: the error names its `docId` and its `index` in the list.
   */
  bulkDocs(
    docs:
      | readonly BulkDoc<Content>[]
      | { readonly docs: readonly BulkDoc<Content>[]; readonly new_edits?: boolean | undefined },
    options?: BulkDocsOptions,
  ): Promise<BulkDocsRow[]> {
    const given = this.#taken(docs, allAsOfNow) as readonly Doc[];
    return this.#run((database, asked) => database.bulkDocs(given, asked), options) as Promise<BulkDocsRow[]>;
  }

  /** Several documents, or revisions of them: of each its answer, in order. What is missing affects no other. */
  bulkGet(request: BulkGetRequest & BulkGetOptions): Promise<BulkGetResult<Content>> {
    return this.#run(
      (database, asked) => database.bulkGet(asked) as Promise<BulkGetResult<Content>>,
      request,
    );
  }

  /** Documents by id: all, or a range. With `include_docs` each row has its `doc`. */
  allDocs(
    options: AllDocsOptions & { include_docs: true; keys?: undefined },
  ): Promise<AllDocsResult<Content, FullRow<Content>>>;
  /** Documents by id: all, or a range. */
  allDocs(
    options?: AllDocsOptions & { readonly keys?: undefined },
  ): Promise<AllDocsResult<Content, AllDocsRow<Content>>>;
  /** Documents by id: all, a range, or those named by `keys`, of which some may be missing. */
  allDocs(options?: AllDocsOptions): Promise<AllDocsResult<Content, KeyRow<Content>>>;
  allDocs(options?: AllDocsOptions): Promise<never> {
    return this.#run((database, asked) => database.allDocs(asked) as Promise<never>, options);
  }

  /** What changed, once or from now on: iterate over it, listen to it, or await its result. It ends with this handle. */
  changes(options: ChangesOptions = {}): ChangesFeed<Content> {
    return connectedChanges(this.#connection, askedNow(options)) as unknown as ChangesFeed<Content>;
  }

  revsDiff(revs: Record<string, readonly Rev[]>, options?: CallOptions): Promise<RevsDiffResult> {
    const asked = askedNow(revs);
    return this.#run((database, more) => database.revsDiff(asked, more), options);
  }

  /** How many documents there are, and where the database stands. */
  info(options?: CallOptions): Promise<DatabaseInfo> {
    const name = this.#connection instanceof LocalConnection ? this.name : undefined;
    // A remote database has its own name.
    return this.#run((database) => (database as LocalDatabase).info(options, name), options);
  }

  id(options?: CallOptions): Promise<string> {
    return this.#run((database) => database.id(options), options);
  }

  /** Puts one attachment on a document, which is created if there is none; then `rev` may be left out. @throws conflict */
  putAttachment(
    id: string,
    name: string,
    rev: Rev | null | undefined,
    data: AttachmentData,
    type?: string,
    options?: CallOptions,
  ): Promise<Written>;
  /** Puts one attachment on a document that is made for it. @throws conflict */
  putAttachment(id: string, name: string, data: AttachmentData, type?: string): Promise<Written>;
  putAttachment(...given: [string, string, never, never, never?, CallOptions?]): Promise<Written> {
    return this.#run((database) => database.putAttachment(...given), given[5]);
  }

  /** The bytes of one attachment: a `Blob`; in Node a `Buffer` with a `type`. @throws not_found, corrupt */
  getAttachment(
    id: string,
    name: string,
    options?: CallOptions & { readonly rev?: Rev | undefined },
  ): Promise<BinaryData> {
    return this.#run((database, asked) => database.getAttachment(id, name, asked), options);
  }

  /** One attachment to be read as a stream, or a part of it. @throws not_found */
  openAttachment(id: string, name: string, options?: OpenAttachmentOptions): Promise<OpenedAttachment> {
    return this.#run((database, asked) => database.openAttachment(id, name, asked), options);
  }

  /** Takes one attachment off a document. @throws conflict, not_found */
  removeAttachment(id: string, name: string, rev: Rev, options?: CallOptions): Promise<Written> {
    return this.#run((database, asked) => database.removeAttachment(id, name, rev, asked), options);
  }

  compact(options?: CallOptions & { readonly interval?: number | undefined }): Promise<{ ok: true }> {
    return this.#run((database, asked) => database.compact(asked), options);
  }

  purge(
    id: string,
    rev: Rev,
    options?: CallOptions,
  ): Promise<{ ok: true; deletedRevs: Rev[]; documentWasRemovedCompletely: boolean }> {
    return this.#run((database, asked) => database.purge(id, rev, asked), options);
  }

  /**
   * Rows of a view: a stored one by name, or a map function that is used this once, of which nothing is stored.
   *
   * @typeParam Key what the map emits; it is not checked
   * @param view `'ddoc/view'`; `'name'` for `'name/name'`, or for a view of the option `views`; a function; `{ map, reduce }`
   * @throws not_found, query_parse_error; not_implemented for text without the option `evaluate`
   * @example
   * await db.query('notes/by-tag', { key: 'todo', include_docs: true });
   * await db.query<string, number>((doc, emit) => emit(doc.type, 1), { reduce: '_sum', group: true });
   */
  query<Key = Json, Value = Loose>(
    view: string | MapFunction<Content> | ViewSource<Content>,
    options: ViewOptions & { reduce: false },
  ): Promise<MappedResult<Content, Key, Value>>;
  /** Rows of a map function that is used this once, of which nothing is stored. */
  query<Key = Json, Value = Loose>(
    map: MapFunction<Content>,
    options?: ViewOptions & { reduce?: false | undefined },
  ): Promise<MappedResult<Content, Key, Value>>;
  /**
   * Rows of a view, which may be reduced: a stored one by name, or a map function that is used this once, of which nothing is stored.
   *
   * @typeParam Key what the map emits; it is not checked
   * @param view `'ddoc/view'`; `'name'` for `'name/name'`, or for a view of the option `views`; a function; `{ map, reduce }`
   * @throws not_found, query_parse_error; not_implemented for text without the option `evaluate`
   */
  query<Key = Json, Value = Loose>(
    view: string | MapFunction<Content> | ViewSource<Content>,
    options?: ViewOptions,
  ): Promise<ViewResult<Content, Key, Value>>;
  query(
    view: string | MapFunction<Content> | ViewSource<Content>,
    options: ViewOptions = {},
  ): Promise<never> {
    const asked = this.#asked(options);
    return this.#ask((queries) => queries.query(view, asked) as Promise<never>, asked);
  }

  /** Several queries of one stored view, answered in order. */
  queries<Key = Json, Value = Loose>(
    view: string,
    queries: readonly ViewOptions[],
    options: CallOptions = {},
  ): Promise<ViewResult<Content, Key, Value>[]> {
    const asked = this.#asked(queries);
    const work = (answers: Required<Queries>) => answers.queries(view, asked, options);
    return this.#ask(work, options) as Promise<ViewResult<Content, Key, Value>[]>;
  }

  /** Drops the indexes that no design document, and no view of this program, defines any more. */
  viewCleanup(options: CallOptions = {}): Promise<{ readonly ok: true }> {
    return this.#ask((queries) => queries.viewCleanup(options), options);
  }

  /** How far the indexes of a design document are. */
  viewInfo(ddoc: string, options: CallOptions = {}): Promise<ViewInfo> {
    return this.#ask((queries) => queries.viewInfo(ddoc, options), options);
  }

  /**
   * Makes an index by fields, and builds it. `{ index: { fields }, name, ddoc }`, or flat. The result is `exists` if it is there already.
   *
   * @example
   * await db.createIndex({ fields: ['type', 'date'] });
   * const { docs } = await db.find({ selector: { type: 'note', date: { $gt: '2026' } }, sort: ['date'], limit: 20 });
   */
  createIndex(
    request:
      | IndexOptions<Content>
      | (Omit<CreateIndexRequest, 'index'> & { readonly index: IndexOptions<Content> }),
    options: CallOptions = {},
  ): Promise<CreateIndexResult> {
    const asked = this.#asked(request as CreateIndexRequest);
    return this.#ask((queries) => queries.createIndex(asked, options), options);
  }

  /** All indexes by fields, first that of all documents by id. */
  getIndexes(options: CallOptions = {}): Promise<IndexList> {
    return this.#ask((queries) => queries.getIndexes(options), options);
  }

  /** Removes an index, and its design document if nothing is left in it. @throws not_found */
  deleteIndex(
    index: { readonly ddoc: string | null; readonly name: string; readonly type?: string | undefined },
    options: CallOptions = {},
  ): Promise<{ readonly ok: true }> {
    const asked = askedNow(index);
    return this.#ask((queries) => queries.deleteIndex(asked, options), options);
  }

  /**
   * Documents that match a Mango selector; 25 unless `limit` says how many. If no index serves, all documents are read, and a
   * `warning` says so.
   *
   * @throws bad_request in CouchDB's words for whatever is wrong with the request
   */
  find<const Path extends FieldPath<Content> = never>(
    request: FindOptions<Content, Path>,
  ): Promise<Found<Content, Path>> {
    const asked = this.#asked(request as FindRequest);
    return this.#ask((queries) => queries.find(asked), asked) as Promise<Found<Content, Path>>;
  }

  /** How `find` would answer: which index it uses, what it reads, and why. */
  explain(request: FindOptions<Content>): Promise<Explanation> {
    const asked = this.#asked(request as FindRequest);
    return this.#ask((queries) => queries.explain(asked), asked);
  }

  /**
   * Results that stay current: `for await (const { docs } of db.live.find({ selector }))`, or `.subscribe(listener)`. They follow
   * every change, whoever made it, and end with their `signal`, with `cancel()`, with this handle, and when the database is destroyed.
   */
  get live(): LazyLive<Content> {
    this.#live ??= lazyLive<Content>(() =>
      this.#connection.run((database) =>
        this.#queries.liveOf(database, this as never, this.#connection.life),
      ),
    );
    return this.#live;
  }
  #live: LazyLive<Content> | undefined;

  /**
   * The whole database as a stream of bytes, for a backup: every leaf with its ancestry, attachments, and on request `_local`
   * documents; NDJSON, gzipped, with checksums. Works for a remote database too. {@link load} reads it back.
   */
  dump(options: DumpOptions = {}): ReadableStream<Uint8Array> {
    return lazyDump(this, this.#connection, options, this.#connection.life);
  }

  /**
   * Loads a dump, also one of CouchDB (`_all_docs?include_docs=true`, `_bulk_docs`) or of pouchdb-dump, gzipped or not. What is there
   * already is not written again: if loading was interrupted, load again and only the rest is written.
   *
   * @throws corrupt for a dump that is damaged or cut off; what was loaded before is valid
   */
  async load(input: Input, options: LoadOptions = {}): Promise<LoadResult> {
    const { load } = await dumpCode.load();
    return this.#lifelong(options, (more) => load(this as Database, input, more));
  }

  /** Writes the database as static files, for {@link loadSnapshot}: `sink(name, bytes)` is called with each, `manifest.json` last. */
  async writeSnapshot(sink: Sink, options: SnapshotOptions = {}): Promise<Manifest> {
    const { writeSnapshot } = await dumpCode.load();
    return this.#lifelong(options, (more) => writeSnapshot(this as Database, sink, more));
  }

  /**
   * Fills the database from a snapshot, given the URL of its manifest. The first replication with the database that it was made of
   * goes on from there, by itself.
   */
  async loadSnapshot(url: string | URL, options: LoadSnapshotOptions = {}): Promise<SnapshotResult> {
    const { loadSnapshot } = await dumpCode.load();
    return this.#lifelong(options, (more) => loadSnapshot(this as Database, url, more));
  }

  /** Replicates both ways. `push` is from this database to the peer. */
  sync(peer: Peer, options: SyncOptions = {}): Sync {
    return syncBetween(this.#makePeer, this, peer, options);
  }

  /**
   * Ends this handle: writes made before are finished, feeds end as cancelled. Other handles go on; the last one closes the
   * database. Called again, it gives the same promise. Calls after it reject with `database is closed`.
   */
  close(): Promise<void> {
    const first = this.#connection.close();
    void first.finally(() => this.#queries.leave()).catch(() => {});
    this.#closed ??= first.then(() => this.fire('closed'));
    return this.#closed;
  }
  #closed: Promise<void> | undefined;

  /**
   * Removes the database for good, for everyone. This handle is then closed; other handles find an empty database.
   *
   * @throws io when another tab keeps it open for ten seconds; it is removed when that tab lets go, and handles hear `destroyed` then
   */
  destroy(options: CallOptions = {}): Promise<{ ok: true }> {
    return this.#connection.destroy(options);
  }

  /** `await using db = new SettleDB(…)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** What a call was given, which does not see what its caller makes of it later: a call that has to wait keeps it by `take`. */
  #taken(given: unknown, take: (given: unknown) => unknown): unknown {
    return this.#connection.current === undefined ? take(given) : given;
  }

  /** What a query was given, likewise: a local database that is ready reads it at once. */
  #asked<T>(given: T): T {
    const { current } = this.#connection;
    return current !== undefined && this.#queries.ready(current) !== undefined ? given : askedNow(given);
  }

  /** @param work is given the options as they are now, whatever it waits for */
  #run<T, O extends CallOptions | null | undefined>(
    work: (database: Database, asked: O) => Promise<T>,
    options: O,
  ): Promise<T> {
    const asked = askedNow(options);
    return this.#connection.run((database) => work(database, asked), asked?.signal);
  }

  #ask<T>(
    work: (queries: Required<Queries>) => Promise<T>,
    options: CallOptions | null | undefined,
  ): Promise<T> {
    return this.#run((database) => {
      const ready = this.#queries.ready(database);
      if (ready !== undefined) return work(ready as Required<Queries>);
      return this.#queries.of(database).then((queries) => work(queries as Required<Queries>));
    }, options);
  }

  async #remove(id: string, rev: Rev | undefined, options: BulkDocsOptions): Promise<Written> {
    if (rev === undefined) {
      // Without a revision, there is nothing this could extend: either the document is missing, or it is a conflict.
      await this.get(id, options);
      throw conflict(id);
    }
    return this.put({ _id: id, _rev: rev, _deleted: true }, options).catch(async (error: unknown) => {
      // As in CouchDB's DELETE: what never existed is missing, not in conflict.
      if (isDatabaseError(error) && error.status === 409)
        await this.get(id, { signal: options.signal }).catch((why: unknown) => {
          if (isDatabaseError(why) && why.reason === 'missing') throw why;
        });
      throw error;
    });
  }

  #lifelong<O extends CallOptions, T>(options: O | null, work: (options: O) => Promise<T>): Promise<T> {
    const { life } = this.#connection;
    return withEither(life, options?.signal, (signal) => work({ ...(options as O), signal }));
  }
}

/** A handle of documents of any kind: for functions that take whatever database there is. */
// biome-ignore lint/suspicious/noExplicitAny: selectors make the class invariant, so a `SettleDB<Note>` is no `SettleDB<AnyContent>`
export type AnySettleDB = SettleDB<any>;

/** Options of `remove`. */
export type RemoveOptions = BulkDocsOptions & {
  /** The revision that is deleted. Default: the `_rev` of the document given. */
  readonly rev?: Rev | undefined;
};

/** The rest of making the class. @returns its own methods that know documents taken apart */
function finished({ prototype }: { readonly prototype: SettleDB }) {
  nameDispose(prototype);
  const { bulkDocs, bulkGet } = prototype;
  return { bulkDocs, bulkGet };
}
