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
import { Call } from './call';
import { Channel, type Sink } from './channel';
import { isLocked, workerTerminated } from './errors';
import { whenGone } from './life';
import { OwnWorker } from './own-worker';
import { onGoing } from './page-life';
import { type Beat, LEFT, OTHER_TAB, OWN, Pulse, UNSEEN } from './pulse';
import type { Targets } from './targets';
import type { Endpoint } from './wire';

export interface LinkOptions {
  /**
   * What happens to functions among the arguments (filters, map and reduce functions). `refuse` (default): the call rejects and says
   * what to do instead. `source`: they cross as text and are made again in the worker, where nothing that they refer to
   * outside themselves exists.
   */
  readonly functions?: 'refuse' | 'source' | undefined;
  /** How many ms to wait for the worker's first answer. Default 10,000. */
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
/** Silences after which a host is left although it says elsewhere that it is the owner: it does not answer here. */
const SILENCES = 2;
/** A connection that lived shorter counts as a failure, and the next one waits: 100 ms, doubling, to 6.4 s. */
const YOUNG_MS = 1_000;
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
  #channel: Channel | undefined;
  #waiting: Waiting[] = [];
  /** Leaves the channel for another one, as the page is put away or is back. */
  #leave = (_isBack: boolean): void => {};
  /** Ends the channel, and the watch over its host. */
  #end = (_error: unknown): void => {};
  #connecting = false;
  /** Whether a host was ever connected. */
  #met = false;
  #closed = false;
  /** Connections in a row that died young. */
  #deaths = 0;
  /** Ends the wait before the next attempt. */
  #hurry = (): void => {};

