/**
 * One connection of a page to a host: the calls that wait for it, the feeds it serves. It does not outlive its host; what happens
 * to calls and feeds then is up to {@link Link}, which makes the next connection.
 */
import { badRequest, onAbort, thrownText } from '@settledb/core';
import { rowsOf, whole, writtenRows } from './answers';
import type { Encoded } from './arguments';
import { withoutProxies } from './arguments-kinds';
import { type CallOp, crossingOf, textOf } from './asked';
import { Waits } from './awake';
import type { Call } from './call';
import { textsOf } from './documents';
import { decodeError, isLocked, workerTerminated } from './errors';
import { itemsOf, presented, withError } from './heard';
import { type Later, Outbox } from './outbox';
import { asStream, hasStreams, streamsIn, transfers, withoutStreams } from './streams';
import {
  type ClientOp,
  type Endpoint,
  type HostOp,
  type Message,
  opsIn,
  type WireError,
  type WireOutcome,
} from './wire';

/** Receives what a feed tells. */
export interface Sink {
  /** The id of the database that the feed is of, once it has lost a host. */
  readonly of: string | undefined;
  items(items: readonly unknown[]): void;
  event(name: string, value: unknown): void;
  at(value: unknown): void;
  end(outcome: { readonly value: unknown } | { readonly error: unknown }): void;
  /** The connection is gone, or, if the feed was not `begun`, never existed; the feed may be had from the next one. */
  lost(error: unknown, begun: boolean): void;
}

export interface ChannelEvents {
  told(handle: number, event: string, value: unknown): void;
  /** The handle is open on the database with this id. */
  opened(handle: number, id: string): void;
  /** The host serves no more: it still answers the calls it took, everything else goes to another host. */
  moved(): void;
  /** A message of the host was lost, and with it perhaps an answer. */
  broken(error: unknown): void;
}

interface Pending {
  readonly call: Call;
  /** Stops listening to the signals. */
  readonly done?: (() => void) | undefined;
  /** The parts that came so far, for an answer that comes in parts. */
  parts: (readonly unknown[])[] | undefined;
  /** Whether it was given back already, to be sent to the next host. The first answer counts. */
  isAgain: boolean;
}

let serial = 0;

/** Operations that ask the host for something new. */
const ASKING: ReadonlySet<ClientOp[0]> = new Set(['call', 'part', 'feed']);
/** Operations by which a host tells what nobody asked. */
const TELLING: ReadonlySet<HostOp[0]> = new Set(['told', 'id', 'moved']);

export class Channel {
  readonly #endpoint: Endpoint;
  readonly #events: ChannelEvents;
  readonly #outbox: Outbox<ClientOp>;
  readonly #waits: Waits;
  readonly #pending = new Map<number, Pending>();
  readonly #feeds = new Map<number, Sink>();
  #over: { readonly error: unknown } | undefined;
  #leaving: { readonly error: unknown } | undefined;
  /** The last call posted, and the last that the host can have taken: calls are numbered in the order in which they are sent. */
  #posted = 0;
  #taken = Number.POSITIVE_INFINITY;
  /** Whether anything was heard since this was last set to false. */
  heard = false;
  /** Whether anything that was asked for ever came. */
  answered = false;
  /** Held as long as the host lives, once it was seen to be held. */
  lock: string | undefined;
  /** Called when there is nothing more to wait for, after {@link leave}. */
  onIdle: () => void = () => {};

  constructor(endpoint: Endpoint, events: ChannelEvents) {
    this.#endpoint = endpoint;
    this.#events = events;
    this.#outbox = new Outbox((ops) => this.#post(ops), 1);
    this.#waits = new Waits((isAwake) => this.send(['awake', isAwake]));
    endpoint.addEventListener('message', ({ data }: MessageEvent<Message<HostOp>>) => {
      this.heard = true;
      this.#waits.heard();
      let ops: readonly HostOp[];
      try {
        ops = opsIn(data);
      } catch (cause) {
        // Stored text crosses as it is, so it may be the storage that is damaged. Whose answers these were is not known.
        return events.broken(workerTerminated(`An answer of the worker could not be read: ${cause}`, cause));
      }
      for (const op of ops) this.#take(op);
    });
    endpoint.addEventListener('messageerror', () => {
      events.broken(workerTerminated('A message of the worker could not be read'));
    });
    endpoint.start?.();
  }

  /** Whether the host still owes an answer or a message. */
  get busy(): boolean {
    return this.#pending.size > 0 || this.#feeds.size > 0;
  }

  send(op: ClientOp): void {
    this.#outbox.add(op);
  }

