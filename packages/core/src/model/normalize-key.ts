/** Keys as views keep them. Apart from `collate.ts`, which only views and selectors need: `allDocs` takes keys too. */
import { toJson } from './json';
import type { Json } from './types';

/**
 * A value as JSON sees it, which is how a view keeps a key: `undefined`, `NaN` and infinities become null, a `Date` its ISO
 * text, -0 becomes 0; members of objects that are undefined are left out.
 *
 * @throws DatabaseError 400 for what JSON cannot express: BigInt, cycles, nesting beyond MAX_DEPTH
 */
export function normalizeKey(value: unknown): Json {
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  if (value === undefined || value === null) return null;
  const text = toJson(value);
  return text === undefined ? null : JSON.parse(text);
}

/** A list of keys likewise: a hole in it is null, as it is where the list crosses as JSON. @throws as {@link normalizeKey} */
export const normalizeKeys = (keys: readonly unknown[]): Json[] =>
  Array.from(keys, (key) => normalizeKey(key));
