/**
 * The local database: the methods of {@link Database} over a store. It owns the store, the writer and the moment of closing; what
 * each method means is in the file that it delegates to.
 */
import { missingBulkDocs, notImplemented, setTakesApart, TEXTS } from '../model';
import type {
  AllDocsResult,
  AttachmentData,
  BinaryData,
  BulkDocsRow,
  BulkGetRequest,
  BulkGetResult,
  DatabaseInfo,
  Doc,
  ExistingDoc,
  OpenedAttachment,
  OpenRevsRow,
  Rev,
  RevsDiffResult,
  Written,
} from '../model/types';
import type { DatabaseTables, InfoRow } from '../store/schema';
import type { CallOptions, Durability, Store } from '../store/store';
import { allDocs } from './all-docs';
import type { AttachmentSource } from './attachment-bytes';
import type { Steps } from './attachment-verbs';
import { type ChangesSource, localChanges } from './changes';
import { historyCode, loadAttachments, wantsData } from './code';
import type {
  AllDocsOptions,
  BulkDocsOptions,
  BulkGetOptions,
  ChangesFeed,
  ChangesOptions,
  Database,
  GetOptions,
  JsonSource,
  OpenAttachmentOptions,
  RowSource,
} from './database';
import type { FoldRules } from './doc-fold';
import { docsOf, type Edit, type EditOptions, errorWith, toEdits, toOneEdit } from './edits';
import { getDoc, needsHistory } from './get';
import { Counters, INFO, identify, infoOf } from './info';
import { Lifetime } from './lifetime';
import type { LocalDocsOptions } from './local-list';
import { checkLocalOptions, checkRevsLimit, type LocalOptions, REVS_LIMIT } from './local-options';
import { untilAborted } from './on-abort';
import type { Outcome } from './plan-edits';
import type { Purged } from './purge';
import { upkeepCode } from './upkeep-code';
import { writeEdits, writeEditsNow } from './write-edits';
import { Writer } from './writer';
import { written } from './written';

const NO_OPTIONS: BulkDocsOptions = {};