  call(call: Call): void {
    const { handle, verb, encoded } = call;
    const left = this.#over ?? this.#leaving;
    if (left !== undefined) {
      call.lost(left.error, false);
      return;
    }
    if (call.isAborted()) return;
    if (encoded.json === undefined && !transfers(this.#endpoint) && hasStreams(encoded.args)) {
      // No stream is waited for that may stand still when its handle has ended.
      const until = call.life === undefined ? encoded.signals : [...encoded.signals, call.life];
      withoutStreams(encoded.args, until).then(
        (args) => {
          call.encoded = { ...encoded, args };
          this.call(call);
        },
        (error) => call.reject(error),
      );
      return;
    }
    const id = ++serial;
    const { signals, texts, lists } = encoded;
    let done: (() => void) | undefined;
    if (signals.length > 0) {
      const abort = (): void => this.#outbox.add(['abort', id]);
      const stops = signals.map((signal) => onAbort(signal, abort));
      done = () => {
        for (const stop of stops) stop();
      };
    }
    this.#pending.set(id, { call, done, parts: undefined, isAgain: false });
    const op = ['call', id, handle, verb, crossingOf(encoded)] as const;
    if (texts !== undefined) this.#outbox.add(['part', id, texts]);
    if (lists === undefined) this.#outbox.add(op);
    else this.#callWith(lists, op);
  }

  /** Sends its documents in parts, made one after the other. If one cannot be made, the call fails and is not sent. */
  #callWith(lists: readonly (readonly unknown[])[], call: CallOp): void {
    const id = call[1];
    for (const list of lists) this.#outbox.add((() => this.#part(id, list)) satisfies Later<ClientOp>);
    const last = (): ClientOp => (this.#pending.has(id) ? call : ['abort', id]);
    this.#outbox.add(last satisfies Later<ClientOp>);
  }

  /** @returns the feed's number, for `more` and `cancel` */
  feed(handle: number, verb: string, encoded: Encoded, credit: number, sink: Sink): number {
    const id = ++serial;
    if (this.#over !== undefined) sink.lost(this.#over.error, true);
    else {
      this.#feeds.set(id, sink);
      this.#outbox.add(['feed', id, handle, verb, crossingOf(encoded), credit, sink.of]);
    }
    return id;
  }

  /**
   * Gives back what another host can be asked, and waits for the answers that only this host has: to writes that it took. Feeds are
   * lost.
   */
  leave(error: unknown): void {
    this.#leaving = { error };
    this.#taken = Math.min(this.#taken, this.#posted);
    this.#outbox.add(['leave']);
    this.#loseFeeds(error);
    this.#giveBack(error);
    this.#checkIdle();
  }

  /** The host is gone, or given up: nothing is awaited any more. What was not posted yet is not sent. */
  die(error: unknown): void {
    if (this.#over !== undefined) return;
    this.#over = { error };
    try {
      // Said again, since it may not have been posted: streams that are still read then end as those of a worker that has ended.
      const left: ClientOp[] = this.#leaving === undefined ? [] : [['leave']];
      this.#endpoint.postMessage([...left, ['bye'] satisfies ClientOp]);
    } catch {
      // There is no one left to tell.
    }
    this.#endpoint.close();
    this.#taken = Math.min(this.#taken, this.#posted);
    this.#loseFeeds(error);
    this.#giveBack(error, true);
    this.leave(error);
  }

  /** Called before calls are given back: a feed since `now` is to tell what was written after it was requested. */
  #loseFeeds(error: unknown): void {
    const sinks = [...this.#feeds.values()];
    this.#feeds.clear();
    for (const sink of sinks) sink.lost(error, true);
  }

  /** @param all also calls that were taken and are not reads, which are refused by this */
  #giveBack(error: unknown, all = false): void {
    for (const [id, pending] of [...this.#pending]) {
      const isTaken = id <= this.#taken;
      if (isTaken && !all && !pending.call.isRead) continue;
      const isFirst = !pending.isAgain;
      pending.isAgain = true;
      // A read that was taken may still get its answer.
      if (all || !isTaken) this.#forget(id);
      if (isFirst) pending.call.lost(error, isTaken);
    }
  }

  #part(id: number, list: readonly unknown[]): ClientOp {
    try {
      if (this.#pending.has(id)) return ['part', id, textsOf(list)];
    } catch (cause) {
      this.#fail(id, badRequest(`The documents are no JSON: ${thrownText(cause)}`, cause));
    }
    return ['abort', id];
  }

  #take(op: HostOp): void {
    this.answered ||= !TELLING.has(op[0]);
    if (op[0] === 'ok' || op[0] === 'json') this.#answer(op[1], op[2], op[3]);
    else if (op[0] === 'jsons') {
      for (let at = 0; at < op[2].length; at++) this.#answer(op[1] + at, op[2][at]);
    } else if (op[0] === 'no') this.#refuse(op[1], op[2]);
    else if (op[0] === 'part') this.#takePart(op[1], itemsOf(op[2]));
    else if (op[0] === 'docs') this.#takePart(op[1], rowsOf(op[2]));
    else if (op[0] === 'rows') this.#takePart(op[1], writtenRows(op[2]));
    else if (op[0] === 'items') this.#feeds.get(op[1])?.items(op[2]);
    else if (op[0] === 'event') this.#feeds.get(op[1])?.event(op[2], presented(op[3]));
    else if (op[0] === 'at') this.#feeds.get(op[1])?.at(withError(op[2]));
    else if (op[0] === 'end') this.#end(op[1], op[2]);
    else if (op[0] === 'told') this.#events.told(op[1], op[2], presented(op[3]));
    else if (op[0] === 'id') this.#events.opened(op[1], op[2]);
    else if (op[0] === 'moved') this.#moved(op[1]);
  }

  #takePart(id: number, items: readonly unknown[]): void {
    const pending = this.#pending.get(id);
    if (pending?.parts !== undefined) pending.parts.push(items);
    else if (pending !== undefined) pending.parts = [items];
  }

  #moved(last: number): void {
    this.#taken = last;
    if (this.#leaving === undefined) this.#events.moved();
    else this.#giveBack(this.#leaving.error);
    this.#checkIdle();
  }

  #refuse(id: number, wire: WireError): void {
    const pending = this.#pending.get(id);
    const aborted = pending?.call.encoded.signals.find((signal) => signal.aborted);
    // The answer may only say that this host has let go of the database.
    if (pending?.isAgain) this.#forget(id);
    const error = decodeError(wire, aborted?.reason);
    // A host that serves no more could not open the files, as the next one has them: nothing was done.
    if (this.#leaving !== undefined && isLocked(error)) this.#forget(id)?.call.lost(error, false);
    this.#fail(id, error);
  }

  #end(id: number, outcome: WireOutcome): void {
    const sink = this.#feeds.get(id);
    this.#feeds.delete(id);
    sink?.end('error' in outcome ? { error: decodeError(outcome.error) } : outcome);
  }

