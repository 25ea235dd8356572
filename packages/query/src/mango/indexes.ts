/**
 * Indexes as design documents of the language `query`: created, listed, removed. They replicate like any document, and design
 * documents made by CouchDB work here, and ours work there.
 */
import {
  type AllDocsRow,
  badRequest,
  type CallOptions,
  type CreateIndexResult,
  checkSelector,
  type Database,
  type DatabaseTables,
  type Doc,
  type ExistingDoc,
  hash128,
  isDatabaseError,
  isGroup,
  notFound,
  type Selector,
  type Store,
  show,
  unlessMissing,
  withPatterns,
} from '@settledb/core';
import { DESIGN_IDS, designId } from '../design';
import { checkFields, invalid } from './fields';
import { type IndexField, indexesOf, type MangoIndex } from './mango-index';
import { normalizeSelector } from './normalize';

/** Reads and writes of index definitions: a database, or one that is closing and lets the call finish. */
export interface Documents extends Pick<Database, 'get'> {
  put(doc: Doc & { _id: string }, options: CallOptions): Promise<unknown>;
}
type Design = Doc<{ language?: unknown; views?: Record<string, View> }>;
interface View {
  readonly map: unknown;
  readonly [more: string]: unknown;
}

/** Eight calls at once on one design document must work; each round lets one of them through. */
const MAX_ATTEMPTS = 100;

/** What `createIndex` was asked for. */
interface NewIndex extends MangoIndex {
  readonly view: View;
}

export interface MadeIndex extends CreateIndexResult {
  /** There was no design document before. */
  readonly isNewDesign: boolean;
}

/**
 * Reads a request in either form, `{ index: { fields }, … }` or flat.
 * @throws DatabaseError 400 in CouchDB's words
 */
export function checkIndexRequest(request: unknown): NewIndex {
  if (!isGroup(request)) throw badRequest('You must provide an index to create');
  const index = indexIn(request);
  const fields = fieldsOf(index);
  const ddoc = nameOf(request.ddoc ?? index.ddoc);
  const name = nameOf(request.name ?? index.name);
  const view = viewOf(fields, index.partial_filter_selector);
  const made = `idx-${hash128(0, 0, 0, 0, JSON.stringify([view, name]))}`;
  return { ddoc: designId(ddoc ?? made), name: name ?? made, fields, view };
}

type Members = Readonly<Record<string, unknown>>;

/** What tells of the index itself: a member of the request, or all of it. */
function indexIn(request: Members): Members {
  const index = request.index ?? (request.fields === undefined ? undefined : request);
  if (index === undefined) throw invalid('missing_required_key', 'Missing required key: index');
  if (!isGroup(index)) throw invalid('invalid_index', `JSON indexes must be an object, not: ${show(index)}`);
  const type = request.type ?? index.type ?? 'json';
  if (type !== 'json')
    throw invalid('invalid_index', `Invalid type for index: ${typeof type === 'string' ? type : show(type)}`);
  if (index !== request) checkKeys(request, REQUEST_KEYS);
  checkKeys(index, INDEX_KEYS);
  return index;
}

function fieldsOf({ fields: given }: Members): readonly IndexField[] {
  if (given === undefined) throw invalid('missing_required_key', 'Missing required key: fields');
  const fields = checkFields(given);
  if (new Set(fields.map(({ direction }) => direction)).size <= 1) return fields;
  const reason = 'Sorts currently only support a single direction for all fields.';
  throw invalid('unsupported_mixed_sort', reason);
}

const INDEX_KEYS = new Set(['fields', 'partial_filter_selector', 'name', 'ddoc', 'type']);
/** The last two are CouchDB's, and have no effect here. */
const REQUEST_KEYS = new Set(['index', 'name', 'ddoc', 'type', 'w', 'partitioned']);

/** A `partial_filter_selector` next to `index`, for example, would be ignored and make an index of all documents. */
function checkKeys(given: Members, known: ReadonlySet<string>): void {
  const unknown = Object.keys(given).find((key) => given[key] !== undefined && !known.has(key));
  if (unknown !== undefined) throw invalid('invalid_key', `Invalid key ${unknown} for this request.`);
}

