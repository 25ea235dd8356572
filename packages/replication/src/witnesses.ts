/**
 * Revisions that the target had since the last checkpoint, one for each batch, and whether it still has them.
 *
 * A target may lose the last of what it acknowledged: its power fails, or it is restored from a backup. Its checkpoint tells that it was set
 * back, unless it was set back to a moment after that checkpoint. But what is lost then is all that it got after that moment; so of a batch
 * that is lost, each revision is, and any of them tells.
 */
import { compare } from './batch';
import type { Peer } from './peer';

export interface Revision {
  readonly id: string;
  readonly rev: string;
}

/** Between two checkpoints there are hardly more batches; of the others, nobody asks. */
const MOST = 100;
/** Nothing is lost, and back, within this time. */
const FRESH_MS = 1000;

export class Witnesses {
  /** With the time when the target had them. */
  readonly #all = new Map<Revision, number>();
  /** The target lacks one of them. */
  lost = false;

  add(revision: Revision): void {
    const [oldest] = this.#all.keys();
    if (this.#all.size >= MOST) this.#all.delete(oldest!);
    this.#all.set(revision, Date.now());
  }

  /** @returns what forgets those that there are now, to be called once that is written down; undefined if the target lacks one of them */
  async check(target: Peer, signal: AbortSignal): Promise<(() => void) | undefined> {
    const now = Date.now();
    const asked: Record<string, string[]> = Object.create(null);
    const those = [...this.#all];
    for (const [{ id, rev }, since] of those)
      if (Math.abs(now - since) >= FRESH_MS) asked[id] = [...(asked[id] ?? []), rev];
    this.lost = (await compare(asked, target, signal)).length > 0;
    if (this.lost) return undefined;
    return () => {
      for (const [each] of those) this.#all.delete(each);
    };
  }
}
