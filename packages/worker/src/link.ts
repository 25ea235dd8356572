/**
 * A page's connection to its host, for as long as the page lives: it connects when there is something to send, notices when the
 * host is gone, and connects again: to the same worker, another one, or another tab's.
 *
 *   idle ── a call ─▶ connecting ── welcome ─▶ connected ── the host died, moved, or fell silent ─▶ connecting …
 *                        └─ in vain: waiting calls reject                └─ calls in flight go to the next one, see call.ts; writes
 *                                                                           that were taken are waited for while the host lives
 */
import { closed, onAbort, onPageReturn } from '@settledb/core';
import { encodeArguments } from './arguments';
import type { Encoding } from './arguments-scan';
import { Bond } from './bond';
import { Call } from './call';
import type { Channel, Sink } from './channel';
import { isLocked, isNotLoaded, isTerminated, workerTerminated } from './errors';
import { type Attached, OwnWorker } from './own-worker';
import type { Targets } from './targets';

export interface LinkOptions {
  /**
   * What happens to functions among the arguments (filters, map and reduce functions). `refuse` (default): the call rejects and says
   * what to do instead. `source`: they cross as text and are made again in the worker, where nothing that they refer to
   * outside themselves exists.
   */
  readonly functions?: 'refuse' | 'source' | undefined;
  /** How many ms to wait for the worker's first answer; `Infinity` for as long as it takes. Default 10,000. */
  readonly timeout_ms?: number | undefined;
}

/** A handle of the page, as the link knows it. */
interface LinkedHandle {
  readonly name: string;
  readonly options: object;
  readonly adapter: string;
  /** Until it was closed or destroyed. */
  readonly life: AbortSignal;
  told(event: string, value: unknown): void;
}

/** Where a feed is under way. */
export interface Followed {
  more(credit: number): void;
  retried(again: unknown): void;
  cancel(): void;
}

interface Waiting {
  /** Of which handle. */
  readonly handle: number;
  readonly start: (channel: Channel) => void;
  readonly fail: (error: unknown) => void;
  /** For a feed: ends it as cancelled. */
  readonly end?: () => void;
}

const TIMEOUT_MS = 10_000;
/** After a connection that died young the next one waits: 100 ms, doubling, to 6.4 s. */
const BACKOFF_MS = 100;
const MOST_DOUBLINGS = 6;

export class Link {
  readonly #own: OwnWorker;
  readonly #unlisten: () => void;
  readonly #encoding: Encoding;
  readonly #handles = new Map<number, LinkedHandle>();
  readonly #numbers = new WeakMap<object, number>();
  /** Which database each handle is open on, as a host has told. */
  readonly #ids = new Map<number, string>();
  #last = 0;
  /** With the host that serves this page. */
  #bond: Bond | undefined;
  #waiting: Waiting[] = [];
  #connecting = false;
  /** Whether a host was ever connected. */
  #met = false;
  #closed = false;
  /** Connections in a row that died young. */
  #deaths = 0;
  /** End the waits before next attempts. */
  readonly #rests = new Set<() => void>();

