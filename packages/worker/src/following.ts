/**
 * Feeds of a page whose work is done at the host. What the host sends is passed on at the pace of the listener, and only then
 * is more requested; when the host is lost, the feed goes on at the next one, after the last change that was passed on.
 */
import { askedNow, BasicFeed, type FeedController, type FeedOptions } from '@settledb/core';
import type { Sink } from './channel';
import { isLocked, isNotLoaded } from './errors';
import type { Followed, Link } from './link';

/** Items that a host may send ahead; fewer with documents, which may be large. */
const CREDIT = 1_000;
const CREDIT_WITH_DOCS = 100;
/** Hosts in a row that may be lost without an item in between. Of those that never came only for one that has an end: others wait. */
const TRIES = 5;
/** Losses further apart are not in a row: tabs come and go, and are frozen, while a database is quiet. */
const IN_A_ROW_MS = 5_000;

type Options = Record<string, unknown>;

interface ChangeLike {
  readonly seq: unknown;
}

/** One request to a host, and how to go on from it. */
export interface Request {
  readonly verb: string;
  args(): readonly unknown[];
  /** What is to be asked for now, if not what was asked for at first. */
  asked?(options: Readonly<Record<string, unknown>>): object;
  readonly credit: number;
  /** It goes on until it is cancelled, or tries again whatever happens. */
  readonly isEndless: boolean;
  /** What is passed on of an item, if not as it came. */
  shown?(item: unknown): unknown;
  /** An item was passed on. */
  took?(item: unknown): void;
  at?(value: unknown): void;
  /** Passes on an event of the host, if not simply as it came. */
  tell?(emit: FeedController<unknown>['emit'], event: string, value: unknown): void;
  /** There is no host now. The feed waits for one. */
  waits?(emit: FeedController<unknown>['emit'], error: unknown): void;
  /** Whether the same may be asked of another host now. */
  canResume(): boolean;
  /** The result of a host that was lost after it had told all that was asked for; `undefined`: there is more to tell. */
  whole?(): unknown;
  /** The feed was ended by its host, since the database is no more. */
  gone?(): void;
  /** The result, made of what the host gave as such. */
  result?(value: unknown): unknown;
  /** The error that the feed fails with, wherever it comes from. */
  failure?(error: unknown): unknown;
}

type Outcome = { readonly value: unknown } | { readonly error: unknown };
type Message =
  | { readonly items: readonly unknown[] }
  | { readonly event: string; readonly value: unknown }
  | { readonly lost: unknown; readonly begun: boolean }
  | { readonly end: Outcome };

/** The changes feed of a handle. @param gone called, before anybody hears of the end, when the feed ends with its database */
export function followChanges(
  link: Link,
  handle: number,
  given: Options,
  gone: () => void,
): BasicFeed<unknown, unknown> {
  const { signal, ...options } = askedNow(given) as Options & { signal?: AbortSignal };
  const cancelled = (): unknown => ({ status: 'cancelled' });
  const request = { ...changesRequest(options), gone };
  return follow(link, handle, request, { signal, cancelled, holds: true }).feed;
}

/** A feed, and a way to tell the feed at the host, while there is one, which denied documents were transferred once more. */
export interface FollowedFeed {
  readonly feed: BasicFeed<unknown, unknown>;
  retried(again: unknown): void;
}

/** Any other feed: begun again at another host if it is one without an end. */
export function followLive(
  link: Link,
  handle: number,
  verb: string,
  args: readonly unknown[],
  more: Partial<Request> = {},
): FollowedFeed {
  const given = askedNow(args.at(-1) ?? {}) as Options & { signal?: AbortSignal };
  const { signal, ...options } = given;
  const isEndless = Boolean(options.live || options.continuous || options.retry);
  const request: Request = {
    verb,
    args: () => [...args.slice(0, -1), more.asked?.(options) ?? options],
    credit: CREDIT_WITH_DOCS,
    isEndless,
    canResume: () => isEndless,
    ...more,
  };
  return follow(link, handle, request, { signal });
}

