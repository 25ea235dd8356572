/** How the verbs of a handle may be called: without their object, with `null` for nothing, and never with a callback. */
import { checkSignal } from '@settledb/core';

/** Up to this argument, a verb may get a function that is no callback: a view's map; a source or a sink of bytes. */
const FUNCTIONS_UP_TO: Readonly<Record<string, number>> = { query: 1, putAttachment: 4, writeSnapshot: 1 };

/** It has no options, or nothing but them. */
const NONE = -1;

/** Verbs that work without their object, as `ids.map(db.get)`; and the place of their options. */
const BOUND_AT = {
  ...{ info: 0, id: 0, allDocs: 0, changes: 0, getIndexes: 0, viewCleanup: 0 },
  ...{ compact: 0, destroy: 0, dump: 0 },
  ...{ get: 1, put: 1, post: 1, remove: 1, bulkDocs: 1, revsDiff: 1, query: 1, viewInfo: 1 },
  ...{ createIndex: 1, deleteIndex: 1, load: 1, writeSnapshot: 1, loadSnapshot: 1, sync: 1 },
  ...{ getAttachment: 2, openAttachment: 2, purge: 2, queries: 2, removeAttachment: 3, putAttachment: 5 },
  ...{ bulkGet: NONE, find: NONE, explain: NONE, close: NONE },
};
export const BOUND = /* @__PURE__ */ Object.keys(BOUND_AT) as (keyof typeof BOUND_AT)[];

/** There programs may give something else: `get(id, rev)`, `replicate.to(peer, ids)`. */
const OPTIONS_AT: Readonly<Record<string, number>> = {
  ...BOUND_AT,
  ...{ 'replicate.to': 1, 'replicate.from': 1, 'SettleDB.replicate': 2, 'SettleDB.sync': 2 },
};

/** Verbs whose arguments before the options are peers. */
const OF_PEERS = /^(replicate|SettleDB|sync)\b/;

/** Verbs whose first argument is content, in which a `signal` is a field or an id like any other. */
const CONTENT = /^(put|post|remove|bulkDocs|revsDiff)$/;

/** The method; a TypeError if it is given a callback, a text or list for its options, or a `signal` that is none. Programs without types pass `null` for nothing. */
export const asVerb = <Args extends unknown[], Answer>(verb: string, method: (...args: Args) => Answer) => {
  const at = OPTIONS_AT[verb] ?? NONE;
  const peers = OF_PEERS.test(verb) ? at : 0; // the options of each of these are in the table
  const content = CONTENT.test(verb) ? 1 : 0;
  return (...args: Args): Answer => {
    for (let i = 0; i < args.length; i++) args[i] ??= undefined;
    if (args.length > (FUNCTIONS_UP_TO[verb] ?? 0)) refuseCallback(verb, args[args.length - 1]);
    // `remove(id, rev, options)`: beside an id there is a revision.
    const more = verb === 'remove' && typeof args[0] === 'string' ? 1 : 0;
    if (at >= 0) refuseOther(verb, args[at + more]);
    for (let i = 0; i < peers; i++) refuseNoPeer(args[i]);
    for (let i = content; i < args.length; i++) checkSignal(args[i]);
    return method(...args);
  };
};

/** @throws TypeError: at once, wherever the replication would run */
function refuseNoPeer(peer: unknown): void {
  if (typeof peer !== 'string' && !(typeof peer === 'object' && peer !== null))
    throw new TypeError(`Replication needs a name, a URL or a database on either side, not ${String(peer)}`);
}

/** @throws TypeError for a function that PouchDB would call and nothing here would: an error must not get lost */
export function refuseCallback(verb: string, last: unknown): void {
  if (typeof last === 'function')
    throw new TypeError(`${verb}() takes no callback: it returns a promise, or a feed with events`);
}

/**
 * @throws TypeError for options that are a text or a list: `get(id, rev)` would answer another revision, and `replicate.to(peer, ids)`
 *   would copy everything. A number may be the index of `map`.
 */
export function refuseOther(verb: string, options: unknown): void {
  const isText = typeof options === 'string';
  if (isText || Array.isArray(options))
    throw new TypeError(
      `${verb}() takes its options as an object, not ${isText ? JSON.stringify(options) : 'a list'}`,
    );
}
