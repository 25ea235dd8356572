/** What a feed gives to the driver that does its work. */

/** A driver's side of its feed. */
export interface FeedController<Item> {
  /** Aborted when the feed is cancelled, however that came. Made on first use. */
  readonly signal: AbortSignal;
  /** The feed was cancelled: nothing more is delivered. A plain flag, for loops. */
  readonly cancelled: boolean;
  /** Whether somebody listens to items, or may yet begin to: otherwise `push` can be spared. */
  readonly heard: boolean;
  /**
   * Delivers an item: `change` to listeners at once, and to every iterator.
   * @returns a promise while an iterator has yet to take what it was given (await it before reading on), otherwise `undefined`:
   *   `const wait = push(item); if (wait) await wait;` costs nothing where nobody iterates
   */
  push(item: Item): Promise<void> | undefined;
  /** Fires any other event (`paused`, `active`, `denied` …); the feed fires `complete` and `error`. Does nothing once cancelled. */
  emit(event: string, value?: unknown): void;
  /** As the feed's own `cancel`. */
  cancel(): void;
}

interface Controls<Item> extends Pick<FeedController<Item>, 'push' | 'emit' | 'cancel'> {
  signal(): AbortSignal;
  cancelled(): boolean;
  heard(): boolean;
}

/**
 * A class, because of its getters: in an object made anew for each feed they would be part of its shape, which V8 allocates among old
 * objects, and so the feed and its result would outlive every collection of the young ones.
 */
export class Controller<Item> implements FeedController<Item> {
  readonly #feed: Controls<Item>;
  readonly push: FeedController<Item>['push'];
  readonly emit: FeedController<Item>['emit'];
  readonly cancel: FeedController<Item>['cancel'];

  constructor(feed: Controls<Item>) {
    this.#feed = feed;
    this.push = feed.push;
    this.emit = feed.emit;
    this.cancel = feed.cancel;
  }

  get signal(): AbortSignal {
    return this.#feed.signal();
  }

  get cancelled(): boolean {
    return this.#feed.cancelled();
  }

  get heard(): boolean {
    return this.#feed.heard();
  }
}
