/**
 * Tells an idle live feed when to look again. Every reason is a hint: one too many costs a read that finds nothing.
 *
 *   a commit that became visible here   the usual case
 *   a slow timer                        for a message of another tab that was lost
 *   somebody is back                    a hidden or frozen page hears nothing and its timers stand still; a worker's page tells it
 */
import type { DatabaseTables } from '../store/schema';
import type { Store } from '../store/store';
import { unref } from '../store/timers';
import { whenAborted } from './on-abort';
import { onReturn } from './return';

/** Long enough to cost nothing (one read without result per feed), short enough that a lost message goes unnoticed. */
const BACKSTOP_MS = 20_000;

interface Source {
  readonly store: Store<DatabaseTables>;
  readonly closing?: AbortSignal | undefined;
}

interface Controller {
  readonly signal: AbortSignal;
  cancel(): void;
}

interface Sleeper {
  readonly wake: () => void;
  readonly fail: (error: unknown) => void;
  /** Whether a hint wakes it. */
  readonly hears: boolean;
}

/**
 * Watches `source` for the feed of `controller`, until {@link Waker.stop}. Cancels the feed when the database is closed or destroyed.
 *
 * Use: `arm()`, read, and if nothing was found `await woken()`: a commit in between is not lost.
 */
export class Waker {
  readonly #controller: Controller;
  /** Ends what was begun to hear of hints. */
  readonly #ends: (() => void)[];
  #pending = false;
  #lost: { readonly error: unknown } | undefined;
  #sleeper: Sleeper | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(source: Source, controller: Controller) {
    this.#controller = controller;
    this.#ends = [
      source.store.watch((event) => {
        if (event.type === 'commit') this.#hint();
        else if (event.type === 'destroyed') controller.cancel();
        else this.#fail(event.cause);
      }),
      onReturn(this.#hint),
      whenAborted(controller.signal, this.#wake),
      // What is lost is closed next: the feed fails, and says why.
      whenAborted(source.closing, () => void (this.#lost ?? controller.cancel())),
    ];
  }

  /** Forgets the hints so far: the read that follows includes what they announced. */
  arm(): void {
    this.#pending = false;
  }

  /** Resolves at the next hint, or at once if there was one since {@link arm}. @throws DatabaseError when the storage is lost */
  async woken(): Promise<void> {
    if (!this.#pending || this.#lost !== undefined) await this.#sleep(BACKSTOP_MS, true);
  }

  /** Resolves after so many ms, whatever is heard, or when the feed ends. @throws DatabaseError when the storage is lost */
  rest(ms: number): Promise<void> {
    return this.#sleep(ms, false);
  }

  /** Not to be called while {@link woken} is awaited: whatever ends that has cleared its timer. */
  stop(): void {
    for (const end of this.#ends) end();
  }

  async #sleep(ms: number, hears: boolean): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost.error;
    if (this.#controller.signal.aborted) return;
    await new Promise<void>((wake, fail) => {
      this.#sleeper = { wake, fail, hears };
      this.#timer = unref(setTimeout(this.#wake, ms));
    });
  }

  readonly #hint = (): void => {
    this.#pending = true;
    if (this.#sleeper?.hears) this.#wake();
  };

  readonly #wake = (): void => this.#rouse()?.wake();

  #fail(error: unknown): void {
    this.#lost = { error };
    this.#rouse()?.fail(error);
  }

  #rouse(): Sleeper | undefined {
    const sleeper = this.#sleeper;
    this.#sleeper = undefined;
    clearTimeout(this.#timer);
    return sleeper;
  }
}
