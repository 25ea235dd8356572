/**
 * Keeps an image level with its journal: every state that the journal answers, on request or instead of "done", goes
 * through here into the image, and watchers are told.
 *
 * The one thing to know: a journal calls itself alone as soon as it *has* what others committed; the image has it some turns
 * later, when the promise has been followed. In between memory is not current, whatever the journal says.
 */
import type { Durability, MakesRoom } from '@settledb/core';
import type { Image } from './image';
import type { Commit, Journal, JournalState, Rewrite } from './journal';

export class Follower {
  readonly #journal: Journal;
  readonly #image: Image;
  readonly #changed: () => void;
  /** Running calls whose answer may contain what others committed. */
  #underWay = 0;
  /** The last answer could not be taken in: the journal has it, and memory lags behind. */
  #lags = false;

  constructor(journal: Journal, image: Image, changed: () => void) {
    this.#journal = journal;
    this.#image = image;
    this.#changed = changed;
  }

  /** Whether the image holds every commit acknowledged anywhere, so that a read need not ask the storage (I9). */
  current(): boolean {
    return this.#underWay === 0 && !this.#lags && this.#journal.alone();
  }

  /** Takes in what has happened since. Of several calls at once, each may find that another has done so. */
  catchUp(): Promise<void> {
    return this.#following(true, async () => {
      this.#absorb(await this.#journal.read(this.#image.position));
    });
  }

  /** As `Journal.append`; after a lost race the image has caught up already. @returns whether it was done */
  async append(
    commit: Commit,
    expected: Image['position'],
    durability: Durability,
    makesRoom?: MakesRoom,
  ): Promise<boolean> {
    // As `#following`, without its closure, since every write passes here.
    const doubtful = !this.#journal.alone();
    if (doubtful) this.#underWay++;
    try {
      const missed = await this.#journal.append(commit, expected, durability, makesRoom);
      if (missed !== undefined) this.#absorb(missed);
      return missed === undefined;
    } finally {
      if (doubtful) this.#underWay--;
    }
  }

  /** As `Journal.rewrite`. @returns whether it was done */
  rewrite(change: Rewrite, expected: Image['position']): Promise<boolean> {
    return this.#following(!this.#journal.alone(), async () => {
      const missed = await this.#journal.rewrite(change, expected);
      if (missed !== undefined) this.#absorb(missed);
      return missed === undefined;
    });
  }

  #absorb(state: JournalState): void {
    const before = this.#image.position;
    this.#lags = true;
    this.#image.absorb(state);
    this.#lags = false;
    if (!this.#image.isAt(before)) this.#changed();
  }

  /** `doubtful`: until `call` has ended, memory may lag behind. A context that is alone misses nothing by its own writes. */
  async #following<T>(doubtful: boolean, call: () => Promise<T>): Promise<T> {
    if (!doubtful) return call();
    this.#underWay++;
    try {
      return await call();
    } finally {
      this.#underWay--;
    }
  }
}
