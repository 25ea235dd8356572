/** Recorded requests as calls of a `Database`, and what these should make of CouchDB's answers. */
import type { Database } from '@settledb/core';
import type { Any } from './recorded';

type AnyDatabase = Database<Record<string, unknown>>;

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: Any;
  readonly bodyType?: string;
  readonly bodyBase64?: string;
}

export interface RecordedCall {
  call(db: AnyDatabase): Promise<unknown>;
  /** @param body JSON, or a text, as it was recorded @param bytes what was recorded as bytes */
  expected(body: Any, bytes: Uint8Array | undefined): unknown;
}

/** Options that are called the same and have JSON values. */
type Names = readonly string[];
const GET: Names = [
  'rev',
  'revs',
  'revs_info',
  'conflicts',
  'deleted_conflicts',
  'local_seq',
  'open_revs',
  'latest',
];
const BULK_GET: Names = ['revs', 'latest', 'att_encoding_info'];
const ALL_DOCS: Names = [
  ...[
    'include_docs',
    'conflicts',
    'startkey',
    'start_key',
    'endkey',
    'end_key',
    'inclusive_end',
    'limit',
    'skip',
  ],
  ...['descending', 'key', 'keys', 'update_seq'],
];
const CHANGES: Names = [
  'feed',
  'since',
  'limit',
  'descending',
  'style',
  'include_docs',
  'conflicts',
  'filter',
];
const WAITING: Names = ['heartbeat', 'timeout', 'seq_interval'];

/** @returns undefined where no call stands for it */
export function callOf(asked: Asked): RecordedCall | undefined {
  const { method, path, body } = asked;
  const [recorded = '', search = ''] = path.split('?');
  // A slash at the end means nothing to CouchDB where the database is meant.
  const pathname = recorded.replace(/^(\/[^/]+)\/$/, '$1');
  const [, database = '', first, ...rest] = pathname.split('/').map(decode);
  if (database === '' || database.startsWith('_')) return undefined;
  const query = new URLSearchParams(search);
  const isJson =
    body === undefined || (typeof body === 'object' && body !== null && asked.bodyType !== 'text');
  if (!isJson || asked.bodyBase64 !== undefined || path.includes('%00')) return undefined;
  // As sent: two slashes, a slash at the end, steps and the like are the server's matter.
  const isOdd = pathname.includes('//') || pathname.endsWith('/') || /\/\.\.?(\/|$)/.test(pathname);
  // What is longer is asked for by a body.
  if (!isEncoded(pathname) || isOdd || pathname.length > 6_000) return undefined;
  const key = `${method} ${first ?? ''}${rest.length > 0 ? '/' : ''}`;
  switch (key) {
    case 'GET ':
      return query.size > 0 ? undefined : { call: (db) => db.info(), expected: infoOf(pathname) };
    case 'POST _bulk_get': {
      const options = read(query, BULK_GET);
      if (!Array.isArray(body?.docs) || options === undefined || !body.docs.every(isRequested))
        return undefined;
      if (wantsParts(asked)) return undefined;
      return { call: (db) => db.bulkGet({ docs: body.docs, ...options }), expected: bulkGetOf(body.docs) };
    }
    case 'POST _revs_diff':
      if (!isLists(body)) return undefined;
      return { call: (db) => db.revsDiff(body), expected: (answer) => answer };
    case 'POST _bulk_docs':
      return bulkDocsCall(body, query);
    case 'GET _all_docs':
    case 'POST _all_docs': {
      const options = read(query, ALL_DOCS);
      const named = Object.keys(body ?? {}).every((name) => name === 'keys');
      // Long ones go into the body.
      if (search.length > 1500) return undefined;
      if (options === undefined || !named || (body?.keys === undefined) !== (method === 'GET'))
        return undefined;
      if (options.keys !== undefined || !isTextKeys(body?.keys ?? [])) return undefined;
      return {
        call: (db) => db.allDocs({ ...options, ...body }),
        // With `keys` CouchDB says `null`; what was skipped is told then too, as by a local database.
        expected: ({ offset, ...answer }) => ({ ...answer, offset: offset ?? options.skip ?? 0 }),
      };
    }
    case 'GET _changes':
    case 'POST _changes':
      return changesCall(method, body, query);
  }
  const isDesign = first === '_design' && rest.length === 1;
  const isLocal = first === '_local' && rest.length === 1;
  if (first === undefined || (first.startsWith('_') && !isDesign && !isLocal)) return undefined;
  if (isDesign || isLocal || rest.length === 0) return docCall(asked, [first, ...rest].join('/'), query);
  return method === 'GET' && !range(asked) ? attachmentCall(first, rest.join('/'), query) : undefined;
}

function docCall(asked: Asked, id: string, query: URLSearchParams): RecordedCall | undefined {
  const { method, body } = asked;
  if (method === 'GET' && !wantsParts(asked) && !header(asked, 'if-none-match')) {
    const options = read(query, GET);
    // `rev` with `latest` is asked otherwise, by design.
    if (options === undefined || (options.rev !== undefined && options.latest)) return undefined;
    if (options.open_revs !== undefined && !header(asked, 'accept')?.includes('json')) return undefined;
    return { call: (db) => db.get(id, options as never) as Promise<unknown>, expected: (answer) => answer };
  }
  const plain = query.size === 0 && !header(asked, 'if-match');
  if (method === 'PUT' && plain && typeof body === 'object' && body?._id === id)
    return { call: (db) => db.put(body), expected: (answer) => answer };
  return undefined;
}

