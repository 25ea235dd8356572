/**
 * What the suite holds in its hands: PouchDB's methods, typed loosely so that wrong input can be passed on purpose,
 * and so that any object with these methods can be put to the test (a wrapper, a worker's, a server's).
 */

export interface TestDoc {
  _id: string;
  _rev: string;
  _deleted?: boolean;
  _conflicts?: string[];
  _deleted_conflicts?: string[];
  _revisions?: { readonly start: number; readonly ids: readonly string[] };
  _attachments?: Record<string, TestStub>;
  _revs_info?: readonly { readonly rev: string; readonly status: string }[];
  [field: string]: unknown;
}

export interface TestWritten {
  readonly ok: true;
  readonly id: string;
  readonly rev: string;
}

/** One row of a bulk answer, written or refused. */
export interface TestBulkRow {
  readonly ok?: true;
  readonly id: string;
  readonly rev?: string;
  readonly error?: unknown;
  readonly status?: number;
  readonly name?: string;
}

export interface TestRow {
  readonly id?: string;
  readonly key: string;
  readonly value?: { readonly rev: string; readonly deleted?: true };
  readonly doc?: TestDoc | null;
  readonly error?: string;
}

export interface TestAllDocs {
  readonly total_rows: number;
  readonly offset: number | null;
  readonly rows: readonly TestRow[];
  readonly update_seq?: number | string;
}

export interface TestChange {
  readonly id: string;
  readonly seq: number | string | null;
  readonly changes: readonly { readonly rev: string }[];
  readonly deleted?: true;
  readonly doc?: TestDoc | null;
}

export interface TestChanges {
  readonly results: readonly TestChange[];
  readonly last_seq: number | string;
  readonly pending?: number;
}

export interface TestFeed extends PromiseLike<unknown> {
  // biome-ignore lint/suspicious/noExplicitAny: what a listener gets depends on the event's name
  on(event: string, listener: (value: any) => void): unknown;
  cancel(): void;
}

export interface TestOpenRev {
  readonly ok?: TestDoc;
  readonly missing?: string;
}

export interface TestBulkGet {
  readonly results: readonly {
    readonly id: string;
    readonly docs: readonly { readonly ok?: TestDoc; readonly error?: unknown }[];
  }[];
}

export interface TestInfo {
  readonly db_name: string;
  readonly doc_count: number;
  readonly update_seq: number | string;
  readonly adapter: string;
  readonly auto_compaction: boolean;
}

export interface TestStub {
  readonly content_type: string;
  readonly digest: string;
  readonly revpos: number;
  readonly length?: number;
  readonly stub?: true;
  readonly data?: unknown;
  readonly encoding?: string;
  readonly encoded_length?: number;
}

export interface TestOpened extends Omit<TestStub, 'stub' | 'data'> {
  readonly length: number;
  readonly size: number;
  readonly stream: ReadableStream<Uint8Array>;
}

/** The public methods of a database, promises only. */
export interface TestDatabase {
  readonly name: string;
  readonly adapter: string;
  id(): Promise<string>;
  info(): Promise<TestInfo>;
  put(doc: unknown, options?: object): Promise<TestWritten>;
  post(doc: unknown, options?: object): Promise<TestWritten>;
  get(id: unknown, options?: object): Promise<unknown>;
  remove(docOrId: unknown, optionsOrRev?: unknown, options?: object): Promise<TestWritten>;
  bulkDocs(docs: unknown, options?: object): Promise<readonly TestBulkRow[]>;
  bulkGet(request: unknown): Promise<TestBulkGet>;
  allDocs(options?: object): Promise<TestAllDocs>;
  changes(options?: object): TestFeed;
  revsDiff(
    revs: unknown,
    options?: object,
  ): Promise<
    Readonly<
      Record<string, { readonly missing: readonly string[]; readonly possible_ancestors?: readonly string[] }>
    >
  >;
  putAttachment(id: string, name: string, ...rest: unknown[]): Promise<TestWritten>;
  getAttachment(id: string, name: string, options?: object): Promise<unknown>;
  openAttachment(id: string, name: string, options?: object): Promise<TestOpened>;
  removeAttachment(id: string, name: string, rev: unknown, options?: object): Promise<TestWritten>;
  compact(options?: object): Promise<{ readonly ok: true }>;
  purge(id: string, rev: string): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: what a listener gets depends on the event's name
  on(event: string, listener: (value: any) => void): unknown;
  close(): Promise<unknown>;
  destroy(options?: object): Promise<unknown>;
}

/** An error as users see it. */
export interface TestError extends Error {
  readonly status?: number;
  readonly error?: unknown;
  readonly reason?: string;
  readonly docId?: string;
}
