/**
 * Which changes a feed is about: `filter`, `view`, `doc_ids` and `selector` made into tests on ids and documents.
 *
 * Tests on ids come first because they need no document; a change must pass all the tests asked for. A function of a design document
 * is read and evaluated once, when the feed begins: a later change of the design document does not reach a running feed.
 */
import { DatabaseError, notFound } from '../model/errors';
import { isDesignId } from '../model/ids';
import { checkSelector, compileSelector, type Effort, effortIn } from '../model/selector';
import type { ExistingDoc } from '../model/types';
import { type DatabaseTables, storedBody } from '../store/schema';
import type { Store } from '../store/store';
import type { ChangesOptions, FilterFunction } from './database';
import { functionName, isLate, verdict } from './filter-functions';
import { type Evaluate, evaluate } from './functions';

export interface Filter {
  /** The only ids that can pass, if they are listed. */
  readonly ids?: ReadonlySet<string>;
  /** Decides by the id alone. */
  readonly acceptId?: (id: string) => boolean;
  /** Decides by the winner. @throws DatabaseError 400 when the user's function throws */
  readonly acceptDoc?: (doc: ExistingDoc<Record<string, unknown>>) => boolean;
}

/** Where design documents are, and whether their functions may run. */
export interface FilterSource {
  readonly store: Store<DatabaseTables>;
  readonly evaluate?: Evaluate | undefined;
}

type AcceptDoc = NonNullable<Filter['acceptDoc']>;

/**
 * The filter that `options` describe.
 *
 * @param options whose form was checked: see `checkChangesOptions`
 * @throws DatabaseError 400 for a selector that makes no sense; 404 where the design document,
 *   or the function in it, is missing
 */
export async function makeFilter(source: FilterSource, options: ChangesOptions): Promise<Filter> {
  const { filter, view } = options;
  const ids = options.doc_ids === undefined ? undefined : new Set(options.doc_ids);
  const byDesign = filter === '_design' ? isDesignId : undefined;
  const acceptId = both(ids && ((id: string) => ids.has(id)), byDesign);
  const bySelector =
    options.selector === undefined ? undefined : selectorTest(options.selector, effortIn(options));
  let byFunction: AcceptDoc | undefined;
  if (typeof filter === 'function') byFunction = filterTest(filter, options);
  else if (filter === '_view' || (filter === undefined && view !== undefined))
    byFunction = await viewTest(source, view!);
  // An empty name counts as none.
  else if (filter && !filter.startsWith('_')) byFunction = await storedFilterTest(source, filter, options);
  const acceptDoc = both(bySelector, byFunction);
  return { ...(ids && { ids }), ...(acceptId && { acceptId }), ...(acceptDoc && { acceptDoc }) };
}

function both<A>(
  one: ((value: A) => boolean) | undefined,
  other: ((value: A) => boolean) | undefined,
): ((value: A) => boolean) | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return (value) => one(value) && other(value);
}

function selectorTest(selector: object, effort: Effort | undefined): AcceptDoc {
  return compileSelector(checkSelector(selector), effort);
}

const filterTest =
  (filter: FilterFunction, { query_params }: ChangesOptions): AcceptDoc =>
  (doc) =>
    verdict(filter, doc, query_params);

async function storedFilterTest(
  source: FilterSource,
  name: string,
  options: ChangesOptions,
): Promise<AcceptDoc> {
  const parts = functionName(name);
  const text = await functionText(source, parts.ddoc, ['filters', parts.name]);
  const filter = (source.evaluate ?? evaluate)(text)();
  return filterTest(filter, options);
}

/** Passes documents for which the map emits. A map that throws on a document has not emitted, as in a view. */
async function viewTest(source: FilterSource, view: string): Promise<AcceptDoc> {
  const { ddoc, name } = functionName(view);
  const text = await functionText(source, ddoc, ['views', name, 'map']);
  let emitted = false;
  const emit = (): void => {
    emitted = true;
  };
  const map = (source.evaluate ?? evaluate)(text, ['emit'])(emit);
  return (doc) => {
    emitted = false;
    try {
      isLate(map(doc, emit)); // then nobody hears what it comes to
    } catch {
      // not an error of the feed: see above
    }
    return emitted;
  };
}

async function functionText(source: FilterSource, ddoc: string, path: readonly string[]): Promise<string> {
  const id = `_design/${ddoc}`;
  const [[row]] = await source.store.read([{ from: 'docs', keys: [id], texts: ['body'] }]);
  if (row === undefined || row.deleted)
    throw new DatabaseError({
      status: 404,
      name: 'not_found',
      reason: row === undefined ? 'missing' : 'deleted',
      message: `missing: ${path[0] === 'views' ? 'view' : 'filter'} '${path[1]}' of ${id}`,
      docId: id,
    });
  let value: unknown = JSON.parse(storedBody(row));
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key))
      throw notFound(`missing json key: ${key}`, id);
    value = (value as Record<string, unknown>)[key];
  }
  if (typeof value !== 'string')
    throw new DatabaseError({
      status: 500,
      name: 'compilation_error',
      reason: `${path.join('.')} of ${id} is not the text of a function`,
      docId: id,
    });
  return value;
}
