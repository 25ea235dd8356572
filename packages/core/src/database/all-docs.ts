/**
 * `allDocs`: documents in the order of their ids, or by a list of keys.
 *
 * Rows of deleted documents lie between the live ones, and the store counts them for `skip` and `limit`: its counting is right only if
 * it met none. Otherwise more rows are read, still within one snapshot, until there are enough live ones.
 */
import { badRequest, docText, normalizeKeys, queryParseError } from '../model';
import type { AllDocsResult, AllDocsRow, Json, MissingRow } from '../model/types';
import type { Key } from '../store/keys';
import { type DatabaseTables, type DocRow, type InfoRow, storedBody } from '../store/schema';
import type { KeysQuery, Range, RangeQuery, Store } from '../store/store';
import { checkCount } from './count';
import type { AllDocsOptions } from './database';
import { INFO, INFO_QUERY, infoOf } from './info';
import { type KeptDocs, keptDocs } from './kept-docs';
import { losersOf } from './tip';

/**
 * An option for callers that only send the answer on: documents then come as their JSON text, so that none is parsed here just to be
 * stringified again. It has no effect with `conflicts` and `attachments`, nor on databases other than local ones.
 */
export const DOCS_AS_TEXT = Symbol.for('settledb.docsAsText');

type DatabaseStore = Store<DatabaseTables>;

/** What rows, and the answer around them, are made from. */
interface Page {
  readonly info: InfoRow;
  readonly rows: AllDocsResult['rows'];
}

/** @throws DatabaseError 400 for options that contradict each other or are of the wrong type */
export async function allDocs(store: DatabaseStore, options: AllDocsOptions): Promise<AllDocsResult> {
  options.signal?.throwIfAborted();
  checkCount('limit', options.limit);
  checkCount('skip', options.skip);
  const keys = keysOf(options);
  const { info, rows } =
    keys !== undefined ? await byKeys(store, keys, options) : await byRange(store, options);
  return {
    total_rows: info.doc_count,
    offset: options.skip ?? 0,
    rows,
    ...(options.update_seq ? { update_seq: info.update_seq } : {}),
  };
}

function keysOf(options: AllDocsOptions): readonly Json[] | undefined {
  const { keys } = options;
  if (keys === undefined) return undefined;
  if (!Array.isArray(keys)) throw badRequest('`keys` must be an array');
  const names = ['key', 'startkey', 'start_key', 'endkey', 'end_key'] as const;
  if (names.some((name) => options[name] !== undefined))
    throw queryParseError('`keys` is incompatible with `key`, `startkey` and `endkey`');
  return normalizeKeys(keys);
}

/** Which long fields are needed: bodies only for documents, trees only for their conflicts. */
function textsFor(options: AllDocsOptions): boolean | readonly string[] {
  if (!options.include_docs) return false;
  return options.conflicts ? true : ['body'];
}

async function byKeys(store: DatabaseStore, keys: readonly Json[], options: AllDocsOptions): Promise<Page> {
  const { skip = 0, limit = Number.POSITIVE_INFINITY } = options;
  const ordered = options.descending ? [...keys].reverse() : keys;
  const wanted = ordered.slice(skip, skip + limit);
  const ids = [...new Set(wanted.filter((key) => typeof key === 'string'))];
  const { info, docs, state } = await readDocs(store, { keys: ids }, options);
  const kept = keptDocs(store);
  const byId = new Map<unknown, DocRow | undefined>(ids.map((id, i) => [id, docs[i]]));
  const rows = wanted.map((key): AllDocsRow | MissingRow => {
    const row = byId.get(key);
    if (row === undefined) return { key: key as string, error: 'not_found' };
    if (!row.deleted) return liveRow(kept, row, state, options);
    const { id, rev } = row;
    return { id, key: id, value: { rev, deleted: true }, ...(options.include_docs ? { doc: null } : {}) };
  });
  return { info, rows };
}

async function byRange(store: DatabaseStore, options: AllDocsOptions): Promise<Page> {
  const { skip = 0, limit = Number.POSITIVE_INFINITY } = options;
  const range = rangeOf(options);
  if (range === undefined || limit === 0) {
    const [infos] = await store.read(INFO, { signal: options.signal });
    return { info: infoOf(infos), rows: [] };
  }
  const reverse = Boolean(options.descending);
  const which = { range, reverse, skip, limit };
  // The first read hopes to meet no deleted documents.
  let page = await readDocs(store, which, options);
  const isShort = page.docs.length === limit && !page.docs.every(isLive);
  if (page.info.doc_del_count > 0 && (skip > 0 || isShort)) page = await amongDeleted(store, which, options);
  const { info, docs, state } = page;
  const kept = keptDocs(store);
  return { info, rows: docs.filter(isLive).map((row) => liveRow(kept, row, state, options)) };
}

