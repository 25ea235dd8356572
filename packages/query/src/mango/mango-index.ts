/**
 * An index by fields: its form in its design document, and the rows that a document has in it.
 *
 * Rows of an index on `a, b`, by example (what stands between the values makes any range of them one range of keys):
 *
 *   { a: 1, b: 2 }        [1, 0, 2]
 *   { a: 1 }              [1, 0]                     b is absent
 *   { b: 2 }              none
 *   { a: [5, 6], b: 2 }   [[5, 6], 0, 2]             the list is one key, as in CouchDB, and besides, marked apart,
 *                         { 0: [5, 0, 2] }           each element by the number of its field: for `$in`, `$all`, `$elemMatch`
 *                         { 0: [6, 0, 2] }
 */
import {
  compileSelector,
  type ExistingDoc,
  fieldAt,
  fieldPath,
  hash128,
  isGroup,
  type Json,
  type Selector,
  toKey,
} from '@settledb/core';
import { indexName } from '../design';
import { type IndexDefinition, type IndexPolicy, policyOf } from '../index-reader';
import { isPlainName, isUnescaped, textField, UNTOLD } from '../text-fields';

type Direction = 'asc' | 'desc';
export interface IndexField {
  /** As it was written, with escapes. */
  readonly name: string;
  readonly direction: Direction;
}

export interface MangoIndex {
  /** `_design/…` */
  readonly ddoc: string;
  readonly name: string;
  readonly fields: readonly IndexField[];
  /** Normalized; only documents that match are in the index. */
  readonly partial?: Selector | undefined;
  readonly policy?: IndexPolicy | undefined;
}

/**
 * Elements of one list that get rows of their own. A list with more elements has one row that says so, which every search by
 * elements reads too.
 */
const MAX_ELEMENTS = 1_000;
/**
 * Characters that the rows of one list's elements may repeat. Each of them holds the values of all other fields again, so one
 * document with a list and a long text would become a thousand times its length. Such a list, too, has one row that says so.
 */
const MAX_REPEATED = 256 * 1024;
/** Stands for the elements of lists with too many of them; it sorts before all rows of elements. */
export const MANY_ELEMENTS = true;

/** Goes up when the form of rows changes: an index of another layout is another index. */
const LAYOUT = 1;

/** The index that holds the rows. Mango indexes of equal fields and filter share it, whatever their names and directions. */
export function definitionOf(index: MangoIndex): IndexDefinition {
  const known = definitions.get(index);
  if (known !== undefined) return known;
  const made = makeDefinition(index);
  definitions.set(index, made);
  return made;
}
const definitions = new WeakMap<MangoIndex, IndexDefinition>();

function makeDefinition({ ddoc, name, fields, partial, policy }: MangoIndex): IndexDefinition {
  const names = fields.map(({ name }) => name);
  const text = JSON.stringify([LAYOUT, names, partial ?? null]);
  const paths = names.map(fieldPath);
  // Compiled when first needed: a filter in a replicated design document may be invalid.
  let accepts: ((doc: object) => boolean) | undefined;
  const isText = partial === undefined && names.every(isPlainName);
  const ended = names.map((name) => `${name}"`);
  return {
    id: `mango-${hash128(LAYOUT, 0, 0, 0, text)}`,
    pure: true,
    policy,
    name: indexName(ddoc, name),
    keysIn: isText ? (body) => keysIn(ended, body) : undefined,
    map: (doc, emit) => {
      accepts ??= partial === undefined ? () => true : compileSelector(partial);
      if (accepts(doc)) for (const key of keysOf(paths, doc)) emit(key);
    },
  };
}

/** The keys of all rows that a document has. */
export function keysOf(paths: readonly (readonly string[])[], doc: object): Json[] {
  const plain: Json[] = [];
  const values: Json[] = [];
  for (const path of paths) {
    const value = fieldAt(doc, path);
    if (value === undefined) break;
    values.push(value as Json);
  }
  if (values.length === 0) return plain;
  plain.push(rowKey(values, paths.length));
  if (!values.some(Array.isArray)) return plain;
  const lengths = values.map((value) => toKey(value).length);
  const total = lengths.reduce((sum, length) => sum + length);
  values.forEach((value, at) => {
    if (!Array.isArray(value)) return;
    const most = Math.min(MAX_ELEMENTS, MAX_REPEATED / (total - lengths[at]!)); // as many lengths as values
    plain.push(...elementKeys(values, at, paths.length, most));
  });
  return plain;
}

/** Like {@link keysOf}, from the JSON of a document's content; `undefined` if that does not tell. @param names see {@link textField} */
function keysIn(names: readonly string[], body: string): Json[] | undefined {
  if (!isUnescaped(body)) return undefined;
  const values: Json[] = [];
  for (const name of names) {
    const value = textField(body, name);
    if (value === UNTOLD) return undefined;
    if (value === undefined) break;
    values.push(value);
  }
  return values.length === 0 ? [] : [rowKey(values, names.length)];
}

/** @param most elements that get rows of their own */
function elementKeys(values: readonly Json[], at: number, length: number, most: number): Json[] {
  const distinct = new Map<string, Json>();
  for (const element of values[at] as readonly Json[]) {
    distinct.set(toKey(element), element);
    if (distinct.size > most) return [{ [at]: MANY_ELEMENTS }];
  }
  return [...distinct.values()].map((element) => ({
    [at]: rowKey([...values.slice(0, at), element, ...values.slice(at + 1)], length),
  }));
}

/** Values with marks between them, and a mark at the end if they are not those of all `length` fields. */
export function rowKey(values: readonly Json[], length: number): Json[] {
  const key: Json[] = [];
  for (const value of values) key.push(value, PRESENT);
  if (values.length === length) key.pop();
  return key;
}

/** Between a value and what follows it. */
export const PRESENT = 0;
/** After all keys that go on with {@link PRESENT}. */
export const BEYOND = 1;

type Views = Record<string, { map?: unknown; options?: unknown }>;

/** The indexes of a design document, in its order; none if it has another language. */
export function indexesOf(doc: ExistingDoc<object>): MangoIndex[] {
  const { _id: ddoc, language, views } = doc as ExistingDoc<{ language?: unknown; views?: unknown }>;
  if (language !== 'query' || !isGroup(views)) return [];
  return Object.entries(views as Views).flatMap(([name, view]) => {
    const fields = fieldsOf(view);
    if (fields === undefined) return [];
    const filter = isGroup(view.map) ? view.map.partial_filter_selector : undefined;
    const partial = isGroup(filter) && Object.keys(filter).length > 0 ? filter : undefined;
    return [{ ddoc, name, fields, partial, policy: policyOf(doc) }];
  });
}

/** In the order in which they were given, which `map.fields`, an object, loses for names like `1`. */
function fieldsOf(view: unknown): IndexField[] | undefined {
  if (!isGroup(view) || !isGroup(view.map) || !isGroup(view.map.fields)) return undefined;
  const listed = Object.entries(view.map.fields);
  if (listed.some(([, direction]) => direction !== 'asc' && direction !== 'desc')) return undefined;
  const fields = listed.map(([name, direction]) => ({ name, direction: direction as Direction }));
  const given = isGroup(view.options) && isGroup(view.options.def) ? view.options.def.fields : undefined;
  if (!Array.isArray(given)) return fields;
  const order = given.map((each) => (isGroup(each) ? Object.keys(each)[0] : each));
  const rank = (name: string): number => order.indexOf(name);
  return fields.sort((one, other) => rank(one.name) - rank(other.name));
}