function attachmentCall(id: string, name: string, query: URLSearchParams): RecordedCall | undefined {
  const options = read(query, ['rev']);
  if (options === undefined) return undefined;
  return {
    call: async (db) => [
      ...Buffer.from(await ((await db.getAttachment(id, name, options)) as Blob).arrayBuffer()),
    ],
    expected: (body, bytes) => [
      ...(bytes ?? Buffer.from(typeof body === 'string' ? body : `${JSON.stringify(body)}\n`)),
    ],
  };
}

function bulkDocsCall(body: Any, query: URLSearchParams): RecordedCall | undefined {
  if (query.size > 0 || !Array.isArray(body?.docs) || body.docs.length === 0) return undefined;
  // Without an id our client gives one; attachments may go by other requests.
  const plain = (doc: Any): boolean => typeof doc?._id === 'string' && doc._attachments === undefined;
  if (!body.docs.every(plain)) return undefined;
  const { new_edits } = body;
  return {
    call: async (db) => {
      const rows = await db.bulkDocs(body.docs, new_edits === undefined ? {} : { new_edits });
      return rows.map((row) => ('error' in row ? { id: row.id, error: row.name } : row));
    },
    expected: (rows) => rows.map((row: Any) => (row.error ? { id: row.id, error: row.error } : row)),
  };
}

function changesCall(method: string, body: Any, query: URLSearchParams): RecordedCall | undefined {
  const options = read(query, [...CHANGES, ...WAITING]);
  if (options === undefined || !/^(normal|undefined)$/.test(String(options.feed))) return undefined;
  const { feed: _, heartbeat: _h, timeout: _t, ...rest } = options;
  const { filter } = rest;
  const given = Object.keys(body ?? {});
  const fits =
    method === 'GET'
      ? filter === undefined || filter === '_design'
      : (filter === '_doc_ids' && given.join() === 'doc_ids' && isTextKeys(body.doc_ids)) ||
        (filter === '_selector' && given.join() === 'selector' && typeof body.selector === 'object');
  // No limit of 0 (taken as 1), and a position is not checked here: it is the server's.
  if (!fits || rest.limit === 0) return undefined;
  return {
    call: (db) => db.changes({ ...rest, ...body }) as unknown as Promise<unknown>,
    expected: (answer) => answer,
  };
}

/** Where no revision was asked for an error row has the text `undefined`, or null: to a client that is one. And of the leaves the winner is meant. */
const bulkGetOf =
  (asked: Any[]) =>
  ({ results }: Any): unknown => ({
    results: results.map(({ id, docs }: Any, i: number) => ({
      id,
      docs: (asked[i].rev === undefined ? [...docs].sort(byRank).slice(0, 1) : docs).map((row: Any) => {
        if (row.error) return { error: { ...row.error, rev: row.error.rev ?? 'undefined' } };
        if (asked[i].rev !== undefined || !row.ok._deleted) return row;
        return { error: { id, rev: 'undefined', error: 'not_found', reason: 'deleted' } };
      }),
    })),
  });

/** The winner first. Generations of one digit. */
const byRank = ({ ok: a }: Any, { ok: b }: Any): number =>
  Number(a._deleted ?? false) - Number(b._deleted ?? false) || (a._rev < b._rev ? 1 : -1);

const infoOf =
  (pathname: string) =>
  (body: Any): unknown => ({
    ...body,
    host: `http://couch.test:5984${pathname}`,
    adapter: 'http',
    auto_compaction: false,
  });

/** @returns undefined when there are others than `names`, or values that are none */
function read(query: URLSearchParams, names: Names): Record<string, Any> | undefined {
  const options: Record<string, unknown> = {};
  for (const [name, text] of query) {
    if (!names.includes(name) || Object.hasOwn(options, name)) return undefined;
    options[name] = text;
    if (name === 'open_revs' && text === 'all') continue;
    if (TEXTS.has(name) && !/^"|^\d+$/.test(text)) continue;
    try {
      options[name] = JSON.parse(text);
    } catch {
      return undefined;
    }
  }
  return options;
}

const TEXTS: ReadonlySet<string> = new Set(['rev', 'since', 'style', 'filter', 'feed']);

const header = ({ headers = {} }: Asked, name: string): string | undefined =>
  Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];

const range = (asked: Asked): boolean =>
  header(asked, 'range') !== undefined || header(asked, 'if-none-match') !== undefined;
const wantsParts = (asked: Asked): boolean => header(asked, 'accept')?.includes('multipart/') ?? false;
const isTextKeys = (keys: Any): boolean =>
  Array.isArray(keys) && keys.every((key: unknown) => typeof key === 'string');
const isLists = (body: Any): boolean =>
  typeof body === 'object' && body !== null && Object.values(body).every((revs) => isTextKeys(revs));
const isRequested = (entry: Any): boolean =>
  typeof entry?.id === 'string' &&
  entry.id !== '' &&
  (entry.rev === undefined || (typeof entry.rev === 'string' && /^[1-9]\d*-[^-]*$/.test(entry.rev)));

/** What is no UTF-8, or no escape, cannot come of an id. */
function isEncoded(pathname: string): boolean {
  try {
    return typeof decodeURIComponent(pathname) === 'string';
  } catch {
    return false;
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
