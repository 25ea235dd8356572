/** A page that follows a feed together with others. If it is slower than they are, what waits for it is bounded. */
import type { FeedController } from '@settledb/core';

/** Items that may wait for one follower. Then only the last one waits, without its documents: their counters include the others'. */
const WAITING_MAX = 100;

export class Follower {
  readonly #controller: FeedController<unknown>;
  readonly #end: () => void;
  /** Until it has taken what it was given. */
  wait: Promise<void> | undefined;
  #waiting = 0;
  #last: { readonly item: unknown } | undefined;
  #left: () => void = () => {};

  /** @param end tells it of the end */
  constructor(controller: FeedController<unknown>, end: () => void) {
    this.#controller = controller;
    this.#end = end;
  }

  push(item: unknown): void {
    if (this.#waiting >= WAITING_MAX) {
      this.#last = { item: withoutDocs(item) };
      return;
    }
    const taken = this.#controller.push(item);
    if (taken === undefined) return;
    this.#waiting++;
    this.wait ??= Promise.race([taken, new Promise<void>((left) => (this.#left = left))]).then(() =>
      this.#goOn(),
    );
  }

  /** The feed is over. */
  end(): void {
    const last = this.#last;
    this.#last = undefined;
    if (last !== undefined) this.#controller.push(last.item);
    this.#end();
  }

  /** It follows no more: nobody is to wait for it. */
  leave(): void {
    this.#last = undefined;
    this.#left();
  }

  #goOn(): void {
    this.wait = undefined;
    this.#waiting = 0;
    const last = this.#last;
    this.#last = undefined;
    if (last !== undefined) this.push(last.item);
  }
}

const withoutDocs = (item: unknown): unknown =>
  Array.isArray((item as { docs?: unknown } | null)?.docs) ? { ...(item as object), docs: [] } : item;
