/** One checkpoint or compaction, by one context at a time, and the vacuum after it. */
import { corrupt, isQuotaExceeded } from '@settledb/core';
import { Aside } from './aside';
import { DEAD_LENGTH_MIN, type Use } from './block-use';
import type { Rewritable } from './checkpoint';
import { compactInPieces } from './in-pieces';
import { type Journal, RESERVED_SHARE } from './journal';
import { Overtaken } from './new-blocks';
import { CHECKPOINT, COMPACTION, rewrite } from './rewrite';

/** From this many commits on RESERVE_MIN is kept back at least: what is stored beside texts, mainly attachments, is unknown here. */
const RESERVING_COMMITS = 1024;
const RESERVE_MIN = 256 * 1024;

/**
 * Those whose storage was swept. A page that is left amid a checkpoint leaves what it has put, as much as the pages that changed, again
 * with each visit. Who goes on drops itself what was put in vain, so that each context looks once: it takes a list of all blocks.
 */
const swept = new WeakSet<Journal>();

/** Whether a checkpoint leaves the block: one of which all is dead it drops. */
const isInUse = ({ size, dead }: Readonly<Use>): boolean => dead < size;

function reserveFor({ image }: Rewritable): number {
  const share = image.use.characters * RESERVED_SHARE;
  return image.n < RESERVING_COMMITS ? share : Math.max(share, RESERVE_MIN);
}

/**
 * @param full rewrites everything: all pages, all blocks that are mostly dead, leftovers
 * @param isWanted asked again here, since another context may have made the checkpoint that was due
 * @param ending aborted when somebody waits for the end: then callers are no longer given way
 * @returns false if another context is rewriting
 */
export async function rewriteAlone(
  store: Rewritable,
  full: boolean,
  isWanted: () => Promise<boolean>,
  signal: AbortSignal | undefined,
  ending: AbortSignal | undefined,
): Promise<boolean> {
  const { journal, image, follower } = store;
  return journal.exclusively(async () => {
    if (journal.shared) await follower.catchUp();
    if (!(await isWanted())) return;
    const aside = new Aside(store, full ? undefined : ending);
    await aside.whileCalled();
    const { live, dead } = image.use.totals(isInUse);
    const { epoch } = image;
    const isCompaction = full || (dead > live && dead > DEAD_LENGTH_MIN);
    // What one that failed or was ended left there would be added to: on a disk that is nearly full, each took all the room there was.
    if (isCompaction) await journal.vacuum?.({ signal });
    try {
      const scope = isCompaction ? COMPACTION : { ...CHECKPOINT, sweeps: !swept.has(journal) };
      await rewrite(store, scope, aside, signal).then(
        () => swept.add(journal),
        (error) => {
          if (!full || journal.keepBack === undefined || !isQuotaExceeded(error)) throw error;
          return compactInPieces(store, aside, signal, error);
        },
      );
    } catch (error) {
      // Another context rewrote the storage, which `exclusively` should prevent, or this one did and could not say so: that stands for it.
      if (!(error instanceof Overtaken)) throw error;
      await follower.catchUp();
      if (image.epoch === epoch)
        throw corrupt('a block that the directory names is not in the storage', error);
    }
    await journal.vacuum?.({ force: full, signal });
    journal.keepBack?.(reserveFor(store));
  });
}
