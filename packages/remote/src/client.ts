/**
 * A database behind a URL: {@link Database} over HTTP, against CouchDB, our own server, or anything that talks like them.
 *
 * Sequences are opaque here, and an answer that does not have the protocol's form is never believed. This file checks calls
 * like a local database, before anything is sent; the requests are in the files next to it.
 */
import {
  type AllDocsOptions,
  type AllDocsResult,
  type AttachmentData,
  type BinaryData,
  type BulkDocsOptions,
  type BulkDocsRow,
  type BulkGetOptions,
  type BulkGetRequest,
  type BulkGetResult,
  type CallOptions,
  type ChangesFeed,
  type ChangesOptions,
  checkAttachmentName,
  checkId,
  checkRevLists,
  type Database,
  type DatabaseInfo,
  type Doc,
  docsOf,
  type ExistingDoc,
  type GetOptions,
  missingBulkDocs,
  type OpenAttachmentOptions,
  type OpenedAttachment,
  type OpenRevsRow,
  parseRev,
  type Queries,
  type Rev,
  type RevsDiffResult,
  setTakesApart,
  type Written,
} from '@settledb/core';
import { checkAttachmentUrl, putAttachmentCall } from './client-attachment-call';
import * as attachments from './client-attachments';
import { bulkGetOver } from './client-bulk-get';
import { remoteChanges } from './client-changes';
import { checkRevsDiff } from './client-check';
import { Connection } from './client-connection';
import * as whole from './client-database';
import { destroying, settledDestruction } from './client-destroying';
import { checkEdits, checkPut } from './client-edits';
import type { Http } from './client-http';
import { LocalDocs } from './client-local-docs';
import { nameOf } from './client-name';
import type { RemoteOptions } from './client-options';
import { RemoteQueries } from './client-queries';
import { allDocsCall, getCall, readAllDocs, readDoc } from './client-read';
import { putDoc, sendEdits } from './client-write';

/**
 * A remote database. Nothing is sent before the first call; an invalid URL makes every call reject.
 */
export function remote<Content extends object = object>(
  url: string,
  options: RemoteOptions = {},
): RemoteDatabase<Content> {
  return new RemoteDatabase<Content>(url, options);
}