  constructor(targets: Targets, options: LinkOptions = {}) {
    this.#own = new OwnWorker(targets, options.timeout_ms ?? TIMEOUT_MS, (isBack) =>
      this.#bond?.putAway(isBack),
    );
    this.#encoding = {
      functions: options.functions ?? 'refuse',
      handleOf: (value) => this.#numbers.get(value),
    };
    // A host that is only now connected begins anew anyway.
    this.#unlisten = onPageReturn((isLong) => {
      this.#bond?.channel.send(['back', isLong]);
      this.#hurry();
    });
  }

  /** Registers `owner`, whose calls use the number returned. */
  open(owner: object, handle: LinkedHandle): number {
    const number = ++this.#last;
    this.#numbers.set(owner, number);
    this.#handles.set(number, handle);
    if (this.#bond !== undefined)
      this.#bond.channel.send(['open', number, handle.name, handle.options, handle.adapter, undefined]);
    else this.#connect();
    return number;
  }

  /** Whether `value` is a handle of this link. */
  knows(value: unknown): boolean {
    return typeof value === 'object' && value !== null && this.#numbers.has(value);
  }

  /** No host knows this handle, and no call of it waits for a host: nobody has to close it. */
  isUnheard(number: number): boolean {
    return !this.#met && this.#waiting.every(({ handle, end }) => handle !== number || end !== undefined);
  }

  /** Whether a host serves this page now. */
  get isServed(): boolean {
    return this.#bond !== undefined;
  }

  /** The id of the database that the handle is open on, if a host has told it. */
  idOf(number: number): string | undefined {
    return this.#ids.get(number);
  }

  /** The handle was closed or destroyed. */
  drop(number: number): void {
    this.#ids.delete(number);
    if (this.#handles.delete(number)) this.#bond?.channel.send(['drop', number]);
    const dropped = this.#waiting.filter(({ handle, end }) => handle === number && end !== undefined);
    if (dropped.length === 0) return;
    this.#waiting = this.#waiting.filter((each) => !dropped.includes(each));
    for (const { end } of dropped) end!(); // checked above
  }

  call(number: number, verb: string, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const encoded = encodeArguments(verb, args, this.#encoding);
      const life = this.#handles.get(number)?.life;
      this.#ask(new Call(number, verb, encoded, resolve, reject, this.#ask, life));
    });
  }

  /** Sends the call over the current channel, or over the next. */
  readonly #ask = (call: Call): void => {
    if (call.isAborted()) return;
    if (this.#bond !== undefined) this.#bond.channel.call(call);
    else this.#wait(call);
  };

  /** Waits for a channel, or until the call's signal fires: it was sent nowhere, and a host may stay silent for long. */
  #wait(call: Call): void {
    const stop = (): void => {
      for (const each of stops) each();
    };
    const waiting: Waiting = {
      handle: call.handle,
      start: (channel) => {
        stop();
        channel.call(call);
      },
      fail: (error) => {
        stop();
        call.reject(error);
      },
    };
    const stops = call.encoded.signals.map((signal) =>
      onAbort(signal, () => {
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        stop();
        call.isAborted();
      }),
    );
    this.#use(waiting);
  }

  /**
   * @param later in a while, or when the page is online or looked at again
   * @throws DatabaseError 400 for arguments that cannot cross
   */
  follow(
    number: number,
    verb: string,
    args: readonly unknown[],
    credit: number,
    sink: Sink,
    later = false,
  ): Followed {
    const encoded = encodeArguments(verb, args, this.#encoding);
    let on: { readonly channel: Channel; readonly id: number } | undefined;
    let cancelled = false;
    // If the feed never began at a host, nobody else says how it ended.
    const end = (): void => sink.end({ value: { status: 'cancelled' } });
    const waiting: Waiting = {
      handle: number,
      end,
      start: (channel) => {
        if (!cancelled) on = { channel, id: channel.feed(number, verb, encoded, credit, sink) };
      },
      fail: (error) => sink.lost(error, false),
    };
    if (!this.#handles.has(number)) sink.end({ error: closed() });
    else if (later) void this.#useLater(waiting);
    else this.#use(waiting);
    return {
      more: (more) => on?.channel.send(['more', on.id, more]),
      retried: (again) => on?.channel.send(['retried', on.id, again]),
      cancel: () => {
        cancelled = true;
        if (on !== undefined) on.channel.send(['cancel', on.id]);
        else end();
      },
    };
  }

  /** Lets the host go. Handles of this link are then closed. */
  close(): void {
    this.#closed = true;
    this.#unlisten();
    const error = workerTerminated('The page has let the worker go');
    const bond = this.#bond;
    this.#bond = undefined;
    bond?.end(error);
    // Also the calls that this gave back.
    this.#failWaiting(error);
    this.#own.close();
    // Feeds that wait for a host end with the attempt that is next.
    this.#hurry();
  }

  #use(waiting: Waiting): void {
    if (this.#bond !== undefined) {
      waiting.start(this.#bond.channel);
      return;
    }
    this.#waiting.push(waiting);
    this.#connect();
  }

  async #useLater(waiting: Waiting): Promise<void> {
    this.#waiting.push(waiting);
    await this.#rest(BACKOFF_MS * 2 ** MOST_DOUBLINGS);
    // Its handle may have been closed, or another host have begun, or failed, with all that waits.
    if (!this.#waiting.includes(waiting)) return;
    this.#waiting = this.#waiting.filter((each) => each !== waiting);
    this.#use(waiting);
  }

  #connect(): void {
    if (this.#connecting) return;
    this.#connecting = true;
    void this.#makeChannel().finally(() => {
      this.#connecting = false;
      // Calls that came while an attempt was ending.
      if (this.#bond === undefined && this.#waiting.length > 0) this.#connect();
    });
  }

  /** A worker's script, and its code that is loaded when first needed, may be on a server that is out of reach: whether that will pass. */
  isPassing(error: unknown): boolean {
    return (isTerminated(error) || isNotLoaded(error)) && !this.#isOver;
  }

  /** Whether there will be no worker any more: the page let it go, or did not say how to make another. */
  get #isOver(): boolean {
    return this.#closed || this.#own.isOver;
  }

  async #makeChannel(): Promise<void> {
    try {
      if (this.#closed) throw workerTerminated('The page has let the worker go');
      if (this.#deaths > 0) await this.#rest(BACKOFF_MS * 2 ** Math.min(this.#deaths - 1, MOST_DOUBLINGS));
      const attached = await this.#own.attach();
      if (this.#closed) return attached.endpoint.close();
      this.#begin(attached);
    } catch (error) {
      if (!isLocked(error)) this.#deaths++; // the owner may wake at any time, and was waited for
      this.#failWaiting(error);
    }
  }

  /** Waits for so long, at most until the page is online or looked at again. */
  #rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#rests.delete(end);
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#rests.add(end);
    });
  }

  #hurry(): void {
    for (const end of this.#rests) end();
  }

  #begin(attached: Attached): void {
    // Of which databases this host tells: one that was left may tell of an end as well as the next, and later.
    const ids = new WeakMap<LinkedHandle, string | undefined>();
    const bond: Bond = new Bond(attached, this.#own, {
      told: (number, event, value) => {
        const handle = this.#handles.get(number);
        if (handle === undefined) return;
        if (event === 'destroyed') {
          const id = ids.get(handle);
          ids.delete(handle);
          if (id !== this.#ids.get(number)) return;
          this.#ids.delete(number);
        }
        handle.told(event, value);
      },
      opened: (number, id) => {
        const handle = this.#handles.get(number);
        if (handle === undefined) return;
        ids.set(handle, id);
        if (bond === this.#bond) this.#ids.set(number, id);
      },
      over: (isGone) => {
        this.#bond = undefined;
        if (!isGone) return;
        // A connection that answered was of use: the next may follow soon.
        this.#deaths = bond.isYoung ? (bond.channel.answered ? 1 : this.#deaths + 1) : 0;
      },
      next: () => this.#reconnect(),
    });
    this.#bond = bond;
    this.#met = true;
    const { channel } = bond;
    for (const [number, handle] of this.#handles) {
      const id = this.#ids.get(number);
      ids.set(handle, id);
      channel.send(['open', number, handle.name, handle.options, handle.adapter, id]);
    }
    for (const { start } of this.#waiting.splice(0)) start(channel);
  }

  /** Handles are to hear what happens to their database from the current host. */
  #reconnect(): void {
    if (this.#handles.size > 0 && !this.#closed && this.#deaths <= MOST_DOUBLINGS) this.#connect();
  }

  #failWaiting(error: unknown): void {
    for (const { fail } of this.#waiting.splice(0)) fail(error);
  }
}
