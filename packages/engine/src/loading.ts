/**
 * Answers that need more than memory has: whatever a query lacks is loaded and the query is asked again, until it lacks nothing, so
 * that its whole answer comes from one moment. At once if the journal need not be waited for: a promise costs as much as loading a
 * page.
 */
import { corrupt } from '@settledb/core';
import type { AnyQuery } from './answer';
import type { Follower } from './follower';
import type { Image } from './image';
import type { Journal } from './journal';
import { Wanted } from './wanted';

/** Puts what it lacks into `wanted`; its answer then means nothing. */
type Ask<A> = (wanted: Wanted) => A;

/** Rounds of loading for one call, after which the storage is taken to contradict itself. */
const LOAD_ROUNDS_MAX = 1000;
/** Limits of loading at once for callers that can also wait: pages and blocks at a time, and rounds. */
const NOW_MAX = 128;
const NOW_ROUNDS_MAX = 4;

export class Loading {
  readonly #journal: Journal;
  readonly #image: Image;
  readonly #follower: Follower;
  readonly #check: () => void;
  /** For the next {@link now}, since nearly no call wants anything. */
  #unused = new Wanted();

  /** @param check throws when the database is gone */
  constructor(journal: Journal, image: Image, follower: Follower, check: () => void) {
    this.#journal = journal;
    this.#image = image;
    this.#follower = follower;
    this.#check = check;
  }

  /** The answer at once, or `undefined`: then use {@link complete}, which also reports what fails. */
  now<A>(ask: Ask<A>): A | undefined {
    const wanted = this.#unused;
    const answer = ask(wanted);
    if (!wanted.any) return answer;
    this.#unused = new Wanted();
    try {
      const found = this.#again(ask, wanted, answer, NOW_ROUNDS_MAX, NOW_MAX);
      return wanted.any ? undefined : found;
    } catch {
      return undefined; // damage, or a failing storage: the long way meets it again, and reports it
    }
  }

  /** Asks again while the wanted things can be had without waiting; if some are still wanted in the end, the answer means nothing. */
  few<A>(ask: Ask<A>, wanted: Wanted, rounds = NOW_ROUNDS_MAX): A {
    return this.#again(ask, wanted, ask(wanted), rounds, Number.POSITIVE_INFINITY);
  }

  /** @param most pages and blocks at a time */
  #again<A>(ask: Ask<A>, wanted: Wanted, first: A, rounds: number, most: number): A {
    let answer = first;
    if (this.#journal.loadNow === undefined) return answer;
    for (let round = 0; wanted.any && round < rounds && wanted.count <= most; round++) {
      const isLoaded = this.#image.loadNow(this.#journal, wanted);
      answer = ask(wanted);
      if (!isLoaded) break;
    }
    return answer;
  }

  /** Asks again until nothing is wanted. At once if everything wanted can be had at once, which saves most calls a promise. */
  complete<A>(ask: Ask<A>, signal: AbortSignal | undefined): A | Promise<A> {
    const wanted = new Wanted();
    const answer = this.few(ask, wanted, LOAD_ROUNDS_MAX);
    return wanted.any ? this.#load(ask, wanted, signal) : answer;
  }

  async #load<A>(ask: Ask<A>, wanted: Wanted, signal: AbortSignal | undefined): Promise<A> {
    for (let round = 0; round < LOAD_ROUNDS_MAX; round++) {
      const { position } = this.#image;
      const whole = await this.#image.load(this.#journal, wanted);
      signal?.throwIfAborted();
      this.#check();
      if (!whole) {
        await this.#follower.catchUp();
        // What a commit freed may be dropped before the next checkpoint says so.
        if (this.#image.isAt(position))
          throw corrupt('a block that the directory names is not in the storage');
      }
      const answer = ask(wanted);
      if (!wanted.any) return answer;
    }
    throw corrupt(`a call needed more than ${LOAD_ROUNDS_MAX} rounds of loading`);
  }

  /** Loads what an answer from the present memory would lack, while the journal is asked for what is new. */
  async prefetch(queries: readonly AnyQuery[]): Promise<void> {
    await undefined; // in the same turn as the look: a caller that blocks after its call must not keep a transaction open
    const wanted = new Wanted();
    this.#image.answer(queries, wanted);
    // A block that is gone, or a failure, is met again by the answer itself.
    if (wanted.any) await this.#image.load(this.#journal, wanted).catch(() => false);
  }
}