function nameOf(given: unknown): string | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given !== 'string') throw invalid('invalid_string', `Invalid string: ${show(given)}`);
  if (given !== '') return given;
  throw invalid('invalid_empty_string', 'Index name or ddoc cannot be empty string');
}

/** In CouchDB's form, so that it can be read there: the index in `map`, the request in `options`. */
function viewOf(fields: readonly IndexField[], filter: unknown): View {
  // In a design document a RegExp would be an empty object.
  const partial = filter === undefined ? undefined : (withPatterns(checkSelector(filter)) as Selector);
  return {
    map: {
      fields: Object.fromEntries(fields.map(({ name, direction }) => [name, direction])),
      ...(partial && { partial_filter_selector: normalizeSelector(partial) }),
    },
    reduce: '_count',
    options: { def: { fields: fields.map(shortest), ...(partial && { partial_filter_selector: partial }) } },
  };
}

/** `a` and `{ a: 'asc' }` say the same. An index without a name is named by its text, so that text must be the same too. */
const shortest = ({ name, direction }: IndexField): unknown =>
  direction === 'asc' ? name : { [name]: direction };

/**
 * Writes the index into its design document. An index that exists already is left alone, revision included.
 * @throws DatabaseError 400 for a design document of another language, or one that has a view of that name
 */
export async function createIndex(
  database: Documents,
  { ddoc, name, view }: NewIndex,
  { signal }: CallOptions,
): Promise<MadeIndex> {
  for (let attempt = 1; ; attempt++) {
    const known = await getDesign(database, ddoc, signal);
    const isNewDesign = known === undefined;
    const design = known ?? { _id: ddoc, language: 'query' };
    checkDesign(design, name);
    const views = design.views ?? {};
    if (Object.hasOwn(views, name) && sameMap(views[name]!, view))
      return { result: 'exists', id: ddoc, name, isNewDesign };
    const next = { ...design, views: { ...views, [name]: view } };
    if (await tryPut(database, next, signal, attempt))
      return { result: 'created', id: ddoc, name, isNewDesign };
  }
}

/** Of the language `query`: one that names none is in JavaScript, and would be no more if it were given the other. */
function checkDesign({ _id, language = 'javascript', views }: Design, name: string): void {
  if (language !== 'query')
    throw invalid(
      'invalid_ddoc_lang',
      `Existing design doc has an invalid language: ${_id} is in ${language}`,
    );
  if (views === undefined) return;
  if (!isGroup(views)) throw invalid('invalid_ddoc', `The views of ${_id} are no object`);
  const known = Object.hasOwn(views, name) ? views[name] : undefined;
  if (known === undefined || (isGroup(known) && isGroup(known.map))) return;
  throw invalid('invalid_ddoc', `${_id} has a view named ${name} that is no index`);
}

function sameMap(known: View, wanted: View): boolean {
  const [one] = indexesOf(designWith(known));
  const [other] = indexesOf(designWith(wanted));
  return JSON.stringify([one?.fields, one?.partial]) === JSON.stringify([other?.fields, other?.partial]);
}

const designWith = (view: View): ExistingDoc<object> =>
  ({ _id: '', _rev: '', language: 'query', views: { view } }) as ExistingDoc<object>;

/**
 * Removes an index from its design document, and the document if nothing is left in it, unless it is to be kept.
 * @throws DatabaseError 400 without `ddoc` and `name`, 404 `not_found`
 */
