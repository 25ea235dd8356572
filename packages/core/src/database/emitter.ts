/**
 * Named events with any number of listeners: what feeds and database handles have in common.
 *
 * An exception of a listener stops neither the other listeners nor the code that fired the event. It is reported as the platform
 * reports one of its own event listeners: by `reportError` (the console and `window.onerror`), and in Node, which lacks that, as an
 * `uncaughtException`, which ends the process unless it is handled.
 */
import { inMicrotask } from '../store/timers';

/** A listener. The value depends on the event; events without a value pass `undefined`. */
// biome-ignore lint/suspicious/noExplicitAny: a listener names the type of the event it knows.
type EventListener = (value: any) => void;

/** Events that are not described: any name, any value. The events of a class are an interface, name → value. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export type AnyEvents = Record<string, any>;

interface Entry {
  readonly listener: EventListener;
  readonly once: boolean;
}

/** `on`, `once`, `off` and their Node aliases. Subclasses fire. There is no limit on listeners, and no warning. */
export class Emitter<Events extends object = AnyEvents> {
  // Lists are replaced, never changed: firing needs no copy, and a listener removed meanwhile is still called this time.
  readonly #entries = new Map<string, readonly Entry[]>();

  /** Vue's `reactive` and `ref` leave alone what names itself. Through one of their proxies, private fields could not be read. */
  get [Symbol.toStringTag](): string {
    return this.constructor.name;
  }

  /** Calls `listener` at each `event` from now on. The same function added twice is called twice. */
  on<E extends keyof Events & string>(event: E, listener: (value: Events[E]) => void): this {
    return this.#add(event, { listener, once: false });
  }

  /** As {@link on}, for the next time only. */
  once<E extends keyof Events & string>(event: E, listener: (value: Events[E]) => void): this {
    return this.#add(event, { listener, once: true });
  }

  /** Removes the latest addition of `listener`; no error if there is none. */
  off<E extends keyof Events & string>(event: E, listener: (value: Events[E]) => void): this {
    const entries = this.#entries.get(event) ?? [];
    let at = entries.length - 1;
    while (at >= 0 && entries[at]!.listener !== listener) at--;
    if (at >= 0) this.#drop(event, entries[at]!);
    return this;
  }

  /** As {@link on}. */
  addListener<E extends keyof Events & string>(event: E, listener: (value: Events[E]) => void): this {
    return this.on(event, listener);
  }

  /** As {@link off}. */
  removeListener<E extends keyof Events & string>(event: E, listener: (value: Events[E]) => void): this {
    return this.off(event, listener);
  }

  /** Removes the listeners of `event`, or of all events. */
  removeAllListeners(event?: keyof Events & string): this {
    if (event === undefined) this.#entries.clear();
    else this.#entries.delete(event);
    return this;
  }

  /** The functions that listen to `event` now, in the order in which they are called. */
  listeners(event: keyof Events & string): EventListener[] {
    return (this.#entries.get(event) ?? []).map((entry) => entry.listener);
  }

  /** How many functions listen to `event` now. */
  listenerCount(event: keyof Events & string): number {
    return this.#entries.get(event)?.length ?? 0;
  }

  /** Whether anybody listens to `event`. */
  protected listens(event: string): boolean {
    return this.#entries.has(event);
  }

  /** Does nothing: for code written for Node's emitters. */
  setMaxListeners(_count: number): this {
    return this;
  }

  /** Calls every listener of `event`, in order and as a method of this, as Node does, whatever each of them throws. */
  protected fire(event: string, value?: unknown): void {
    const entries = this.#entries.get(event);
    if (entries === undefined) return;
    for (const entry of entries) {
      if (entry.once) this.#drop(event, entry);
      try {
        entry.listener.call(this, value);
      } catch (error) {
        reportThrown(error);
      }
    }
  }

  /** @throws TypeError at once: when the event comes, nobody sees who added it */
  #add(event: string, entry: Entry): this {
    if (typeof entry.listener !== 'function')
      throw new TypeError(`The listener of '${event}' must be a function`);
    this.#entries.set(event, [...(this.#entries.get(event) ?? []), entry]);
    return this;
  }

  /** Copies and searches, without a call for each entry: thousands may listen, and leave one by one. */
  #drop(event: string, gone: Entry): void {
    const left = (this.#entries.get(event) ?? []).slice();
    const at = left.indexOf(gone);
    if (at < 0) return;
    left.splice(at, 1);
    if (left.length > 0) this.#entries.set(event, left);
    else this.#entries.delete(event);
  }
}

/** Reports what a listener threw, as the platform reports it of one of its own. */
export function reportThrown(error: unknown): void {
  const { reportError } = globalThis;
  if (reportError === undefined) {
    inMicrotask(() => {
      throw error;
    });
    return;
  }
  try {
    reportError(error);
  } catch {
    // A handler of `error` events that throws has nobody left to report to.
  }
}
