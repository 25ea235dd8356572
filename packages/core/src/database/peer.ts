/** What replications, dumps and servers ask of a database, and programs hardly ever. Import it by `peerCode` alone. */
export { bulkGet, bulkGetJson } from './bulk-get';
export { listLocal } from './local-list';
export { revsDiff } from './revs-diff';
