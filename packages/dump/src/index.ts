export { checkProgress } from './check';
export { type DumpOptions, type DumpProgress, dump } from './dump';
export { isOwnLocal } from './format';
export type { Input } from './lines';
export { type LoadResult, load } from './load';
export {
  type LoadSnapshotOptions,
  loadSnapshot,
  type Manifest,
  type Sink,
  type SnapshotOptions,
  type SnapshotResult,
  writeSnapshot,
} from './snapshot';
export { isCheckpoint, isOfDocument, type LoadOptions, type LoadProgress, type Target } from './writer';
