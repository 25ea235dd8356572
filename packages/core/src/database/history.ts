/**
 * Of a database what goes beyond its documents as they are: feeds of changes, revisions that did not win, and what replications, dumps
 * and servers ask. Import it by `historyCode` alone.
 */
export { bulkGet, bulkGetJson } from './bulk-get';
export { run } from './changes-run';
export { getAny } from './get-history';
export { listLocal } from './local-list';
export { revsDiff } from './revs-diff';