  constructor(targets: Targets, options: LinkOptions = {}) {
    this.#own = new OwnWorker(targets, options.timeout_ms ?? TIMEOUT_MS, (isBack) => this.#leave(isBack));
    this.#encoding = {
      functions: options.functions ?? 'refuse',
      handleOf: (value) => this.#numbers.get(value),
    };
    // A host that is only now connected begins anew anyway.
    this.#unlisten = onPageReturn((isLong) => {
      this.#channel?.send(['back', isLong]);
      this.#hurry();
    });
  }

  /** Registers `owner`, whose calls use the number returned. */
  open(owner: object, handle: LinkedHandle): number {
    const number = ++this.#last;
    this.#numbers.set(owner, number);
    this.#handles.set(number, handle);
    if (this.#channel !== undefined)
      this.#channel.send(['open', number, handle.name, handle.options, handle.adapter, undefined]);
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

  /** The id of the database that the handle is open on, if a host has told it. */
  idOf(number: number): string | undefined {
    return this.#ids.get(number);
  }

  /** The handle was closed or destroyed. */
  drop(number: number): void {
    this.#ids.delete(number);
    if (this.#handles.delete(number)) this.#channel?.send(['drop', number]);
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
    if (this.#channel !== undefined) this.#channel.call(call);
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

  /** @throws DatabaseError 400 for arguments that cannot cross */
  follow(number: number, verb: string, args: readonly unknown[], credit: number, sink: Sink): Followed {
    const encoded = encodeArguments(verb, args, this.#encoding);
    let on: { readonly channel: Channel; readonly id: number } | undefined;
    let cancelled = false;
    // If the feed never began at a host, nobody else says how it ended.
    const end = (): void => sink.end({ value: { status: 'cancelled' } });
    if (!this.#handles.has(number)) sink.end({ error: closed() });
    else
      this.#use({
        handle: number,
        end,
        start: (channel) => {
          if (!cancelled) on = { channel, id: channel.feed(number, verb, encoded, credit, sink) };
        },
        fail: (error) => sink.lost(error, false),
      });
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
    if (this.#channel !== undefined) {
      this.#channel = undefined;
      this.#end(error);
    }
    // Also the calls that this gave back.
    this.#failWaiting(error);
    this.#own.close();
    // Feeds that wait for a host end with the attempt that is next.
    this.#hurry();
  }

  #use(waiting: Waiting): void {
    if (this.#channel !== undefined) {
      waiting.start(this.#channel);
      return;
    }
    this.#waiting.push(waiting);
    this.#connect();
  }

  #connect(): void {
    if (this.#connecting) return;
    this.#connecting = true;
    void this.#makeChannel().finally(() => {
      this.#connecting = false;
      // Calls that came while an attempt was ending.
      if (this.#channel === undefined && this.#waiting.length > 0) this.#connect();
    });
  }

  /** Whether there will be no worker any more: the page let it go, or did not say how to make another. */
  get isOver(): boolean {
    return this.#closed || this.#own.isOver;
  }

  async #makeChannel(): Promise<void> {
    try {
      if (this.#closed) throw workerTerminated('The page has let the worker go');
      if (this.#deaths > 0) await this.#backOff();
      const { endpoint, welcome, isHeld } = await this.#own.attach();
      if (this.#closed) return endpoint.close();
      this.#begin(endpoint, welcome, isHeld);
    } catch (error) {
      if (!isLocked(error)) this.#deaths++; // the owner may wake at any time, and was waited for
      this.#failWaiting(error);
    }
  }

  #backOff(): Promise<void> {
    return new Promise((resolve) => {
      this.#hurry = resolve;
      setTimeout(resolve, BACKOFF_MS * 2 ** Math.min(this.#deaths - 1, MOST_DOUBLINGS));
    });
  }

  /** @param isHeld whether the host can tell by a lock of this page that it is gone */
  #begin(
    endpoint: Endpoint,
    { host, lock, link }: { host: string; lock: string | undefined; link?: string | undefined },
    isHeld: boolean,
  ): void {
    const began = performance.now();
    const events = {
      told: (number: number, event: string, value: unknown) => {
        if (event === 'destroyed') this.#ids.delete(number);
        this.#handles.get(number)?.told(event, value);
      },
      opened: (number: number, id: string) => {
        if (this.#handles.has(number)) this.#ids.set(number, id);
      },
      moved: () => leave(workerTerminated('The worker serves no more')),
      broken: (error: unknown) => gone(error),
    };
    const channel = new Channel(endpoint, events);
    // Nothing else tells a worker that tabs share.
    const stay = isHeld ? (): void => {} : onGoing(() => channel.send(['going']));
    const end = (error: unknown): void => {
      stay();
      unwatch();
      pulse.stop();
      channel.die(error);
    };
    const gone = (error: unknown): void => {
      const isCurrent = this.#channel === channel;
      if (isCurrent) {
        this.#channel = undefined;
        const wasYoung = performance.now() - began < YOUNG_MS;
        // A connection that answered was of use: the next may follow soon.
        this.#deaths = wasYoung ? (channel.answered ? 1 : this.#deaths + 1) : 0;
      }
      end(error);
      if (isCurrent) this.#reconnect();
    };
    const leave = (error: unknown): void => {
      if (this.#channel !== channel) return;
      this.#channel = undefined;
      pulse.stop();
      pulse = new Pulse(channel, LEFT, { tick: () => {}, silent: () => end(error) });
      channel.onIdle = () => end(error);
      channel.leave(error);
      this.#reconnect();
    };
    const ended = (): void => gone(workerTerminated('The worker has ended'));
    const looked = (isSeen: boolean): void => {
      if (isSeen) channel.lock = lock;
      else if (link === undefined && this.#channel === channel) {
        pulse.stop();
        pulse = pulseOf(UNSEEN);
      }
    };
    const unwatch = lock === undefined ? () => {} : whenGone(lock, ended, endpoint, looked);
    const pulseOf = (beat: Beat): Pulse =>
      new Pulse(channel, beat, {
        tick: () => this.#own.keepAwake(),
        silent: (times) => {
          const error = workerTerminated('The worker does not answer');
          if (link === undefined) {
            this.#own.giveUp();
            gone(error);
            return;
          }
          this.#own.suspect(host).then(
            (isGone) => (isGone || times >= SILENCES) && leave(error),
            () => leave(error),
          );
        },
      });
    let pulse = pulseOf(link === undefined ? OWN : OTHER_TAB);
    this.#channel = channel;
    this.#met = true;
    this.#end = end;
    // While the page is away, another tab's worker would throw it out of the back/forward cache (Chromium), by what it tells, and by its
    // wait for the page's lock. A worker that tabs share does not, and goes on with what it does for this page: it sends what was written.
    this.#leave = (isBack) => {
      if (isBack || link !== undefined) leave(workerTerminated('The page was put away while it waited'));
    };
    for (const [number, { name, options, adapter }] of this.#handles)
      channel.send(['open', number, name, options, adapter, this.#ids.get(number)]);
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
