/**
 * Tells an idle live feed when to look again. Every reason is a hint: one too many costs a read that finds nothing.
 *
 *   a commit that became visible here   the usual case
 *   a slow timer                        for a message of another tab that was lost
 *   the page is shown again             a hidden or frozen page hears nothing and its timers stand still
 */
import type { DatabaseTables } from '../store/schema';
import type { Store } from '../store/store';
import { unref } from '../store/timers';
import { onAbort } from './on-abort';

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

/**
 * Watches `source` for the feed of `controller`, until {@link Waker.stop}. Cancels the feed when the database is closed or destroyed.
 *
 * Use: `arm()`, read, and if nothing was found `await woken()`: a commit in between is not lost.
 */
export class Waker {
  readonly #controller: Controller;
  readonly #unwatch: () => void;
  #unlisten: () => void = () => {};
  #pending = false;
  #lost: { readonly error: unknown } | undefined;
  #sleeper: { readonly wake: () => void; readonly fail: (error: unknown) => void } | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(source: Source, controller: Controller) {
    this.#controller = controller;
    this.#unwatch = source.store.watch((event) => {
      if (event.type === 'commit') this.#wake();
      else if (event.type === 'destroyed') controller.cancel();
      else this.#fail(event.cause);
    });
    controller.signal.addEventListener('abort', this.#wake);
    // What is lost is closed next: the feed fails, and says why.
    const closing = (): void => void (this.#lost ?? controller.cancel());
    if (source.closing?.aborted) closing();
    else if (source.closing) this.#unlisten = onAbort(source.closing, closing);
    if (typeof document === 'undefined') return;
    document.addEventListener('visibilitychange', this.#seen);
    globalThis.addEventListener('pageshow', this.#wake);
  }

  /** Forgets the hints so far: the read that follows includes what they announced. */
  arm(): void {
    this.#pending = false;
  }

  /** Resolves at the next hint, or at once if there was one since {@link arm}. @throws DatabaseError when the storage is lost */
  async woken(): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost.error;
    if (this.#pending || this.#controller.signal.aborted) return;
    await new Promise<void>((wake, fail) => {
      this.#sleeper = { wake, fail };
      this.#timer = unref(setTimeout(this.#wake, BACKSTOP_MS));
    });
  }

  /** Not to be called while {@link woken} is awaited: whatever ends that has cleared its timer. */
  stop(): void {
    this.#unwatch();
    this.#controller.signal.removeEventListener('abort', this.#wake);
    this.#unlisten();
    if (typeof document === 'undefined') return;
    document.removeEventListener('visibilitychange', this.#seen);
    globalThis.removeEventListener('pageshow', this.#wake);
  }

  /** Only if the page is shown: a read still open when a hidden page is frozen would block the writes of other tabs. */
  readonly #seen = (): void => {
    if (document.visibilityState !== 'hidden') this.#wake();
  };

  readonly #wake = (): void => {
    this.#pending = true;
    this.#rouse()?.wake();
  };

  #fail(error: unknown): void {
    this.#lost = { error };
    this.#rouse()?.fail(error);
  }

  #rouse(): { wake: () => void; fail: (error: unknown) => void } | undefined {
    const sleeper = this.#sleeper;
    this.#sleeper = undefined;
    clearTimeout(this.#timer);
    return sleeper;
  }
}
