/** How a feed of changes is asked for: what goes into its URL and its body, and what is left for this side to test. */
import {
  type Change,
  type ChangesOptions,
  type ExistingDoc,
  functionName,
  longName,
  verdict,
  withPatterns,
} from '@settledb/core';
import { flag, IDLE_TIMEOUT_MS, type QueryValues } from './client-call';
import { badResponse } from './client-error';

/** Changes of one request of a live feed. Rows are some 100 bytes; with documents it is still a bounded answer. */
const LIVE_PAGE = 1_000;
/** Changes of one request, at least, where this side leaves out some: few of them may be ours. */
const LEAST_FILTERED = 100;
/** ms between signs of life asked of the server, PouchDB's default. */
const DEFAULT_HEARTBEAT_MS = 10_000;
/** Signs of life that may be missed before the connection counts as dead. */
const MISSED_HEARTBEATS = 3;
/**
 * ms that a server may be silent while it looks for changes that pass its filter. CouchDB sends no sign of life meanwhile, and if it was
 * asked anew, it would begin from where it did before. It looks at some 3,000 documents a second with a filter of JavaScript.
 */
const FILTERING_MS = 600_000;

type AnyDoc = ExistingDoc<Record<string, unknown>>;
export type Accept = (row: Change) => boolean;

/** What is tested on this side: a function, and ids next to a filter of the server, which accepts only one filter. */
export function acceptBy(options: ChangesOptions): Accept | undefined {
  const { filter, doc_ids, query_params } = options;
  if (typeof filter !== 'function') {
    const ids = hasIdsBeside(options) ? new Set(doc_ids) : undefined;
    return ids && (({ id }) => ids.has(id));
  }
  return ({ doc }) => {
    if (doc === undefined || doc === null) throw badResponse('_changes has a row without document');
    return verdict(filter, doc as AnyDoc, query_params);
  };
}

/** Whether there are ids next to another filter that the server has to apply. */
const hasIdsBeside = ({ filter, view, doc_ids }: ChangesOptions): boolean =>
  doc_ids !== undefined &&
  (typeof filter === 'string' ? filter !== '_doc_ids' : filter === undefined && view !== undefined);

/** What this side leaves out comes with its documents, and with each of many calls with a `limit`: never all that there is. */
export function pageSizeOf(options: ChangesOptions, filtersHere: boolean): number | undefined {
  const { batch_size, descending, limit } = options;
  if (isLive(options)) return batch_size || LIVE_PAGE;
  if (descending || !(batch_size || filtersHere)) return undefined;
  return batch_size || Math.min(Math.max(limit ?? LIVE_PAGE, LEAST_FILTERED), LIVE_PAGE);
}

export const isLive = ({ live, continuous }: ChangesOptions): boolean => Boolean(live || continuous);

/** Everything but `feed`, `since` and `limit`. */
export function feedQuery(options: ChangesOptions): QueryValues {
  const { style, descending, include_docs, conflicts, attachments, seq_interval, query_params } = options;
  const byFunction = typeof options.filter === 'function';
  const given = Object.entries((byFunction ? undefined : query_params) ?? {}).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return {
    // These come first, so that no parameter of a filter is taken for an option of the feed.
    ...Object.fromEntries(given),
    style,
    // A live feed goes on from its last row; descending, that would be the oldest, and everything would be sent again.
    descending: flag(descending && !isLive(options)),
    include_docs: flag(include_docs || byFunction),
    conflicts: flag(include_docs && conflicts),
    attachments: flag(include_docs && attachments),
    att_encoding_info: flag(include_docs && (options.att_encoding_info || attachments)),
    // Our filter may have to stop at any row, so each row must have its position.
    seq_interval: byFunction || hasIdsBeside(options) ? undefined : seq_interval,
    ...filterQuery(options),
  };
}

function filterQuery(options: ChangesOptions): QueryValues {
  const { filter, view, doc_ids, selector } = options;
  if (selector !== undefined) return { filter: '_selector' };
  if (doc_ids !== undefined && !hasIdsBeside(options)) return { filter: '_doc_ids' };
  if (typeof filter === 'function') return {};
  if (filter === '_view' || (filter === undefined && view !== undefined))
    return { filter: '_view', view: longName(view!) };
  // An empty name means no filter, locally as well as here.
  return { filter: !filter || filter.startsWith('_') ? filter || undefined : longName(filter) };
}

/** The design document with the function that a filter names. */
export const designOf = ({ filter, view }: QueryValues): string | undefined =>
  filter === '_view' || (typeof filter === 'string' && !filter.startsWith('_'))
    ? `_design/${functionName(String(filter === '_view' ? view : filter)).ddoc}`
    : undefined;

/** Sent in the body, where length does not matter. */
export function feedBody(options: ChangesOptions): object | undefined {
  const { doc_ids, selector } = options;
  if (selector !== undefined) return { selector: withPatterns(selector) };
  if (doc_ids !== undefined && !hasIdsBeside(options)) return { doc_ids };
  return undefined;
}

function heartbeatMs({ heartbeat }: ChangesOptions): number | undefined {
  if (heartbeat === false) return undefined;
  return heartbeat === true ? DEFAULT_HEARTBEAT_MS : (heartbeat ?? DEFAULT_HEARTBEAT_MS);
}

export function waitOptions(options: ChangesOptions): QueryValues {
  const { timeout } = options;
  return { heartbeat: heartbeatMs(options), timeout: timeout === false ? undefined : (timeout ?? undefined) };
}

/** How long a feed that does not wait may be silent; undefined: as long as any request. */
export const filteringMs = ({ filter }: QueryValues): number | undefined =>
  filter === undefined ? undefined : FILTERING_MS;

/** How long a longpoll may be silent: measured by heartbeats if there are any, otherwise by the time it may wait. */
export function idleMs(options: ChangesOptions): number {
  const heartbeat = heartbeatMs(options);
  if (heartbeat !== undefined) return Math.max(heartbeat * MISSED_HEARTBEATS, DEFAULT_HEARTBEAT_MS);
  return (typeof options.timeout === 'number' ? options.timeout : IDLE_TIMEOUT_MS) + IDLE_TIMEOUT_MS;
}
