/** `settledb/journal`: the contract for authors of adapters. */

export { DatabaseError, type Durability, type MakesRoom, type TextRef } from '@settledb/core';
export {
  type Adapter,
  BLOCKS_PER_COMMIT,
  type BlobJournal,
  type Block,
  type Blocked,
  type BlockedOptions,
  type Commit,
  type CommitRead,
  type DestroyOptions,
  type Journal,
  type JournalEvent,
  type JournalState,
  type OpenOptions,
  type PlacedChunk,
  type Position,
  type Rewrite,
} from '@settledb/engine';
