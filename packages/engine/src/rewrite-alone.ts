/** One checkpoint or compaction, by one context at a time, and what it leaves to be vacuumed. */
import { corrupt, isQuotaExceeded } from '@settledb/core';
import { Aside } from './aside';
import type { Rewritable } from './checkpoint';
import { compactInPieces } from './in-pieces';
import { RESERVED_SHARE } from './journal';
import { Overtaken } from './new-blocks';
import { CHECKPOINT, COMPACTION, rewrite } from './rewrite';

export { isWorthwhile } from './worthwhile';

/** Texts are compacted unasked when more than half of at least this many characters is dead. */
const DEAD_LENGTH_MIN = 4 * 1024 * 1024;

/** What a database of this many commits keeps back at least: what it stores beside texts, its attachments above all, is not known here. */
const RESERVING_COMMITS = 1024;
const RESERVE_MIN = 256 * 1024;

function reserveFor({ image }: Rewritable): number {
  const share = image.use.characters * RESERVED_SHARE;
  return image.n < RESERVING_COMMITS ? share : Math.max(share, RESERVE_MIN);
}

/**
 * @param full everything: all pages, all blocks that are mostly dead, leftovers
 * @param isWanted asked again here: another context may have made the checkpoint that was due
 * @param ending says that it is waited for: nobody else is any more, and it ends the vacuum, which may take longer than all else and can be
 * done at any other time
 * @returns false where another context is at it
 */
export async function rewriteAlone(
  store: Rewritable,
  full: boolean,
  isWanted: () => Promise<boolean>,
  signal: AbortSignal | undefined,
  ending = signal,
): Promise<boolean> {
  const { journal, image, follower } = store;
  return journal.exclusively(async () => {
    if (journal.shared) await follower.catchUp();
    if (!(await isWanted())) return;
    const aside = new Aside(store, full ? undefined : ending);
    await aside.whileCalled();
    const { live, dead } = image.use.totals();
    const { epoch } = image;
    const isCompaction = full || (dead > live && dead > DEAD_LENGTH_MIN);
    try {
      await rewrite(store, isCompaction ? COMPACTION : CHECKPOINT, aside, signal).catch((error) => {
        if (!full || journal.keepBack === undefined || !isQuotaExceeded(error)) throw error;
        return compactInPieces(store, aside, signal, error);
      });
    } catch (error) {
      // Another context rewrote the storage, which `exclusively` should not let happen: then that is the rewrite.
      if (!(error instanceof Overtaken)) throw error;
      await follower.catchUp();
      if (image.epoch === epoch)
        throw corrupt('a block that the directory names is not in the storage', error);
    }
    await journal.vacuum?.({ force: full, signal: ending });
    journal.keepBack?.(reserveFor(store));
  });
}
