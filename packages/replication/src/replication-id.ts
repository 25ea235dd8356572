/**
 * The name under which two databases remember how far a replication came: `_local/` and 32 hex digits, a function of the two
 * databases, the direction and the changes that are seen, and of nothing else.
 *
 * Canonical: the order of keys and of `doc_ids`, and different ways to say the same, make no difference; so the next run, in any
 * program, finds the checkpoint. Credentials are not part of it: `id()` of a remote database leaves them out.
 */
import { longName, revHash, type Seq } from '@settledb/core';
import type { ChangesQuery } from './options';

/** Goes up when the meaning of a checkpoint changes; every replication then starts over once. */
const VERSION = 1;

/**
 * The id of the checkpoint document, `_local/…`, the same on both sides.
 *
 * @param sourceId what `id()` of the source answers
 * @param since for a replication that knows nothing of what lies before it
 */
export function replicationId(sourceId: string, targetId: string, query: ChangesQuery, since?: Seq): string {
  const text = canonicalJson([
    VERSION,
    sourceId,
    targetId,
    meaning(query),
    ...(since === undefined ? [] : [since]),
  ]);
  return `_local/${revHash('replication', undefined, false, text)}`;
}

/**
 * Whether the id tells these changes from others. All bound functions have one text, as have those behind a proxy: what one filter had let
 * out would count for the next.
 */
export const isTelling = ({ filter }: ChangesQuery): boolean =>
  typeof filter !== 'function' || !/\{\s*\[native code\]\s*\}\s*$/.test(filter.toString());

/** Only what affects the changes: `view` counts with `_view`, `query_params` with a filter that can read them. */
function meaning(query: ChangesQuery): unknown {
  const { doc_ids, selector, query_params, view } = query;
  const filter = filterText(query);
  return {
    filter,
    view: filter === '_view' ? longName(view ?? '') : undefined,
    query_params: takesParameters(filter) ? query_params : undefined,
    doc_ids: doc_ids === undefined ? undefined : [...new Set(doc_ids)].sort(),
    selector,
    style: query.style === 'main_only' ? 'main_only' : undefined,
  };
}

function filterText({ filter, view }: ChangesQuery): string | undefined {
  if (typeof filter === 'function') return `function ${filter.toString()}`;
  // `doc_ids` and `selector` are in the id themselves; only a view needs its filter named.
  if (filter === '_doc_ids' || filter === '_selector') return undefined;
  if (filter === undefined) return view === undefined ? undefined : '_view';
  return filter.startsWith('_') ? filter : longName(filter);
}

const takesParameters = (filter: string | undefined): boolean => filter !== undefined && filter !== '_design';

/** JSON with the keys of every object in order of code units, and without those that are `undefined`. */
export function canonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, part: unknown) => {
      // A selector may hold a regular expression, and parameters anything that a filter function understands: JSON has `{}` or nothing for it.
      if (part instanceof RegExp || typeof part === 'function') return part.toString();
      if (part instanceof Set || part instanceof Map) return [...part];
      if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
      // No prototype: `__proto__` is a key like any other.
      const sorted: Record<string, unknown> = Object.create(null);
      for (const key of Object.keys(part).sort()) sorted[key] = (part as Record<string, unknown>)[key];
      return sorted;
    }) ?? 'null'
  );
}
