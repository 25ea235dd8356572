/** Lists of documents: `_all_docs`, `_design_docs`, `_local_docs`, and each with `queries`. */
import {
  type AllDocsOptions,
  badRequest,
  type ExistingDoc,
  isLocalId,
  notImplemented,
  queryParseError,
  unlessMissing,
} from '@settledb/core';
import { readObject, upTo } from './server-body';
import type { DatabaseContext, DatabaseRoute } from './server-context';
import { Options } from './server-options';
import type { Query } from './server-query';
import { beginning, keyedText, lineOf, pickedKeys, rangeText, written } from './server-rows';
import { AFTER_ROWS, beforeRow, gatheredResponse, severalResponse, type Text } from './server-several';

/** Local documents named in one request: each one is read separately. */
const MAX_LOCAL_KEYS = 1_000;
/** Which documents are listed. */
type Lister = (context: DatabaseContext, asked: Asked) => Text;

const route =
  (list: Lister): DatabaseRoute =>
  async (context) => {
    const { request, query, server } = context;
    const body = request.method === 'POST' ? await readObject(request, upTo(server)) : {};
    return gatheredResponse(lineOf(list(context, allDocsOptions(query, body))));
  };

/** `queries`: several lists, each with its options, in one answer. */
const queriesRoute =
  (list: Lister): DatabaseRoute =>
  async (context) => {
    const { request, query, server } = context;
    const { queries } = await readObject(request, upTo(server));
    if (queries === undefined) throw badRequest('POST body must include `queries` parameter.');
    return severalResponse(queries, (each) => list(context, allDocsOptions(query, each)));
  };

export const allDocs = route(listDocs);
export const allDocsQueries = queriesRoute(listDocs);
export const designDocs = route(listDesigns);
export const designDocsQueries = queriesRoute(listDesigns);
export const localDocs = route(listLocals);
export const localDocsQueries = queriesRoute(listLocals);

function listDocs(context: DatabaseContext, { keys, ...options }: Asked): Text {
  const rest = options as AllDocsOptions;
  return keys === undefined ? rangeText(context, rest) : keyedText(context, keys, rest);
}

/** Like `_all_docs`, within the ids of design documents. */
async function* listDesigns(context: DatabaseContext, asked: Asked): Text {
  const { database, request } = context;
  const signal = request.signal;
  const all = { startkey: '_design/', endkey: '_design0', inclusive_end: false };
  const total_rows = (await database.allDocs({ ...all, signal })).rows.length;
  if (asked.keys !== undefined) {
    const keys = asked.keys.filter((key) => typeof key === 'string' && key.startsWith('_design/'));
    return yield* keyedText(context, keys, asked as AllDocsOptions, { total_rows });
  }
  const { startkey, endkey, key, keys: _, descending, inclusive_end, ...rest } = withTextBounds(asked);
  const [low, high] = descending ? [endkey, startkey] : [startkey, endkey];
  const lowest = low !== undefined && low > all.startkey ? low : all.startkey;
  const highest = high !== undefined && high < all.endkey ? high : all.endkey;
  const bounds = descending ? { startkey: highest, endkey: lowest } : { startkey: lowest, endkey: highest };
  if (key !== undefined && !key.startsWith('_design/'))
    return yield JSON.stringify({ total_rows, offset: 0, rows: [] });
  const range = key === undefined ? { ...bounds, inclusive_end } : { key };
  yield* rangeText(context, { ...rest, ...range, descending }, { total_rows });
}

/** A database that can list its `_local/` documents, as `LocalDatabase` can. */
interface ListsLocals {
  localDocs(options: {
    startkey?: string | undefined;
    endkey?: string | undefined;
    inclusive_end?: boolean | undefined;
    descending?: boolean | undefined;
    limit?: number | undefined;
    skip?: number | undefined;
    include_docs?: boolean | undefined;
    signal?: AbortSignal | undefined;
  }): Promise<ExistingDoc[]>;
}

