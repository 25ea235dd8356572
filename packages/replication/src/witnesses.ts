/**
 * Revisions that the target had since the last checkpoint, some of each batch, and whether it still has them.
 *
 * A target may lose the last of what it acknowledged: its power fails, or it is restored from a backup. Its checkpoint tells that it was set
 * back, unless it was set back to a moment after that checkpoint. But what is lost then is all that it got after that moment; so of a batch
 * that is lost, each revision is, and any of them tells: unless its document was edited since, and came again with its ancestors. So of a
 * small batch, as live ones are, all are kept.
 */
import { compare } from './batch';
import type { Peer } from './peer';
import type { Revision } from './rev-set';

/** Of one batch: of a large one hardly all of the last documents are edited again before the next checkpoint. */
const OF_BATCH = 25;
/** Between two checkpoints there are hardly more; of the others, nobody asks. */
const MOST = 1000;
/** Nothing is lost, and back, within this time. */
const FRESH_MS = 1000;

export class Witnesses {
  /** With the time when the target had them. */
  readonly #all = new Map<Revision, number>();
  #lost = false;

  /** The target lacked one of them. It may have it again by now, as an ancestor: what was lost with it is not there. */
  get lost(): boolean {
    return this.#lost;
  }

  /** @param revisions of one batch */
  add(revisions: readonly Revision[]): void {
    const now = Date.now();
    for (const revision of revisions.slice(-OF_BATCH)) this.#all.set(revision, now);
    for (const oldest of this.#all.keys()) {
      if (this.#all.size <= MOST) break;
      this.#all.delete(oldest);
    }
  }

  /** @returns what forgets those that there are now, to be called once that is written down; undefined if the target lacks one of them */
  async check(target: Peer, signal: AbortSignal): Promise<(() => void) | undefined> {
    const now = Date.now();
    const asked: Record<string, string[]> = Object.create(null);
    const those = [...this.#all];
    for (const [{ id, rev }, since] of those)
      if (Math.abs(now - since) >= FRESH_MS) asked[id] = [...(asked[id] ?? []), rev];
    this.#lost ||= (await compare(asked, target, signal)).length > 0;
    if (this.#lost) return undefined;
    return () => {
      for (const [each] of those) this.#all.delete(each);
    };
  }
}
