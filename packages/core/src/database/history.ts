/**
 * The parts of a database that go beyond the current state of its documents: revisions that did not win, and what replications, dumps
 * and servers ask for. Import it only by `historyCode`.
 */
export { bulkGet, bulkGetJson } from './bulk-get';
export { getAny, openRevs } from './get-history';
export { listLocal } from './local-list';
export { revsDiff } from './revs-diff';
