/**
 * A database behind a URL: {@link Database} over HTTP, against CouchDB, our own server, or anything that talks like them.
 *
 * Nothing is known here of sequences (they are opaque), and nothing is believed that does not have the protocol's form.
 */
import {
  type AllDocsOptions,
  type AllDocsResult,
  type BinaryData,
  type BulkDocsOptions,
  type BulkDocsRow,
  type BulkGetOptions,
  type BulkGetRequest,
  type BulkGetResult,
  badRequest,
  type CallOptions,
  type ChangesFeed,
  type ChangesOptions,
  closed,
  type Database,
  type DatabaseInfo,
  type Doc,
  type ExistingDoc,
  type GetOptions,
  isDatabaseError,
  missingBulkDocs,
  missingId,
  notFound,
  notImplemented,
  type OpenedAttachment,
  type OpenRevsRow,
  type Rev,
  type RevsDiffResult,
  type Written,
} from '@settledb/core';
import { bulkGetOver } from './client-bulk-get';
import { remoteChanges } from './client-changes';
import * as check from './client-check';
import { type HeaderSource, Http, type HttpOptions } from './client-http';
import { LocalDocs } from './client-local-docs';
import { allDocsCall, getCall, readDotDoc } from './client-read';
import { nameOf, parseTarget, type Target } from './client-target';
import { asEdit, checkEdit, fieldsOf, sendBulk } from './client-write';
import { encodeDocId, isDotId, isObject } from './wire';

/** ms between two looks at a compaction that the server still has under way. */
const COMPACT_INTERVAL_MS = 200;

export interface RemoteOptions {
  /** Used for every request instead of the platform's. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /**
   * Added to every request, over our own. A function is asked each time; after a 401 once more, with `true`, and the request is
   * then sent again: for a token that is renewed.
   */
  readonly headers?: HeaderSource | undefined;
  /**
   * Instead of user and password in the URL. With every request; or with `type: 'cookie'` once, for a session that is renewed
   * before it ends and after a 401.
   */
  readonly auth?: HttpOptions['auth'];
  /**
   * Send large bodies compressed. Default: to servers that say they are CouchDB (or this package's) and are not on this machine;
   * in a page, to its own origin only. `true`: always; `false`: never.
   */
  readonly compress?: boolean | undefined;
  /** How a live feed waits: one `longpoll` after the other (default), or one `continuous` request. */
  readonly feed?: 'longpoll' | 'continuous' | undefined;
  /** Do not make the database when it is not there. Default false. */
  readonly skip_setup?: boolean | undefined;
  /** What the database is called. Default: the URL, without user and password. */
  readonly name?: string | undefined;
}

/**
 * A remote database. Nothing is sent until something is asked for; a URL that is none makes every call reject.
 */
export function remote<Content extends object = object>(
  url: string,
  options: RemoteOptions = {},
): RemoteDatabase<Content> {
  return new RemoteDatabase<Content>(url, options);
}

export class RemoteDatabase<Content extends object = object> implements Database<Content> {
  readonly name: string;
  readonly adapter = 'http';
  readonly #options: RemoteOptions;
  /** Or why there is none. */
  readonly #http: Http | { readonly error: unknown };
  #setup: Promise<void> | undefined;
  /** The database is there, as far as it was looked for. */
  #found = false;
  readonly #localDocs = new LocalDocs();
  #id: string | undefined;
  #ended = false;

  constructor(url: string, options: RemoteOptions = {}) {
    this.name = options.name ?? nameOf(url);
    this.#options = options;
    this.#http = connect(url, options);
  }

