/**
 * Selectors with every equality written out: `{ type: 'note' }` is `{ type: { $eq: 'note' } }`. CouchDB stores the filters of partial
 * indexes in this form and answers it in `_explain`, and the planner reads it.
 */
import { isGroup, type Selector } from '@settledb/core';

type Group = Record<string, unknown>;

/** Operators whose argument is a selector. */
const NESTED = new Set(['$not', '$elemMatch', '$allMatch', '$keyMapMatch']);
const LISTS = new Set(['$and', '$or', '$nor']);

/** @param selector checked (`checkSelector`); it is not changed */
export function normalizeSelector(selector: Selector): Selector {
  return mapMembers(selector, (key, value) => {
    if (LISTS.has(key)) return (value as Selector[]).map(normalizeSelector);
    if (NESTED.has(key)) return normalizeSelector(value as Selector);
    if (key.startsWith('$')) return value;
    return isGroup(value) && Object.keys(value).length > 0 ? normalizeSelector(value) : { $eq: value };
  });
}

/**
 * The selector of a `find`, in which conditions on `_id` with a value that is not a string have a meaning of their own: no id is below
 * such a value, all are above it, whatever its type. Applications write "all documents" as `{ _id: { $gt: null } }` and as
 * `{ _id: { $gt: {} } }`.
 *
 * @param selector normalized
 */
export function withIdRule(selector: Selector): Selector {
  return mapMembers(selector, (key, value) => {
    if (LISTS.has(key)) return (value as Selector[]).map(withIdRule);
    if (key === '$not') return withIdRule(value as Selector);
    return key === '_id' ? idConditions(value as Selector) : value;
  });
}

function idConditions(conditions: Selector): Selector {
  const parts = Object.entries(conditions).map(([key, value]): Selector => {
    if (LISTS.has(key)) return { [key]: (value as Selector[]).map(idConditions) };
    if (key === '$not') return { $not: idConditions(value as Selector) };
    if (typeof value === 'string') return { [key]: value };
    if (key === '$gt' || key === '$gte') return { $exists: true };
    if (key === '$lt' || key === '$lte') return { $in: [] };
    return { [key]: value };
  });
  return parts.length === 1 ? (parts[0] as Selector) : { $and: parts };
}

/** Own members only, in order, including one called `__proto__`. */
function mapMembers(group: Selector, map: (key: string, value: unknown) => unknown): Selector {
  return Object.fromEntries(Object.entries(group).map(([key, value]) => [key, map(key, value)])) as Group;
}