export class LocalDatabase<Content extends object = object>
  implements Database<Content>, JsonSource, RowSource
{
  readonly name: string;
  readonly adapter: string;
  readonly store: Store<DatabaseTables>;
  readonly #options: LocalOptions;
  #durability: Durability | undefined;
  #rules: FoldRules;
  readonly #uuid: string;
  readonly #writer: Writer;
  readonly #feeds: ChangesSource;
  readonly #attachments: AttachmentSource & { readonly seen: Set<string> };
  readonly #counters: Counters;
  readonly #life: Lifetime;
  /** The running close. */
  #closing: Promise<void> | undefined;

  /**
   * A handle on the database in `store`, which it owns from now on, also if opening fails: it is closed then. A new database if the
   * store is empty.
   *
   * @throws DatabaseError 400 for options out of range
   */
  static async open<Content extends object = object>(
    store: Store<DatabaseTables>,
    options: LocalOptions,
  ): Promise<LocalDatabase<Content>> {
    try {
      checkLocalOptions(options);
      return new LocalDatabase(store, options, await identify(store));
    } catch (error) {
      await store.close().catch(() => {}); // Whatever it says, the first error is the one to report.
      throw error;
    }
  }

  private constructor(store: Store<DatabaseTables>, options: LocalOptions, id: string) {
    // Not in a static block: with one, bundlers would keep this class, and all it refers to, for pages that do not use it.
    setTakesApart(LocalDatabase.prototype.bulkDocs);
    this.store = store;
    this.#life = new Lifetime(store);
    this.name = options.name;
    this.adapter = options.adapter;
    this.#options = options;
    this.#durability = options.durability;
    this.#uuid = id;
    this.#counters = new Counters(store);
    this.#rules = {
      revsLimit: options.revs_limit ?? REVS_LIMIT,
      autoCompaction: options.auto_compaction === true,
    };
    this.#writer = new Writer({
      write: (edits) => writeEdits(store, edits, this.#rules, this.#durability),
      writeNow: (edits) => writeEditsNow(store, edits, this.#rules, this.#durability),
    });
    this.#attachments = { store, bytes: options.bytes, seen: new Set() };
    this.#feeds = {
      store,
      bytes: options.bytes,
      evaluate: options.evaluate,
      closing: this.#life.feeds,
    };
  }

  async id(options: CallOptions = {}): Promise<string> {
    this.#life.begin(options);
    return this.#uuid;
  }

  /** @param db_name the name of the handle that is asked */
  info(options: CallOptions = {}, db_name = this.name): Promise<DatabaseInfo> {
    // Not async, for the reason given at `get`.
    try {
      this.#life.begin(options);
      const row = this.#counters.now();
      if (row !== undefined) return Promise.resolve(this.#info(row, db_name));
      return this.store.read(INFO, options).then(([rows]) => this.#info(infoOf(rows), db_name));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #info({ doc_count, doc_del_count, update_seq, purge_seq }: InfoRow, db_name: string): DatabaseInfo {
    return {
      db_name,
      doc_count,
      doc_del_count,
      update_seq,
      purge_seq,
      revs_limit: this.#rules.revsLimit,
      adapter: this.adapter,
      auto_compaction: this.#rules.autoCompaction,
    };
  }

  get(
    id: string,
    options: GetOptions & { open_revs: 'all' | readonly Rev[] },
  ): Promise<OpenRevsRow<Content>[]>;
  get(id: string, options?: GetOptions & { open_revs?: undefined }): Promise<ExistingDoc<Content>>;
  get(id: string, options?: GetOptions): Promise<ExistingDoc<Content> | OpenRevsRow<Content>[]>;
  get(id: string, options?: GetOptions): Promise<never> {
    // Not async: this saves a promise on every read.
    const { refusal } = this.#life;
    if (refusal !== undefined) return Promise.reject(refusal);
    if (options !== undefined && (wantsData(options) || (options.atts_since ?? undefined) !== undefined)) {
      return loadAttachments().then(({ getWithData }) =>
        getWithData(this.#attachments, id, options),
      ) as Promise<never>;
    }
    return this.#get(id, options) as Promise<never>;
  }

  #get(id: string, options?: GetOptions): Promise<ExistingDoc | OpenRevsRow[]> {
    if (options === undefined || !needsHistory(options)) return getDoc(this.store, id, options);
    return historyCode.load().then(({ getAny }) => getAny(this.store, id, options));
  }

  put(doc: Doc<Content>, options: BulkDocsOptions = NO_OPTIONS): Promise<Written> {
    // Not async, for the reason given at `get`.
    try {
      this.#life.begin(options);
      return this.#put(doc, options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #put(doc: object, options: BulkDocsOptions, makesRoom = false): Promise<Written> {
    const made = toOneEdit(doc, this.#editOptions(options.new_edits, options.force));
    const edit = makesRoom ? { makesRoom, ...made } : made;
    const { signal } = options;
    if (edit.given === undefined) return this.#writer.add([edit], signal, written);
    return this.#writeAttached([edit], true, signal).then(written, (error: unknown) => {
      throw errorWith(error, doc);
    });
  }

  async bulkDocs(
    docs: readonly Doc<Content>[] | { readonly docs: readonly Doc<Content>[]; readonly new_edits?: boolean },
    options: BulkDocsOptions & { readonly [TEXTS]?: readonly string[] } = {},
  ): Promise<BulkDocsRow[]> {
    this.#life.begin(options);
    const newEdits = options.new_edits ?? (docs as { new_edits?: boolean } | null)?.new_edits;
    const editOptions = this.#editOptions(newEdits, options.force);
    const edits = toEdits(docsOf(docs), editOptions, options[TEXTS]);
    if (edits.length === 0) return [];
    const rows = edits.some((edit) => edit.given !== undefined)
      ? await this.#writeAttached(edits, editOptions.newEdits, options.signal)
      : await this.#writer.add(edits, options.signal, asGiven);
    return editOptions.newEdits ? [...rows] : rows.filter((row) => 'error' in row);
  }

  async bulkGet(request: BulkGetRequest & BulkGetOptions): Promise<BulkGetResult<Content>> {
    if (typeof request !== 'object' || request === null) throw missingBulkDocs();
    this.#life.begin(request);
    const needsData = wantsData(request) || request.docs?.some?.((entry) => entry?.atts_since?.length);
    const answer = needsData
      ? await (await loadAttachments()).bulkGetWithData(this.#attachments, request)
      : await (await historyCode.load()).bulkGet(this.store, request);
    return answer as BulkGetResult<Content>;
  }

  /** See {@link RowSource}. */
  async openRevs(
    id: string,
    options: GetOptions & { readonly open_revs: 'all' | readonly Rev[] },
  ): Promise<Iterable<OpenRevsRow>> {
    this.#life.begin(options);
    return (await historyCode.load()).openRevs(this.store, id, options.open_revs, options);
  }

  /** See {@link JsonSource}. */
  async bulkGetJson(request: BulkGetRequest & BulkGetOptions): Promise<string[]> {
    this.#life.begin(request);
    const { bulkGetJson } = await historyCode.load();
    return bulkGetJson(this.store, request, wantsData(request) ? (rest) => this.bulkGet(rest) : undefined);
  }

  async allDocs(options: AllDocsOptions = {}): Promise<AllDocsResult<Content>> {
    this.#life.begin(options);
    const answer =
      options.include_docs && wantsData(options)
        ? await (await loadAttachments()).allDocsWithData(this.#attachments, options)
        : await allDocs(this.store, options);
    return answer as AllDocsResult<Content>;
  }

  changes(options: ChangesOptions = {}): ChangesFeed<Content> {
    return localChanges<Content>(this.#feeds, options);
  }

  async revsDiff(revs: Record<string, readonly Rev[]>, options: CallOptions = {}): Promise<RevsDiffResult> {
    this.#life.begin(options);
    const { revsDiff } = await historyCode.load();
    return revsDiff(this.store, revs, options);
  }

  putAttachment(
    id: string,
    name: string,
    rev: Rev | null | undefined,
    data: AttachmentData,
    type?: string,
    options?: CallOptions,
  ): Promise<Written>;
  putAttachment(id: string, name: string, data: AttachmentData, type?: string): Promise<Written>;
  async putAttachment(...given: unknown[]): Promise<Written> {
    this.#life.begin((given[5] as CallOptions | undefined) ?? {});
    return this.#life.served.add(
      loadAttachments().then(({ putAttachment }) => putAttachment(this.#steps, given)),
    );
  }

  async getAttachment(
    id: string,
    name: string,
    options: CallOptions & { readonly rev?: Rev | undefined } = {},
  ): Promise<BinaryData> {
    this.#life.begin(options);
    const { getAttachment } = await loadAttachments();
    return getAttachment(this.#attachments, id, name, options);
  }

  async openAttachment(
    id: string,
    name: string,
    options: OpenAttachmentOptions = {},
  ): Promise<OpenedAttachment> {
    this.#life.begin(options);
    const { openAttachment } = await loadAttachments();
    return openAttachment(this.#attachments, id, name, options);
  }

  async removeAttachment(id: string, name: string, rev: Rev, options: CallOptions = {}): Promise<Written> {
    this.#life.begin(options);
    return this.#life.served.add(
      loadAttachments().then(({ removeAttachment }) => removeAttachment(this.#steps, id, name, rev, options)),
    );
  }

  async compact(options: CallOptions & { readonly interval?: number } = {}): Promise<{ ok: true }> {
    this.#life.begin(options);
    const { compact } = await upkeepCode.load();
    return compact(this.store, options);
  }

  async purge(id: string, rev: Rev, options: CallOptions = {}): Promise<Purged> {
    this.#life.begin(options);
    const how = { ...options, durability: this.#durability };
    return this.#life.served.add(upkeepCode.load().then(({ purge }) => purge(this.store, id, rev, how)));
  }

  /**
   * From the next write on keeps that many generations on a branch; for this handle, as the option does.
   *
   * @throws DatabaseError 400
   */
  async setRevsLimit(limit: number): Promise<void> {
    this.#life.begin({});
    checkRevsLimit(limit);
    this.#rules = { ...this.#rules, revsLimit: limit };
  }

  /** From the next write on acknowledges each only when the disk has it: somebody who has this database open asked for that. */
  beStrict(): void {
    this.#durability = 'strict';
  }

  /** The `_local/` documents in order of their ids, which nothing else lists: for servers, and for looking after a database. */
  async localDocs(options: LocalDocsOptions = {}): Promise<ExistingDoc[]> {
    this.#life.begin(options);
    const { listLocal } = await historyCode.load();
    return listLocal(this.store, options);
  }

  /** Takes no more calls, waits for the writes asked for so far, and closes the store. @param discard see {@link Store.close} */
  close(discard = false): Promise<void> {
    this.#closing ??= this.#close(discard);
    return this.#closing;
  }

  async destroy(options: CallOptions = {}): Promise<{ ok: true }> {
    this.#life.begin(options);
    const { onDestroy } = this.#options;
    if (onDestroy === undefined) throw notImplemented('This database was opened without a way to destroy it');
    await this.close(true);
    await onDestroy();
    return { ok: true };
  }

  async #close(discard: boolean): Promise<void> {
    await this.#life.end();
    await this.#writer.close();
    await this.store.close(discard);
  }

  /** A running write goes on when its call is aborted, since the content it took in must be settled. */
  #writeAttached(
    edits: readonly Edit[],
    strict: boolean,
    signal: AbortSignal | undefined,
  ): Promise<readonly Outcome[]> {
    const durability = this.#durability;
    const host = { durability, ending: this.#life.sources, ...this.#attachments };
    const work = this.#life.served.add(
      loadAttachments().then(({ writeAttached }) =>
        writeAttached(host, edits, strict, (each) => this.#writer.add(each, undefined, asGiven), signal),
      ),
    );
    return untilAborted(work, signal);
  }

  /** Does a call that takes several steps on documents; once begun, closing waits for it. @throws closed */
  async inSteps<T>(work: (steps: Steps) => Promise<T>): Promise<T> {
    this.#life.begin(NO_OPTIONS);
    return this.#life.served.add(work(this.#steps));
  }

  /** `get` and `put` for the steps of a call that was begun before closing, which waits for it. */
  get #steps(): Steps {
    const get = (id: string, options?: GetOptions) => this.#get(id, options) as Promise<never>;
    return { get, put: async (doc, options, makesRoom) => this.#put(doc, options, makesRoom) };
  }

  #editOptions(new_edits: boolean | undefined, force: boolean | undefined): EditOptions {
    return {
      newEdits: new_edits !== false,
      force: Boolean(force),
      deterministic: this.#options.deterministic_revs !== false,
    };
  }
}

const asGiven = (outcomes: readonly Outcome[]): readonly Outcome[] => outcomes;
