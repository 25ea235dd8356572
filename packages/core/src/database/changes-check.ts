/** What every changes feed refuses, wherever its database is, before anything is sent. */
import { badRequest } from '../model/errors';
import { isTexts } from '../model/kinds';
import { isGroup } from '../model/selector';
import { isCount } from './count';
import type { ChangesOptions } from './database';
import { isFunctionName } from './filter-functions';
import { noNumber } from './query-checks';

const BUILT_IN = new Set(['_view', '_doc_ids', '_selector', '_design']);

/** @throws DatabaseError 400 for options of the wrong form, and for those that contradict each other */
export function checkChangesOptions(options: ChangesOptions): void {
  const { since, limit, batch_size, seq_interval, style, query_params } = options;
  // Some servers would take an empty `since` for none, and send all changes. Which other strings are valid only the database knows.
  if (since === '' || (since != null && typeof since !== 'string' && typeof since !== 'number'))
    throw badRequest("Malformed sequence supplied in 'since' parameter.");
  if (limit !== undefined && !Number.isSafeInteger(limit)) throw badRequest('`limit` must be a whole number');
  if (batch_size !== undefined && !isCount(batch_size))
    throw badRequest('`batch_size` must be a positive whole number');
  if (seq_interval !== undefined && !(Number.isSafeInteger(seq_interval) && seq_interval > 0))
    throw badRequest('invalid_seq_interval');
  if (style !== undefined && style !== 'main_only' && style !== 'all_docs')
    throw badRequest('`style` must be main_only or all_docs');
  if (query_params !== undefined && query_params !== null && !isGroup(query_params))
    throw badRequest('`query_params` must be an object');
  checkWaits(options);
  checkFilter(options);
}

/** Options of a server's live feed. A local feed has nothing to wait for, but the same program may ask either. */
function checkWaits({ heartbeat, timeout }: ChangesOptions): void {
  if (heartbeat != null && typeof heartbeat !== 'boolean' && !(isCount(heartbeat) && heartbeat > 0))
    throw badRequest('Invalid heartbeat value. Expecting a positive integer value (in milliseconds).');
  if ((timeout ?? false) !== false && !isCount(timeout)) throw noNumber('timeout', timeout);
}

function checkFilter({ filter, view, doc_ids, selector }: ChangesOptions): void {
  if (filter !== undefined && typeof filter !== 'function') checkFilterName(filter);
  if ((filter === '_doc_ids' || doc_ids !== undefined) && !isTexts(doc_ids))
    throw badRequest('`doc_ids` filter parameter is not a list.');
  if (filter === '_selector' && selector === undefined)
    throw badRequest('`selector` filter parameter is not provided.');
  if (filter === '_view' && !view) throw badRequest('`view` filter parameter is not provided.');
  if (view !== undefined && (filter === undefined || filter === '_view') && !isFunctionName(view))
    throw badRequest('`view` filter parameter must be of the form `designname/viewname`');
  if (selector === undefined) return;
  if (!isGroup(selector)) throw badRequest('Selector must be a JSON object');
  const other = filter ?? (view === undefined ? doc_ids && '_doc_ids' : '_view');
  if (other !== undefined && other !== '_selector')
    throw badRequest(`selector invalid for filter "${typeof other === 'function' ? 'function' : other}"`);
}

function checkFilterName(name: unknown): void {
  if (typeof name !== 'string') throw badRequest('`filter` must be a function or a name');
  if (name.startsWith('_')) {
    if (!BUILT_IN.has(name)) throw badRequest('unknown builtin filter name');
    return;
  }
  // PouchDB ignores such a filter: a caller that asked for some documents would get, or send out, all of them.
  if (name !== '' && !isFunctionName(name))
    throw badRequest('`filter` must be of the form `designname/filtername`');
}
