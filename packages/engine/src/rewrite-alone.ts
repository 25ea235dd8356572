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

/** Tries of one in which blocks were gone that may have died meanwhile: without locks, others make room while this one works. */
const TRIES = 3;

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
    const isCompaction = full || (dead > live && dead > DEAD_LENGTH_MIN);
    // What one that failed or was ended left there would be added to: on a disk that is nearly full, each took all the room there was.
    if (isCompaction) await journal.vacuum?.({ signal });
    const scope = isCompaction ? COMPACTION : { ...CHECKPOINT, sweeps: !swept.has(journal) };
    await unlessOvertaken(store, () =>
      rewrite(store, scope, aside, signal).then(
        () => swept.add(journal),
        (error) => {
          if (!full || journal.keepBack === undefined || !isQuotaExceeded(error)) throw error;
          return compactInPieces(store, aside, signal, error);
        },
      ),
    );
    await journal.vacuum?.({ force: full, signal });
    journal.keepBack?.(reserveFor(store));
  });
}

/** Does `work`, unless another context does it first. @throws corrupt if a block is not there for another reason */
async function unlessOvertaken({ image, follower }: Rewritable, work: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { position } = image;
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
      await follower.catchUp();
      // Another context rewrote the storage, which `exclusively` should prevent, or this one did and could not say so: that stands for it.
      if (image.epoch !== position.epoch) return;
      // What a commit freed may be dropped before the next manifest says so.
      if (image.isAt(position) || tries === TRIES)
        throw corrupt('a block that the directory names is not in the storage', error);
    }
  }
}