function changesRequest(options: Options): Request {
  const { limit, descending, include_docs } = options as {
    limit?: number;
    descending?: unknown;
    include_docs?: unknown;
  };
  const live = Boolean(options.live || options.continuous);
  const keeps = options.return_docs !== false && !live;
  const results: unknown[] = [];
  let since = options.since;
  let count = 0;
  const limited = typeof limit === 'number' && limit >= 0;
  const most = limited ? Math.max(limit, 1) : Number.POSITIVE_INFINITY;
  return {
    verb: 'changes',
    credit: include_docs ? CREDIT_WITH_DOCS : CREDIT,
    isEndless: live,
    args: () => [
      {
        ...options,
        return_docs: false,
        ...(since === undefined ? {} : { since }),
        ...(limited && count > 0 ? { limit: most - count } : {}),
      },
    ],
    took(item) {
      count++;
      since = (item as ChangeLike).seq ?? since;
      if (keeps) results.push(item);
    },
    at(seq) {
      if (count === 0) since = seq;
    },
    canResume: () => !(descending && count > 0),
    // Without `pending`, which only a host knows.
    whole() {
      if (count < most) return undefined;
      return live ? { status: 'cancelled' } : { results, last_seq: since };
    },
    result: (value) =>
      typeof value === 'object' && value !== null && 'results' in value ? { ...value, results } : value,
  };
}

function follow(link: Link, handle: number, request: Request, options: FeedOptions<unknown>): FollowedFeed {
  // Requested now, not when the feed starts, a microtask later: it takes its turn among the calls, so that a write called right
  // after it is not in the past for a feed since `now`.
  const begin = (): Following => new Following(link, handle, request);
  const following = options.signal?.aborted ? undefined : begin();
  const feed = new BasicFeed<unknown, unknown>(
    (controller) => (following ?? begin()).tell(controller),
    options,
  );
  // Also when it was cancelled before it started.
  feed.whenOver(() => following?.cancel());
  return { feed, retried: (again) => following?.retried(again) };
}

class Following implements Sink {
  of: string | undefined;
  readonly #link: Link;
  readonly #handle: number;
  readonly #request: Request;
  readonly #outcome: Promise<unknown>;
  #controller: FeedController<unknown> | undefined;
  #settle!: (outcome: Outcome) => void;
  #inbox: Message[] = [];
  #working = false;
  #followed: Followed | undefined;
  #tries = 0;
  #lostAt: number | undefined;
  /** Items passed on since more was requested. */
  #used = 0;

