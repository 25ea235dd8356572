/** `settledb/file`: databases in folders, for Node. */
export { type DamagedPart, type FileOptions, type Files, file } from '@settledb/adapter-file';
export {
  type LostRange,
  type LostRevision,
  type Recovered,
  type RecoverOptions,
  type RecoverProgress,
  type RecoverTarget,
  recover,
} from './recover';
export { type Verified, verify } from './verify';
