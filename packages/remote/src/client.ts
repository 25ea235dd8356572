/**
 * A database behind a URL: {@link Database} over HTTP, against CouchDB, our own server, or anything that talks like them.
 *
 * Nothing is known here of sequences (they are opaque), and nothing is believed that does not have the protocol's form.
 */
import {
  type AllDocsOptions,
  type AllDocsResult,
  type AttachmentData,
  type AttachmentsOptions,
  type BinaryData,
  type BulkDocsOptions,
  type BulkDocsRow,
  type BulkGetOptions,
  type BulkGetRequest,
  type BulkGetResult,
  type Bytes,
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
  invalidIdType,
  isDatabaseError,
  isLocalId,
  missingBulkDocs,
  missingId,
  notFound,
  type OpenAttachmentOptions,
  type OpenedAttachment,
  type OpenRevsRow,
  parseRev,
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
import { asEdit, checkEdit, fieldsOf, sendEdits } from './client-write';
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
  /** How bytes of attachments are given. Default: as Blobs. */
  readonly bytes?: Bytes | undefined;
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
    const receive = options.attachments ? await this.#receiver(options) : same;
    const answer = await http.json(call);
    if (options.open_revs !== undefined)
      return check
        .checkOpenRevs<Content>(answer, id)
        .map((row) => ('ok' in row ? { ok: receive(row.ok) } : row));
    if (call.query?.open_revs === undefined) return receive(check.checkDoc<Content>(answer, id));
    // `rev` with `latest` was asked as `open_revs`: see there.
    const found = check.checkOpenRevs<Content>(answer, id).find((row) => 'ok' in row);
    if (found === undefined) throw notFound('missing', id);
    return receive(found.ok);
  }

  /** Makes the data of attachments what was asked for, and checks it. */
  async #receiver(
    options: AttachmentsOptions,
  ): Promise<<D extends ExistingDoc | null | undefined>(doc: D) => D> {
    const { receiveDoc } = await import('./client-attachments');
    return (doc) => receiveDoc(doc, options, this.#options.bytes);
  }

  async put(doc: Doc<Content>, options: BulkDocsOptions = {}): Promise<Written> {
    const { signal } = options;
    const { id } = fieldsOf(doc);
    if (id === undefined) throw missingId();
    const { edit, new_edits } = asEdit(doc, options);
    const http = await this.#ready(signal);
    if (isDotId(id)) return this.#putInBulk(http, edit, new_edits, signal);
    let body = edit;
    if (edit._attachments !== undefined && !isLocalId(id)) {
      const { multipartCall, prepareDoc } = await import('./client-attachments');
      const prepared = await prepareDoc(edit, this.#options.bytes, signal);
      if ('alone' in prepared)
        return check.checkWritten(await http.json(multipartCall(prepared, new_edits, signal)), id);
      body = prepared.doc;
    }
    const answer = await http.json({
      method: 'PUT',
      path: `/${encodeDocId(id)}`,
      query: { new_edits: new_edits ? undefined : false },
      body,
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
    const [row] = await sendEdits(http, [doc], newEdits, signal, this.#options.bytes);
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
    if (checked.length === 0) return [];
    return sendEdits(http, checked, newEdits, options.signal, this.#options.bytes);
  }

  async bulkGet(request: BulkGetRequest & BulkGetOptions): Promise<BulkGetResult<Content>> {
    const { docs, ...options } = request;
    if (!Array.isArray(docs)) throw missingBulkDocs();
    const http = await this.#ready(options.signal);
    return docs.length === 0
      ? { results: [] }
      : bulkGetOver<Content>(http, docs, options, this.#options.bytes);
  }

  async allDocs(options: AllDocsOptions = {}): Promise<AllDocsResult<Content>> {
    const call = allDocsCall(options);
    const http = await this.#ready(options.signal);
    const answer = check.checkAllDocs<Content>(await http.json(call));
    if (!options.include_docs || !options.attachments) return answer;
    const receive = await this.#receiver(options);
    return {
      ...answer,
      rows: answer.rows.map((row) => ('doc' in row ? { ...row, doc: receive(row.doc) } : row)),
    };
  }

  changes(options: ChangesOptions = {}): ChangesFeed<Content> {
    const { feed, bytes } = this.#options;
    return remoteChanges<Content>(() => this.#ready(), options, { continuous: feed === 'continuous', bytes });
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

  putAttachment(
    id: string,
    name: string,
    rev: Rev | null | undefined,
    data: AttachmentData,
    type?: string,
    options?: CallOptions,
  ): Promise<Written>;
  putAttachment(id: string, name: string, data: AttachmentData, type?: string): Promise<Written>;
  async putAttachment(...given: readonly unknown[]): Promise<Written> {
    const [id, name, third, fourth, fifth, options = {}] = given as [string, string, ...unknown[]];
    const [rev, data, type] =
      given.length < 5 && !isRevArgument(third, fourth)
        ? [undefined, third, fourth]
        : [third || undefined, fourth, fifth];
    if (typeof name !== 'string' || name === '' || name.startsWith('_'))
      throw badRequest(`An attachment cannot be named ${JSON.stringify(name)}`);
    const { http, attachments } = await this.#forAttachment(id, name, options as CallOptions);
    const { bytes } = this.#options;
    if (rev !== undefined) parseRev(rev);
    const args = [
      rev as Rev | undefined,
      data,
      type as string | undefined,
      options as CallOptions,
      bytes,
    ] as const;
    return attachments.putAttachment(http, id, name, ...args);
  }

  async getAttachment(
    id: string,
    name: string,
    options: CallOptions & { readonly rev?: Rev | undefined } = {},
  ): Promise<BinaryData> {
    const { http, attachments } = await this.#forAttachment(id, name, options);
    return attachments.getAttachment(http, id, name, options, this.#options.bytes);
  }

  async openAttachment(
    id: string,
    name: string,
    options: OpenAttachmentOptions = {},
  ): Promise<OpenedAttachment> {
    const { http, attachments } = await this.#forAttachment(id, name, options);
    return attachments.openAttachment(http, id, name, options, this.#options.bytes);
  }

  async removeAttachment(id: string, name: string, rev: Rev, options: CallOptions = {}): Promise<Written> {
    parseRev(rev);
    const { http, attachments } = await this.#forAttachment(id, name, options);
    return attachments.removeAttachment(http, id, name, rev, options);
  }

  async #forAttachment(id: string, name: string, { signal }: CallOptions) {
    if (typeof id !== 'string') throw invalidIdType();
    if (isLocalId(id)) throw notFound('missing', id);
    // No attachment is called so.
    if (typeof name !== 'string' || name === '' || name.startsWith('_'))
      throw notFound('Document is missing attachment', id);
    if (isDotId(id) || name === '.' || name === '..') throw badRequest('No URL can name this attachment');
    const http = await this.#ready(signal);
    return { http, attachments: await import('./client-attachments') };
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

const same = <T>(value: T): T => value;

/** PouchDB's two forms: of four arguments, the last is the type and the one before the data, unless that can be no data. */
function isRevArgument(third: unknown, fourth: unknown): boolean {
  if (third === undefined || third === null || third === '')
    return fourth !== undefined && typeof fourth !== 'string';
  return typeof third === 'string' && typeof fourth !== 'string' && fourth !== undefined;
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