  constructor(link: Link, handle: number, request: Request) {
    this.#link = link;
    this.#handle = handle;
    this.#request = request;
    this.#outcome = new Promise((resolve, reject) => {
      this.#settle = (outcome) => ('error' in outcome ? reject(outcome.error) : resolve(outcome.value));
    });
    this.#outcome.catch(() => {}); // nobody hears of a feed that was cancelled before it started
    this.#begin();
  }

  /** Passes on what comes, from now on. */
  tell(controller: FeedController<unknown>): Promise<unknown> {
    this.#controller = controller;
    if (controller.cancelled) this.cancel();
    else controller.signal.addEventListener('abort', () => this.cancel(), { once: true });
    void this.#work();
    return this.#outcome;
  }

  cancel(): void {
    this.#followed?.cancel();
    this.#followed = undefined;
  }

  retried(again: unknown): void {
    this.#followed?.retried(again);
  }

  items(items: readonly unknown[]): void {
    this.#receive({ items });
  }

  event(event: string, value: unknown): void {
    this.#receive({ event, value });
  }

  at(value: unknown): void {
    this.#request.at?.(value);
  }

  end(end: Outcome): void {
    this.#followed = undefined;
    // A host that lacks the code which the one before had is none for this feed.
    const isNone = this.#request.isEndless && 'error' in end && isNotLoaded(end.error);
    this.#receive(isNone ? { lost: end.error, begun: false } : { end });
  }

  lost(error: unknown, begun: boolean): void {
    // It must not go on in another one: what it has told, and where it is, is of this one.
    if (begun) this.of ??= this.#link.idOf(this.#handle);
    // Over like one that ended: to cancel it now would look like the end of its database.
    this.#followed = undefined;
    this.#receive({ lost: error, begun });
  }

  /** @param later not at once: the host that is there would fail again */
  #begin(later = false): void {
    const { verb, credit } = this.#request;
    this.#used = 0;
    try {
      this.#followed = this.#link.follow(this.#handle, verb, this.#request.args(), credit, this, later);
    } catch (error) {
      this.#finish({ error });
    }
  }

  #receive(message: Message): void {
    this.#inbox.push(message);
    if (!this.#working && this.#controller !== undefined) void this.#work();
  }

  /** Passes on one message after the other, each when the listener is done with the one before. */
  async #work(): Promise<void> {
    this.#working = true;
    for (let message = this.#inbox.shift(); message !== undefined; message = this.#inbox.shift()) {
      if ('items' in message) await this.#deliver(message.items);
      else if ('event' in message) this.#tell(message.event, message.value);
      else if ('lost' in message) this.#resume(message.lost, message.begun);
      else this.#finish(message.end);
    }
    this.#working = false;
  }

  async #deliver(items: readonly unknown[]): Promise<void> {
    const controller = this.#controller!;
    this.#tries = 0;
    for (const item of items) {
      if (controller.cancelled) return;
      this.#request.took?.(item);
      const wait = controller.push(this.#request.shown?.(item) ?? item);
      if (wait !== undefined) await wait;
      if (++this.#used < this.#request.credit / 2) continue;
      this.#followed?.more(this.#used);
      this.#used = 0;
    }
  }

  #tell(event: string, value: unknown): void {
    const { emit } = this.#controller!;
    if (this.#request.tell === undefined) emit(event, value);
    else this.#request.tell(emit, event, value);
  }

  #resume(error: unknown, begun: boolean): void {
    const lostAt = this.#lostAt;
    const now = performance.now();
    // A feed that never began fails with its error; one that did waits for another host.
    if (begun || lostAt !== undefined) this.#lostAt = now;
    if (begun && now - (lostAt ?? 0) > IN_A_ROW_MS) this.#tries = 0;
    const whole = this.#request.whole?.();
    if (this.#controller!.cancelled) this.#finish({ value: { status: 'cancelled' } });
    else if (whole !== undefined) this.#finish({ value: whole });
    else if (this.#lostAt === undefined || !this.#request.canResume()) this.#finish({ error });
    else if (!begun && this.#request.isEndless && this.#mayCome(error)) {
      this.#request.waits?.(this.#controller!.emit, error);
      this.#begin(isNotLoaded(error));
    } else if (++this.#tries > TRIES) this.#finish({ error });
    else this.#begin();
  }

  /** An owner may wake, too: that a host can be had again is a matter of time. */
  #mayCome(error: unknown): boolean {
    return this.#link.isPassing(error) || isLocked(error);
  }

  #finish(outcome: Outcome): void {
    const { result = same, failure = same } = this.#request;
    if (this.#controller?.cancelled && 'error' in outcome && isClosed(outcome.error)) {
      // Cancelled, it would not have asked: the host has only let go of the handle meanwhile.
      this.#settle({ value: result({ status: 'cancelled' }) });
      return;
    }
    if ('error' in outcome) {
      this.#settle({ error: failure(outcome.error) });
      return;
    }
    const value = result(outcome.value);
    // By the end of its database, unless it has told all that was asked for.
    const isCancelled = (value as { status?: unknown } | undefined)?.status === 'cancelled';
    const whole = isCancelled ? this.#request.whole?.() : undefined;
    if (isCancelled && !this.#controller?.cancelled && whole === undefined) {
      this.#request.gone?.();
      this.#controller?.cancel();
    }
    this.#settle({ value: whole ?? value });
  }
}

const isClosed = (error: unknown): boolean => (error as { name?: unknown } | null)?.name === 'closed';
const same = (value: unknown): unknown => value;