type Which = Required<Pick<RangeQuery<'docs'>, 'range' | 'reverse' | 'skip' | 'limit'>>;

/** The live rows asked for. It does without the store's skip, and reads with more room each time. */
async function amongDeleted(store: DatabaseStore, which: Which, options: AllDocsOptions): Promise<DocsRead> {
  const { range, reverse, skip, limit } = which;
  // First without the documents: of those that are skipped, or read in vain, none is wanted. Then those that are, by their ids.
  if (options.include_docs && limit < Number.POSITIVE_INFINITY) {
    const { info, docs } = await amongDeleted(store, which, { signal: options.signal });
    const page = await readDocs(store, { keys: docs.map((row) => row!.id) }, options); // each is live
    if (page.info.update_seq === info.update_seq) return page;
  }
  for (let room = skip + limit; ; ) {
    room += Math.max(room, MIN_EXTRA_ROWS);
    const page = await readDocs(store, { range, reverse, limit: room }, options);
    const docs = page.docs.filter(isLive).slice(skip, skip + limit);
    if (docs.length === limit || page.docs.length < room) return { ...page, docs };
  }
}

/** The least number of rows added for deleted documents in the way: reading a few more costs nearly nothing. */
const MIN_EXTRA_ROWS = 100;

const isLive = (row: DocRow | undefined): row is DocRow => row !== undefined && !row.deleted;

interface DocsRead {
  readonly info: InfoRow;
  readonly docs: readonly (DocRow | undefined)[];
  /** See {@link KeptDocs.doc}. */
  readonly state: number | undefined;
}

async function readDocs(
  store: DatabaseStore,
  which: Omit<KeysQuery<'docs'>, 'from'> | Omit<RangeQuery<'docs'>, 'from'>,
  options: AllDocsOptions,
): Promise<DocsRead> {
  const queries = [INFO_QUERY, { from: 'docs', texts: textsFor(options), ...which }] as const;
  const now = store.readNow(queries);
  const state = now && keptDocs(store).state;
  const [infos, docs] = now ?? (await store.read(queries, { signal: options.signal }));
  return { info: infoOf(infos), docs, state };
}

function liveRow(
  kept: KeptDocs,
  row: DocRow,
  state: number | undefined,
  options: AllDocsOptions,
): AllDocsRow {
  const { id, rev } = row;
  if (!options.include_docs) return { id, key: id, value: { rev } };
  if (!options.conflicts && (options as { [DOCS_AS_TEXT]?: boolean })[DOCS_AS_TEXT]) {
    return { id, key: id, value: { rev }, doc: docText(id, rev, false, storedBody(row)) as never };
  }
  const doc = kept.doc(row, state);
  const losers = options.conflicts && losersOf(row);
  if (losers) doc._conflicts = losers;
  return { id, key: id, value: { rev }, doc };
}

/** The range of ids asked for; `undefined` if no id can be in it. */
export function rangeOf(options: AllDocsOptions): Range | undefined {
  if (options.key !== undefined) {
    return typeof options.key === 'string' ? { gte: options.key, lte: options.key } : undefined;
  }
  const { startkey: start = options.start_key, endkey: end = options.end_key } = options;
  const [low, high] = options.descending ? [end, start] : [start, end];
  const open = options.inclusive_end === false;
  const lower = bound(low, open && options.descending ? 'gt' : 'gte', 'below');
  const upper = bound(high, open && !options.descending ? 'lt' : 'lte', 'above');
  if (lower === undefined || upper === undefined) return undefined;
  return { ...lower, ...upper };
}

/**
 * One end of the range. Bounds of other types lie beyond all ids, as in CouchDB's collation: null, booleans and numbers below,
 * arrays and objects above.
 * @param open the side on which such a bound does not limit
 * @returns `undefined` when no id is within
 */
function bound(
  value: unknown,
  name: keyof Range,
  open: 'below' | 'above',
): { [name in keyof Range]?: Key } | undefined {
  if (value === undefined) return {};
  if (typeof value === 'string') return { [name]: value };
  const side = typeof value === 'object' && value !== null ? 'above' : 'below';
  return side === open ? {} : undefined;
}
