/** The form of design documents, as CouchDB demands it. Their functions are not inspected. */
import { DatabaseError, isObject } from '@settledb/core';

const invalid = (reason: string): DatabaseError =>
  new DatabaseError({ status: 400, name: 'invalid_design_doc', reason });

/** Members that are objects, and the types of their own members. */
const MEMBERS: readonly (readonly [name: string, kinds: readonly string[]])[] = [
  ['filters', ['string', 'object']],
  ['lists', ['string', 'object']],
  ['shows', ['string', 'object']],
  ['updates', ['string', 'object']],
  ['options', []],
];

/** What follows the name is ignored, as in a query. */
const BUILT_IN_REDUCE =
  /^_(sum|count|stats|approx_count_distinct|first|last|(top|bottom)_([1-9]\d?|100))(?!\w)/;

/** @throws invalid_design_doc */
export function checkDesign(doc: Readonly<Record<string, unknown>>): void {
  const { language, views, validate_doc_update } = doc;
  if (language !== undefined && typeof language !== 'string')
    throw invalid('`language` field must have string type');
  for (const [name, kinds] of MEMBERS) checkMember(name, doc[name], kinds);
  if (validate_doc_update !== undefined && typeof validate_doc_update !== 'string')
    throw invalid('`validate_doc_update` field must have string type');
  // The views of another language have a form unknown here; `query` is Mango's.
  if (views === undefined) return;
  if (!isObject(views)) throw invalid('`views` field must have object type');
  for (const [name, view] of Object.entries(views)) checkView(name, view, language);
}

function checkMember(name: string, value: unknown, kinds: readonly string[]): void {
  if (value === undefined) return;
  if (!isObject(value)) throw invalid(`\`${name}\` field must have object type`);
  if (kinds.length === 0) return;
  for (const [key, inner] of Object.entries(value)) {
    const kind = isObject(inner) ? 'object' : typeof inner;
    if (!kinds.includes(kind)) throw invalid(`\`${name}.${key}\` field must have ${kinds.join(' or ')} type`);
  }
}

function checkView(name: string, view: unknown, language: unknown): void {
  if (!isObject(view)) throw invalid(`\`views.${name}\` field must have object type`);
  const { map, reduce } = view;
  const isMango = language === 'query';
  // CommonJS modules are stored among the views, under `lib`.
  if (name === 'lib') return;
  if (map === undefined) throw invalid(`View \`${name}\` must contain map function`);
  if (typeof map !== 'string' && !(isMango && isObject(map)))
    throw invalid(`\`views.${name}.map\` field must have string type`);
  if (reduce === undefined) return;
  if (typeof reduce !== 'string') throw invalid(`\`views.${name}.reduce\` field must have string type`);
  if (reduce.startsWith('_') && !BUILT_IN_REDUCE.test(reduce))
    throw invalid(`\`${reduce}\` is not a supported reduce function.`);
}