/** Nobody counts local documents. */
const ABOUT_LOCALS = { total_rows: null, offset: null };

/** The named ones of any database, or all of them if the database can list them. */
async function* listLocals({ database, request }: DatabaseContext, asked: Asked): Text {
  const { keys, key, include_docs } = asked;
  const signal = request.signal;
  const rowOf = (doc: ExistingDoc): object => ({
    id: doc._id,
    key: doc._id,
    value: { rev: doc._rev },
    ...(include_docs ? { doc } : {}),
  });
  let wanted: readonly unknown[];
  if (keys === undefined && key === undefined) {
    const { localDocs: list } = database as Partial<ListsLocals>;
    if (list === undefined) throw notImplemented('This database does not list its local documents');
    const docs = await list.call(database, { ...withTextBounds(asked), include_docs: false, signal });
    if (!include_docs) {
      yield beginning(ABOUT_LOCALS);
      yield* written(docs.map(rowOf), true);
      return yield AFTER_ROWS;
    }
    // Each is read when its row is taken, as they may be large.
    wanted = docs.map(({ _id }) => _id);
  } else {
    wanted = pickedKeys(keys ?? [key], asked);
    if (wanted.length > MAX_LOCAL_KEYS) throw badRequest(`At most ${MAX_LOCAL_KEYS} keys at a time`);
  }
  yield beginning(ABOUT_LOCALS);
  let isFirst = true;
  for (const each of wanted) {
    const isId = typeof each === 'string' && isLocalId(each);
    const doc = isId ? await database.get(each, { signal }).catch(unlessMissing) : undefined;
    if (doc === undefined && keys === undefined) continue;
    yield beforeRow(isFirst) + JSON.stringify(doc ? rowOf(doc) : { key: each, error: 'not_found' });
    isFirst = false;
  }
  yield AFTER_ROWS;
}

type Body = Record<string, unknown>;
type Bounds = 'startkey' | 'endkey' | 'key';
type Asked = Omit<AllDocsOptions, 'keys' | Bounds> & { keys?: unknown[] | undefined } & {
  [bound in Bounds]?: string | null | undefined;
};

/** `''` has the place of `null`: below all ids. */
const withTextBounds = ({ startkey, endkey, key, ...asked }: Asked) => ({
  ...asked,
  startkey: startkey ?? (startkey === null ? '' : undefined),
  endkey: endkey ?? (endkey === null ? '' : undefined),
  key: key ?? (key === null ? '' : undefined),
});

/** Options in the body win over those in the query. @throws query_parse_error, bad_request */
function allDocsOptions(query: Query, body: Body): Asked {
  const options = new Options(query, body);
  const bounds = {
    startkey: textKey(options.json('startkey', 'start_key')),
    endkey: textKey(options.json('endkey', 'end_key')),
    key: textKey(options.json('key')),
  };
  const keys = options.json('keys');
  if (keys !== undefined && !Array.isArray(keys)) throw badRequest('`keys` body member must be an array.');
  if (keys !== undefined && Object.values(bounds).some((bound) => bound !== undefined))
    throw queryParseError('`keys` is incompatible with `key`, `start_key` and `end_key`');
  return {
    ...bounds,
    keys: keys as unknown[] | undefined,
    include_docs: options.flag('include_docs'),
    conflicts: options.flag('conflicts'),
    attachments: options.flag('attachments'),
    att_encoding_info: options.flag('att_encoding_info'),
    inclusive_end: options.flag('inclusive_end'),
    descending: options.flag('descending'),
    update_seq: options.flag('update_seq'),
    limit: options.count('limit'),
    skip: options.count('skip'),
  };
}

/** Ids are strings: a bound of another type is refused rather than guessed at, except `null`, which is below all of them. */
function textKey(value: unknown): string | null | undefined {
  if (value === undefined || value === null) return value;
  if (typeof value !== 'string') throw queryParseError('Keys of _all_docs are strings');
  return value;
}