export async function deleteIndex(
  database: Documents,
  given: { readonly ddoc: unknown; readonly name: unknown; readonly type?: unknown },
  { signal, keepsDesign = false }: CallOptions & { readonly keepsDesign?: boolean },
): Promise<{ ok: true }> {
  if (!isGroup(given)) throw badRequest('You must provide an index to delete');
  if (!given.ddoc) throw badRequest('You must supply an index.ddoc when deleting');
  if (!given.name) throw badRequest('You must supply an index.name when deleting');
  const [ddoc, name] = [designId(String(given.ddoc)), String(given.name)];
  for (let attempt = 1; ; attempt++) {
    const design = await getDesign(database, ddoc, signal);
    const isIndex =
      design !== undefined && indexesOf(design as ExistingDoc<object>).some((each) => each.name === name);
    if (!isIndex || (given.type !== undefined && given.type !== 'json')) throw notFound('missing', ddoc);
    const { [name]: _, ...views } = design.views ?? {};
    const { views: __, ...rest } = design;
    const left = Object.keys(views).length > 0 ? { ...rest, views } : rest;
    const isEmpty =
      !keepsDesign && Object.keys(left).every((key) => ['_id', '_rev', 'language'].includes(key));
    const next = isEmpty ? { _id: ddoc, _rev: design._rev!, _deleted: true } : left; // it was read, so it has one
    if (await tryPut(database, next, signal, attempt)) return { ok: true };
  }
}

async function getDesign(
  database: Documents,
  id: string,
  signal: AbortSignal | undefined,
): Promise<Design | undefined> {
  return (await database.get(id, { signal }).catch(unlessMissing)) as Design | undefined;
}

/** False if another write came first, so that it has to be read again. */
async function tryPut(
  database: Documents,
  doc: object,
  signal: AbortSignal | undefined,
  attempt: number,
): Promise<boolean> {
  try {
    await database.put(doc as Doc & { _id: string }, { signal });
    return true;
  } catch (error) {
    if (isDatabaseError(error) && error.status === 409 && attempt < MAX_ATTEMPTS) return false;
    throw error;
  }
}

/** The indexes of a database, read anew only from design documents that changed. */
export class IndexCatalog {
  readonly #database: Pick<Database, 'allDocs'>;
  #known = new Map<string, KnownDesign>();
  #list: readonly MangoIndex[] = [];

  constructor(database: Pick<Database, 'allDocs'>) {
    this.#database = database;
  }

  /** Like {@link list}, but at once, if the list is known and nothing changed since. */
  listNow(store: Store<DatabaseTables>): readonly MangoIndex[] | undefined {
    const [rows] = store.readNow(DESIGN_ROWS) ?? [];
    if (rows === undefined) return undefined;
    let known = 0;
    for (const { id, rev, deleted } of rows) {
      if (deleted) continue;
      if (this.#known.get(id)?.rev !== rev) return undefined;
      known++;
    }
    return known === this.#known.size ? this.#list : undefined;
  }

  /** Ordered by design document, and within one as they stand there. */
  async list({ signal }: CallOptions = {}): Promise<readonly MangoIndex[]> {
    const { rows } = await this.#database.allDocs({ ...DESIGNS, signal });
    const designs = rows as readonly AllDocsRow[]; // a range has no missing rows
    const isKnown = ({ id, value }: AllDocsRow): boolean => this.#known.get(id)?.rev === value.rev;
    if (designs.length === this.#known.size && designs.every(isKnown)) return this.#list;
    const next = new Map(designs.filter(isKnown).map(({ id }) => [id, this.#known.get(id)!])); // known
    const changed = designs.filter((row) => !isKnown(row)).map(({ id }) => id);
    const { rows: docs } = await this.#database.allDocs({ keys: changed, include_docs: true, signal });
    for (const row of docs) {
      if ('doc' in row && row.doc) next.set(row.id, { rev: row.value.rev, indexes: indexesOf(row.doc) });
    }
    this.#known = next;
    this.#list = designs.flatMap(({ id }) => next.get(id)?.indexes ?? []);
    return this.#list;
  }
}

interface KnownDesign {
  readonly rev: string;
  readonly indexes: readonly MangoIndex[];
}

const DESIGN_ROWS = [{ from: 'docs', range: DESIGN_IDS }] as const;
const DESIGNS = { startkey: DESIGN_IDS.gte, endkey: DESIGN_IDS.lt, inclusive_end: false };
