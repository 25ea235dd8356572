/**
 * Of a database what goes beyond its documents as they are: revisions that did not win, and what replications, dumps and servers ask.
 * Import it by `historyCode` alone.
 */
export { bulkGet, bulkGetJson } from './bulk-get';
export { getAny } from './get-history';
export { listLocal } from './local-list';
export { revsDiff } from './revs-diff';
