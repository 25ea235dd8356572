export { defaultBackOff } from './backoff';
export type { ReplicateOptions, SyncOptions } from './options';
export type { FailedRow, Peer } from './peer';
export type { Phase, ReplicationChange, ReplicationResult, ReplicationStatus } from './progress';
export { type Replication, replicate } from './replicate';
export { replicationId } from './replication-id';
export {
  type Direction,
  type Sync,
  type SyncChange,
  type SyncDenied,
  type SyncResult,
  sync,
  syncOf,
} from './sync';
