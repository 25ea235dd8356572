export { Announcer } from './announcer';
export { runCode } from './load-run';
export type { ReplicateOptions, SyncOptions } from './options';
export type { FailedRow, Peer } from './peer';
export {
  type Phase,
  type ReplicationChange,
  type ReplicationResult,
  type ReplicationStatus,
  type Retried,
  StatusBoard,
  type Watched,
  watch,
} from './progress';
export {
  againOptions,
  type Replication,
  type ReplicationEvents,
  ReplicationFeed,
  replicate,
  type WatchedReplication,
} from './replicate';
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
