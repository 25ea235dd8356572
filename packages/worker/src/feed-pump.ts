/**
 * A feed on its way to a page. Items are read as long as the page gives credit: a page that is slow, or stands still, holds no
 * more than that many in its inbox, and the host holds none. Where others follow the same replication, that goes on, and the page is told
 * how it stands when it gives credit again: a browser keeps all that is sent to a page that it has frozen.
 */
import { encodeError, presentable } from './errors';
import type { FeedLike, Hosted } from './verbs';
import type { HostOp } from './wire';

/** Most items in one message, and in the memory of the host. */
const MOST = 500;
/** Turns of the microtask queue in which a batch may grow before it is sent. */
const HOPS = 8;
/** Between two reads of a replication's status, which may change with every document. */
const STATUS_MS = 100;
/** Events of feeds that are passed on besides items and the end. */
const EVENTS = ['paused', 'active', 'denied', 'indexing', 'checkpoint'];

export class FeedPump {
  readonly #id: number;
  readonly #send: (op: HostOp) => void;
  #credit: number;
  #items: unknown[] = [];
  #sending = false;
  /** What a page that takes nothing is to be told: the last of each kind. */
  readonly #held = new Map<string, HostOp>();
  #refill: (() => void) | undefined;
  #feed: FeedLike | undefined;
  #cancelled = false;
  #stopped = false;
  /** For a replication, which may go on for other pages: must be left, or it would keep this pump until the next change. */
  #statuses: AsyncIterableIterator<unknown> | undefined;
  onEnd: () => void = () => {};

  constructor(id: number, credit: number, send: (op: HostOp) => void) {
    this.#id = id;
    this.#credit = credit;
    this.#send = (op) => {
      if (!this.#stopped) send(op);
    };
  }

  /** Begins the feed, and passes on everything until its end. */
  async run(begin: () => FeedLike): Promise<void> {
    let outcome: { readonly value: unknown } | { readonly error: ReturnType<typeof encodeError> };
    try {
      const feed = begin();
      this.#feed = feed;
      if (this.#cancelled) feed.cancel();
      void this.#tellStatuses(feed);
      for (const event of EVENTS) {
        feed.on(event, (value) => {
          this.#flush();
          this.#tellStatus();
          this.#tell(event, ['event', this.#id, event, presentable(value)]);
        });
      }
      for await (const item of feed) {
        this.#add(item);
        while (this.#credit === 0 && !this.#cancelled) {
          await new Promise<void>((resolve) => {
            this.#refill = resolve;
          });
        }
        if (this.#items.length >= MOST) this.#flush();
      }
      outcome = { value: await feed };
    } catch (error) {
      outcome = { error: encodeError(error) };
    }
    this.#flush();
    this.#tellStatus();
    this.#tellHeld();
    this.#send(['end', this.#id, outcome]);
    // A replication that other pages follow goes on, and so do its statuses: this page has heard its last one.
    this.#mute();
    this.onEnd();
  }

  more(credit: number): void {
    this.#credit += credit;
    this.#tellHeld();
    this.#refill?.();
  }

  /** The page wants no more; it is told how the feed ends. */
  cancel(): void {
    this.#cancelled = true;
    this.#feed?.cancel();
    this.#refill?.();
  }

  /** For a replication: denied documents were transferred once more. */
  retried(again: unknown): void {
    this.#feed?.retried?.(again);
    this.#tellStatus();
  }

  /** Ends without a message: the page is gone, or follows the feed elsewhere. */
  stop(): void {
    this.#mute();
    this.cancel();
  }

  /** Tells where a feed since `now` begins, so that another host can go on there. Asked in the same turn, before the feed begins. */
  tellStart(hosted: Hosted, options: unknown): void {
    const { since } = (options ?? {}) as { since?: unknown };
    if (since !== 'now' && since !== 'latest') return;
    const { info } = hosted as unknown as { info(): Promise<{ update_seq: unknown }> };
    info().then(
      ({ update_seq }) => this.#send(['at', this.#id, update_seq]),
      () => {},
    );
  }

  #mute(): void {
    this.#stopped = true;
    this.#statuses?.return?.().catch(() => {});
  }

  /** Each document that is denied is told of by itself. */
  #tell(kind: string, op: HostOp): void {
    this.#held.delete(kind);
    if (this.#credit > 0 || kind === 'denied') this.#send(op);
    else this.#held.set(kind, op);
  }

  #tellHeld(): void {
    for (const op of this.#held.values()) this.#send(op);
    this.#held.clear();
  }

  #add(item: unknown): void {
    this.#credit--;
    this.#items.push(item);
    if (!this.#sending) void this.#sendSoon();
  }

  async #sendSoon(): Promise<void> {
    this.#sending = true;
    for (let quiet = 0, seen = 0; quiet < HOPS; quiet++) {
      if (this.#items.length > seen) [quiet, seen] = [0, this.#items.length];
      await undefined;
    }
    this.#sending = false;
    this.#flush();
  }

  #flush(): void {
    if (this.#items.length === 0) return;
    const items = this.#items;
    this.#items = [];
    this.#tellStatus();
    this.#send(['items', this.#id, items]);
  }

  /** Tells of changes without an event, such as a new attempt. */
  async #tellStatuses(feed: FeedLike): Promise<void> {
    this.#statuses = feed.statuses?.();
    for await (const _ of this.#statuses ?? []) {
      if (this.#stopped) return;
      this.#tellStatus();
      await new Promise((resolve) => setTimeout(resolve, STATUS_MS));
    }
  }

  /** For a replication, whose status can be read at any time without waiting. */
  #tellStatus(): void {
    const status = this.#feed?.status?.();
    if (status === undefined) return;
    const { error, ...rest } = status as { error?: unknown };
    const known = error === undefined ? rest : { ...rest, error: presentable(error) };
    this.#tell('at', ['at', this.#id, known]);
  }
}