  async id({ signal }: CallOptions = {}): Promise<string> {
    if (this.#id !== undefined) return this.#id;
    const http = this.#connection();
    this.#id = await identify(http, signal);
    return this.#id;
  }

  async info({ signal }: CallOptions = {}): Promise<DatabaseInfo> {
    const http = await this.#ready(signal);
    const answer = check.checkObject(await http.json({ method: 'GET', path: '', signal }), 'the information');
    const { db_name, update_seq, doc_count } = answer;
    if (typeof doc_count !== 'number' || !/^(string|number)$/.test(typeof update_seq)) {
      throw check.unexpected('the information lacks doc_count or update_seq');
    }
    return {
      ...answer,
      db_name: typeof db_name === 'string' ? db_name : decodeURIComponent(http.target.path),
      doc_count,
      update_seq: update_seq as string | number,
      host: http.target.name,
      adapter: this.adapter,
      auto_compaction: false,
    };
  }

  get(
    id: string,
    options: GetOptions & { open_revs: 'all' | readonly Rev[] },
  ): Promise<OpenRevsRow<Content>[]>;
  get(id: string, options?: GetOptions & { open_revs?: undefined }): Promise<ExistingDoc<Content>>;
  async get(id: string, options: GetOptions = {}): Promise<ExistingDoc<Content> | OpenRevsRow<Content>[]> {
    const call = getCall(id, options);
    const http = await this.#ready(options.signal);
    if (options.open_revs?.length === 0) return [];
    if (isDotId(id)) return readDotDoc<Content>(http, id, options);
    const local =
      this.#localDocs.takes(id) && (await this.#localDocs.read<Content>(http, id, options.signal));
    if (local) return local;
    const answer = await http.json(call);
    if (options.open_revs !== undefined) return check.checkOpenRevs<Content>(answer, id);
    if (call.query?.open_revs === undefined) return check.checkDoc<Content>(answer, id);
    // `rev` with `latest` was asked as `open_revs`: see there.
    const found = check.checkOpenRevs<Content>(answer, id).find((row) => 'ok' in row);
    if (found === undefined) throw notFound('missing', id);
    return found.ok;
  }

  async put(doc: Doc<Content>, options: BulkDocsOptions = {}): Promise<Written> {
    const { signal } = options;
    const { id } = fieldsOf(doc);
    if (id === undefined) throw missingId();
    const { edit, new_edits } = asEdit(doc, options);
    const http = await this.#ready(signal);
    if (isDotId(id)) return this.#putInBulk(http, edit, new_edits, signal);
    const answer = await http.json({
      method: 'PUT',
      path: `/${encodeDocId(id)}`,
      query: { new_edits: new_edits ? undefined : false },
      body: edit,
      signal,
      docId: id,
    });
    return check.checkWritten(answer, id);
  }

  async #putInBulk(
    http: Http,
    doc: Doc,
    newEdits: boolean,
    signal: AbortSignal | undefined,
  ): Promise<Written> {
    const [row] = await sendBulk(http, [doc], newEdits, signal);
    if (row === undefined) return { ok: true, id: doc._id!, rev: doc._rev! };
    if ('error' in row) throw check.rowError(row);
    return row;
  }

  async bulkDocs(
    input: readonly Doc<Content>[] | { readonly docs: readonly Doc<Content>[]; readonly new_edits?: boolean },
    options: BulkDocsOptions = {},
  ): Promise<BulkDocsRow[]> {
    const given = input as { docs?: unknown; new_edits?: boolean };
    const docs: unknown = Array.isArray(input) ? input : isObject(given) ? given.docs : undefined;
    if (!Array.isArray(docs)) throw missingBulkDocs();
    const newEdits = (options.new_edits ?? given.new_edits) !== false;
    const checked = docs.map((doc: unknown) => checkEdit(doc, newEdits));
    const http = await this.#ready(options.signal);
    // A request that says nothing is not made.
    return checked.length === 0 ? [] : sendBulk(http, checked, newEdits, options.signal);
  }

  async bulkGet({
    docs,
    revs,
    latest,
    attachments,
    signal,
  }: BulkGetRequest & BulkGetOptions): Promise<BulkGetResult<Content>> {
    if (!Array.isArray(docs)) throw missingBulkDocs();
    const http = await this.#ready(signal);
    return docs.length === 0
      ? { results: [] }
      : bulkGetOver<Content>(http, docs, { revs, latest, attachments, signal });
  }

  async allDocs(options: AllDocsOptions = {}): Promise<AllDocsResult<Content>> {
    const call = allDocsCall(options);
    const http = await this.#ready(options.signal);
    return check.checkAllDocs<Content>(await http.json(call));
  }