export class RemoteDatabase<Content extends object = object>
  extends RemoteQueries<Content>
  implements Database<Content>, Queries<Content>
{
  readonly name: string;
  readonly adapter = whole.ADAPTER;
  readonly #options: RemoteOptions;
  readonly #connection: Connection;
  readonly #localDocs = new LocalDocs();

  constructor(url: string, options: RemoteOptions = {}) {
    super();
    // Not in a static block, for the reason given in `LocalDatabase`.
    setTakesApart(RemoteDatabase.prototype.bulkGet);
    this.name = options.name ?? nameOf(url);
    this.#options = options;
    this.#connection = new Connection(url, options);
  }

  async id({ signal }: CallOptions = {}): Promise<string> {
    signal?.throwIfAborted();
    return this.#connection.id(signal);
  }

  async info(options: CallOptions = {}): Promise<DatabaseInfo> {
    return whole.readInfo(await this.#connection.ready(options.signal), options);
  }

  get(
    id: string,
    options: GetOptions & { open_revs: 'all' | readonly Rev[] },
  ): Promise<OpenRevsRow<Content>[]>;
  get(id: string, options?: GetOptions & { open_revs?: undefined }): Promise<ExistingDoc<Content>>;
  get(id: string, options?: GetOptions): Promise<ExistingDoc<Content> | OpenRevsRow<Content>[]>;
  async get(id: string, options: GetOptions = {}): Promise<ExistingDoc<Content> | OpenRevsRow<Content>[]> {
    const call = getCall(id, options);
    const http = await this.#connection.ready(options.signal);
    if (options.open_revs?.length === 0) return [];
    const isPlain = options.rev === undefined && options.open_revs === undefined;
    const local =
      isPlain && this.#localDocs.takes(id) && (await this.#localDocs.read<Content>(http, id, options.signal));
    return local || readDoc<Content>(http, id, call, options);
  }

  async put(doc: Doc<Content>, options: BulkDocsOptions = {}): Promise<Written> {
    const { signal } = options;
    const sent = checkPut(doc, options);
    return this.#connection.write((http) => putDoc(http, sent, signal), signal);
  }

  async bulkDocs(
    input: readonly Doc<Content>[] | { readonly docs: readonly Doc<Content>[]; readonly new_edits?: boolean },
    options: BulkDocsOptions = {},
  ): Promise<BulkDocsRow[]> {
    const docs = docsOf(input);
    const newEdits = (options.new_edits ?? (input as { new_edits?: boolean }).new_edits) !== false;
    const checked = checkEdits(docs, newEdits);
    const { signal } = options;
    return this.#connection.write(async (http) => {
      // A request about nothing is not sent.
      if (checked.length === 0) return [];
      return sendEdits(http, checked, newEdits, signal);
    }, signal);
  }

  async bulkGet(request: BulkGetRequest & BulkGetOptions): Promise<BulkGetResult<Content>> {
    const { docs, ...options } = request ?? {};
    if (!Array.isArray(docs)) throw missingBulkDocs();
    const http = await this.#connection.ready(options.signal);
    return docs.length === 0 ? { results: [] } : bulkGetOver<Content>(http, docs, options);
  }

  async allDocs(options: AllDocsOptions = {}): Promise<AllDocsResult<Content>> {
    const call = allDocsCall(options);
    const http = await this.#connection.ready(options.signal);
    return readAllDocs<Content>(http, call, options);
  }

  changes(options: ChangesOptions = {}): ChangesFeed<Content> {
    const connect = () => this.#connection.ready();
    const missing = () => settledDestruction(this.address);
    return remoteChanges<Content>(connect, options, {
      continuous: this.#options.feed === 'continuous',
      missing,
    });
  }

  async revsDiff(
    revs: Record<string, readonly Rev[]>,
    { signal }: CallOptions = {},
  ): Promise<RevsDiffResult> {
    checkRevLists(revs);
    const http = await this.#connection.ready(signal);
    if (Object.keys(revs).length === 0) return Object.create(null) as RevsDiffResult;
    return checkRevsDiff(await http.json({ method: 'POST', path: '/_revs_diff', body: revs, signal }), revs);
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
    const call = putAttachmentCall(given);
    return this.#connection.write((http) => attachments.putAttachment(http, call), call.options.signal);
  }

  async getAttachment(
    id: string,
    name: string,
    options: CallOptions & { readonly rev?: Rev | undefined } = {},
  ): Promise<BinaryData> {
    checkAttachmentName(id, name);
    if (options.rev !== undefined) parseRev(options.rev);
    const http = await this.#connection.ready(options.signal);
    return attachments.getAttachment(http, id, name, options);
  }

  async openAttachment(
    id: string,
    name: string,
    options: OpenAttachmentOptions = {},
  ): Promise<OpenedAttachment> {
    checkAttachmentName(id, name);
    const http = await this.#connection.ready(options.signal);
    return attachments.openAttachment(http, id, name, options);
  }

  async removeAttachment(id: string, name: string, rev: Rev, options: CallOptions = {}): Promise<Written> {
    parseRev(rev);
    checkAttachmentUrl(id, name);
    return this.#connection.write(
      (http) => attachments.removeAttachment(http, id, name, rev, options),
      options.signal,
    );
  }

  async compact(options: CallOptions & { readonly interval?: number } = {}): Promise<{ ok: true }> {
    return whole.compact(await this.#connection.ready(options.signal), options);
  }

  async purge(
    id: string,
    rev: Rev,
    options: CallOptions = {},
  ): Promise<{ ok: true; deletedRevs: Rev[]; documentWasRemovedCompletely: boolean }> {
    checkId(id);
    parseRev(rev);
    return this.#connection.write((http) => whole.purge(http, id, rev, options), options.signal);
  }

  protected async ask<T>(
    options: CallOptions | null | undefined,
    work: (http: Http) => Promise<T>,
    writes = false,
  ): Promise<T> {
    const signal = options?.signal;
    return writes ? this.#connection.write(work, signal) : work(await this.#connection.ready(signal));
  }

  /** Writes made before are finished, for some seconds at most; everything else ends at once. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  /** The URL without credentials, in one spelling; `undefined` if invalid. Handles with the same address are of the same database. */
  get address(): string | undefined {
    return this.#connection.address;
  }

  /** A database that does not exist counts as destroyed. */
  async destroy(options: CallOptions = {}): Promise<{ ok: true }> {
    const work = (http: Http) => destroying(this.address, whole.destroy(http, options));
    await this.#connection.write(work, options.signal, true);
    this.#connection.end();
    return { ok: true };
  }
}