  #answer(id: number, value: unknown, list?: string): void {
    const pending = this.#forget(id);
    if (pending !== undefined) {
      const { call, parts } = pending;
      call.resolve(asStream(whole(value, parts, list), this.lock, call.encoded.signals));
    }
    this.#checkIdle();
  }

  #fail(id: number, error: unknown): void {
    this.#forget(id)?.call.reject(error);
    this.#checkIdle();
  }

  #forget(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.done?.();
    return pending;
  }

  #checkIdle(): void {
    if (this.#leaving !== undefined && this.#pending.size === 0) this.onIdle();
  }

  #post(given: readonly ClientOp[], bare = false): void {
    if (this.#over !== undefined) return;
    // Calls that were on their way were given back already.
    const ops = this.#leaving === undefined ? given : given.filter(([kind]) => !ASKING.has(kind));
    if (ops.length === 0) return;
    try {
      const text = textOf(ops);
      const streams = text === undefined ? streamsIn(ops) : [];
      if (streams.length > 0) for (const op of ops) this.#spend(op);
      this.#endpoint.postMessage(text ?? ops, streams);
      const before = this.#posted;
      for (const op of ops) if (op[0] === 'call') this.#posted = op[1];
      if (this.#posted !== before) this.#waits.said();
    } catch (cause) {
      if (ops.length > 1) for (const op of ops) this.#post([op]);
      else if (bare) this.#refused(ops[0]!, cause);
      else this.#post([this.#bared(ops[0]!)], true);
    }
  }

  /** An operation that cannot be cloned as it is, without proxies. It is left as it is if it has no end. */
  #bared(op: ClientOp): ClientOp {
    try {
      return withoutProxies(op);
    } catch {
      return op;
    }
  }

  #spend(op: ClientOp): void {
    const call = op[0] === 'call' ? this.#pending.get(op[1])?.call : undefined;
    if (call !== undefined && streamsIn([op]).length > 0) call.isSpent = true;
  }

  /** Something in it cannot be cloned. */
  #refused(op: ClientOp, cause: unknown): void {
    const error = badRequest(`The arguments could not cross to the worker: ${thrownText(cause)}`, cause);
    // Of a call without one of its parts, a host would do the rest.
    if (op[0] === 'call' || op[0] === 'part') this.#fail(op[1], error);
    if (op[0] !== 'feed') return;
    const sink = this.#feeds.get(op[1]);
    this.#feeds.delete(op[1]);
    sink?.end({ error });
  }
}