  changes(options: ChangesOptions = {}): ChangesFeed<Content> {
    return remoteChanges<Content>(() => this.#ready(), options, this.#options.feed === 'continuous');
  }

  async revsDiff(
    revs: Record<string, readonly Rev[]>,
    { signal }: CallOptions = {},
  ): Promise<RevsDiffResult> {
    if (!isObject(revs)) throw badRequest('Revisions must be lists by document id');
    const http = await this.#ready(signal);
    if (Object.keys(revs).length === 0) return Object.create(null) as RevsDiffResult;
    return check.checkRevsDiff(
      await http.json({ method: 'POST', path: '/_revs_diff', body: revs, signal }),
      revs,
    );
  }

  async putAttachment(): Promise<Written> {
    throw notImplemented('Attachments are not supported yet');
  }

  async getAttachment(): Promise<BinaryData> {
    throw notImplemented('Attachments are not supported yet');
  }

  async openAttachment(): Promise<OpenedAttachment> {
    throw notImplemented('Attachments are not supported yet');
  }

  async removeAttachment(): Promise<Written> {
    throw notImplemented('Attachments are not supported yet');
  }

  async compact(options: CallOptions & { readonly interval?: number } = {}): Promise<{ ok: true }> {
    const { signal, interval = COMPACT_INTERVAL_MS } = options;
    const http = await this.#ready(signal);
    check.checkOk(await http.json({ method: 'POST', path: '/_compact', body: {}, signal }), 'the compaction');
    while ((await this.info({ signal })).compact_running === true) await pause(interval, signal);
    return { ok: true };
  }

  async purge(
    id: string,
    rev: Rev,
    { signal }: CallOptions = {},
  ): Promise<{ ok: true; deletedRevs: Rev[]; documentWasRemovedCompletely: boolean }> {
    const http = await this.#ready(signal);
    const body = new Map([[id, [rev]]]);
    const answer = await http.json({
      method: 'POST',
      path: '/_purge',
      body: Object.fromEntries(body),
      signal,
      docId: id,
    });
    const deletedRevs = check.checkPurged(answer, id);
    if (deletedRevs.length === 0) throw notFound('missing', id);
    const left = await this.get(id, { open_revs: 'all', signal }).catch((error: unknown) => {
      if (isDatabaseError(error) && error.status === 404) return [];
      throw error;
    });
    return { ok: true, deletedRevs, documentWasRemovedCompletely: left.length === 0 };
  }

  async close(): Promise<void> {
    this.#end();
  }

  /** A database that is not there is destroyed already. */
  async destroy({ signal }: CallOptions = {}): Promise<{ ok: true }> {
    const http = this.#connection();
    try {
      check.checkOk(await http.json({ method: 'DELETE', path: '', signal }), 'the deletion');
    } catch (error) {
      if (!isDatabaseError(error) || error.status !== 404) throw error;
    }
    this.#end();
    return { ok: true };
  }

  #end(): void {
    this.#ended = true;
    if (this.#http instanceof Http) this.#http.close();
  }

  /** @throws closed, or why the URL is none */
  #connection(): Http {
    if (this.#ended) throw closed();
    if (this.#http instanceof Http) return this.#http;
    throw this.#http.error;
  }

  /** The connection to a database that is there. One look serves all calls; a failed one is not remembered. */
  async #ready(signal?: AbortSignal): Promise<Http> {
    const http = this.#connection();
    signal?.throwIfAborted();
    if (this.#options.skip_setup === true || this.#found) return http;
    this.#setup ??= setUp(http).catch((error: unknown) => {
      this.#setup = undefined;
      throw error;
    });
    await untilAborted(this.#setup, signal);
    this.#found = true;
    return http;
  }
}

function connect(url: string, options: RemoteOptions): Http | { readonly error: unknown } {
  let target: Target;
  try {
    target = parseTarget(url);
  } catch (error) {
    return { error };
  }
  return new Http(target, options);
}

async function setUp(http: Http): Promise<void> {
  try {
    await http.json({ method: 'GET', path: '' });
  } catch (error) {
    if (!isDatabaseError(error) || error.status !== 404) throw error;
    await create(http);
  }
}

async function create(http: Http): Promise<void> {
  try {
    check.checkOk(await http.json({ method: 'PUT', path: '' }), 'the creation');
  } catch (error) {
    // Somebody else made it meanwhile.
    if (!isDatabaseError(error) || error.status !== 412) throw error;
  }
}

/** The server's uuid and the database's path. Where the server does not say, or may not be asked, the URL has to do. */
async function identify(http: Http, signal: AbortSignal | undefined): Promise<string> {
  const { database, path } = http.target;
  try {
    const answer = await http.json({ method: 'GET', base: 'root', path: '', signal });
    const { uuid: server } = check.checkObject(answer, 'the welcome');
    return typeof server === 'string' && server !== '' ? `${server}/${path}` : database;
  } catch (error) {
    // For good: what may pass (5xx, no connection) must not change the id, on which checkpoints hang.
    if (isDatabaseError(error) && [403, 404, 405].includes(error.status)) return database;
    throw error;
  }
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** @throws the signal's reason */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await untilAborted(over, signal).finally(() => clearTimeout(timer));
}
