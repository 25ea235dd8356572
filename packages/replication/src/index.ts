export { Announcer } from './announcer';
export {
  type Phase,
  type ReplicationChange,
  type ReplicationResult,
  type ReplicationStatus,
  retriedOf,
} from './counters';
export { runCode } from './load-run';
export { oneByOne } from './one-by-one';
export type { ReplicateOptions, SyncOptions } from './options';
export type { FailedRow, Peer } from './peer';
export {
  againOptions,
  type Replication,
  type ReplicationEvents,
  ReplicationFeed,
  replicate,
  type WatchedReplication,
} from './replicate';
export { StatusBoard } from './status-board';
export {
  type Direction,
  type Sync,
  type SyncChange,
  type SyncDenied,
  type SyncEvents,
  type SyncResult,
  type SyncStatus,
  sync,
  syncOf,
} from './sync';
export { watch } from './watch';
