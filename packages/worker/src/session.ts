/**
 * One page as its host sees it: its handles, the calls it waits for, the feeds it follows. Whatever verbs a handle has are
 * forwarded by name; nothing here knows what they mean.
 */
import { after, type BulkDocsRow, badRequest, closed, tellReturn, unref } from '@settledb/core';
import { hasTexts } from './answers';
import { decodeArguments } from './arguments-decode';
import { askForTexts } from './ask-for-texts';
import { Awake } from './awake';
import { encodeError, presentable, workerTerminated } from './errors';
import { FeedPump } from './feed-pump';
import { Replies } from './replies';
import type { Out } from './said';
import { leaveStream, transfers, withErrors, withoutStream } from './streams';
import { bringsData, callVerb, type FeedLike, type Hosted } from './verbs';
import { type ClientOp, type Crossing, type DocTexts, type Endpoint, type Message, opsIn } from './wire';

/** A handle that could not be opened. As in the page, it can be closed all the same. */
interface Failed extends Pick<Hosted, 'close'> {
  readonly failure: unknown;
}

export interface SessionOptions {
  open(name: string, options: object): Hosted;
  /** See `HostContext`. */
  readonly own: boolean;
  /** By name; for {@link named}. */
  readonly functions: Readonly<Record<string, unknown>>;
  /** Begins a feed of a handle, or joins one that is the same. */
  follow(hosted: Hosted, verb: string, args: readonly unknown[]): FeedLike;
}

/** Events of handles that are passed to the page. Their arguments cross if they can. */
const EVENTS = ['created', 'destroyed', 'closed', 'error', 'indexing', 'evicted', 'blocked'];
/** ms for what a page says last. */
const GOING_MS = 1_000;

export class Session {
  readonly #endpoint: Endpoint;
  readonly #options: SessionOptions;
  readonly #replies: Replies;
  readonly #awake = new Awake();
  readonly #handles = new Map<number, Hosted | Failed>();
  readonly #aborts = new Map<number, AbortController>();
  readonly #feeds = new Map<number, FeedPump>();
  readonly #lists = new Map<number, DocTexts[]>();
  readonly #transfers: boolean;
  #calls = 0;
  /** The last call that was taken. */
  #last = 0;
  /** Whether this side is to stay awake after an answer, and has not yet done so since it last heard something. */
  #staysAwake = false;
  #isAsked = false;
  #leaving = false;
  readonly #end = new AbortController();
  /** Called at the page's first word. */
  onHeard: (() => void) | undefined;
  /** Called when nothing of the session is left. */
  onEnd: () => void = () => {};

  constructor(endpoint: Endpoint, options: SessionOptions) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#transfers = transfers(endpoint);
    this.#replies = new Replies(endpoint, {
      own: options.own,
      isShut: () => this.#isOver,
      sent: () => this.#sent(),
      unfit: (id) => this.#feeds.get(id)?.stop(),
    });
    endpoint.addEventListener('message', ({ data }: MessageEvent<Message<ClientOp>>) => {
      this.onHeard?.();
      this.onHeard = undefined;
      this.#awake.rest();
      this.#isAsked = this.#staysAwake;
      // A BroadcastChannel has further listeners while a link is made.
      if (typeof data === 'string' || Array.isArray(data)) for (const op of opsIn(data)) this.#take(op);
    });
    // A lost message is sent again: to the page's next session, or to another host.
    endpoint.addEventListener('messageerror', () => this.leave());
    endpoint.start?.();
  }

  /** Serves no more: feeds, and calls that were not yet taken, belong to another host from now on. Calls under way are answered. */
  leave(): void {
    this.#leaving = true;
    for (const pump of this.#feeds.values()) pump.stop();
    this.#feeds.clear();
    this.#replies.add(['moved', this.#last]);
    this.#endWhenIdle();
  }

  /** Answers nothing more, not even the calls under way: to the page it is as if its worker had ended. */
  abandon(): void {
    this.leave();
    this.#replies.flush();
    this.end();
  }

  /** The page is gone, or has no more to ask. */
  end(): void {
    if (this.#isOver) return;
    this.#end.abort();
    for (const pump of this.#feeds.values()) pump.stop();
    for (const abort of this.#aborts.values()) abort.abort();
    for (const number of this.#handles.keys()) this.#drop(number);
    for (const map of [this.#feeds, this.#aborts, this.#handles, this.#lists]) map.clear();
    this.#endpoint.close();
    this.onEnd();
  }

  get #isOver(): boolean {
    return this.#end.signal.aborted;
  }

  #take(op: ClientOp): void {
    if (this.#isOver) return;
    if (op[0] === 'call') void this.#call(op[1], op[2], op[3], op[4]);
    else if (op[0] === 'calls') {
      for (let at = 0; at < op[4].length; at++)
        void this.#call(op[1] + at, op[2], op[3], { args: op[4][at]! });
    } else if (op[0] === 'more') this.#feeds.get(op[1])?.more(op[2]);
    else if (op[0] === 'feed') this.#feed(op[1], op[2], op[3], op[4], op[5], op[6]);
    else if (op[0] === 'cancel') this.#feeds.get(op[1])?.cancel();
    else if (op[0] === 'retried') this.#feeds.get(op[1])?.retried(op[2]);
    else if (op[0] === 'abort') this.#abort(op[1]);
    else if (op[0] === 'part') this.#lists.set(op[1], [...(this.#lists.get(op[1]) ?? []), op[2]]);
    else if (op[0] === 'open') this.#open(op[1], op[2], op[3], op[4], op[5]);
    else if (op[0] === 'drop') this.#drop(op[1]);
    else if (op[0] === 'ping') this.#replies.add(['pong']);
    else if (op[0] === 'awake') this.#staysAwake = op[1];
    else if (op[0] === 'back') tellReturn(op[1]);
    else if (op[0] === 'leave') this.leave();
    else if (op[0] === 'going') after(GOING_MS, () => this.end(), unref);
    else this.end();
  }

  /** The handle may be open still: the page closed it at its previous host, while it was opened here. */
  #drop(number: number): void {
    const hosted = this.#handles.get(number);
    this.#handles.delete(number);
    // Whatever closing could not do is left to the next one that opens the database.
    hosted?.close().catch(() => {});
  }

  #abort(id: number): void {
    this.#lists.delete(id);
    this.#aborts.get(id)?.abort();
  }

  /** The signal of a call, for which the page aborts. */
  #signalOf(id: number): AbortSignal {
    const abort = this.#aborts.get(id) ?? new AbortController();
    this.#aborts.set(id, abort);
    return abort.signal;
  }

  #isAbort(id: number, error: unknown): boolean {
    const signal = this.#aborts.get(id)?.signal;
    return signal?.aborted === true && error === signal.reason;
  }

  #open(number: number, name: string, options: object, adapter: string, id: string | undefined): void {
    let hosted: Hosted;
    try {
      hosted = openWith(this.#options.open, name, options, adapter);
    } catch (failure) {
      const close = async (): Promise<void> => void this.#replies.add(['told', number, 'closed', undefined]);
      this.#handles.set(number, { failure, close });
      return;
    }
    this.#handles.set(number, hosted);
    for (const event of EVENTS) {
      hosted.on(event, (value) => {
        if (this.#handles.get(number) === hosted)
          this.#replies.add(['told', number, event, this.#presentable(value)]);
      });
    }
    if (hosted.adapter !== 'http') this.#identify(number, hosted, id);
  }

  /**
   * Tells the page which database its handle is open on, whenever it is open. If that is not the one that the page `knew`, the
   * former was destroyed while the page had no host. Asked before all calls, so that the page hears of it before they are answered.
   */
  #identify(number: number, hosted: Hosted, knew: string | undefined): void {
    let known = knew;
    const tell = (id: string): void => {
      if (this.#handles.get(number) !== hosted || id === known) return;
      if (known !== undefined) this.#replies.add(['told', number, 'destroyed', undefined]);
      known = id;
      this.#replies.add(['id', number, id]);
    };
    // If it cannot be opened, a call says so, or opens it later.
    const ask = (): void => void hosted.id?.().then(tell, ignore);
    if (known !== undefined) ask();
    hosted.on('opened', ask);
    hosted.on('destroyed', () => {
      known = undefined;
    });
  }

  async #call(id: number, number: number, verb: string, crossing: Crossing): Promise<void> {
    // Also of a call that is refused: nobody asks for them again.
    const lists = this.#lists.get(id);
    if (lists !== undefined) this.#lists.delete(id);
    // The page was told, and asks another host.
    if (this.#leaving) return;
    this.#last = id;
    this.#calls++;
    let last: Out | undefined;
    try {
      const hosted = this.#hosted(number, verb);
      const { own } = this.#options;
      // A remote database has no texts, and its rows have a form of their own.
      const isLocal = own && hosted.adapter !== 'http';
      const args = this.#decode(crossing, lists, () => this.#signalOf(id), isLocal);
      const asked = own ? askForTexts(verb, args) : args;
      let answer: unknown = await callVerb(hosted, verb, asked);
      if (this.#isOver) return leaveStream(answer);
      answer = this.#transfers
        ? withErrors(answer, (error) => this.#meaningOf(error))
        : await withoutStream(answer, this.#end.signal);
      if (asked !== args && typeof answer === 'string') last = ['text', id, answer];
      else if (asked !== args && verb === 'allDocs' && hasTexts(answer)) this.#replies.addTexts(id, answer);
      else if (isLocal && verb === 'bulkDocs') last = this.#replies.addWritten(id, answer as BulkDocsRow[]);
      else last = this.#replies.addValue(id, verb, args, answer);
    } catch (error) {
      last = ['no', id, this.#isAbort(id, error) ? { type: 'aborted' } : encodeError(error)];
    }
    this.#calls--;
    if (this.#aborts.size > 0) this.#aborts.delete(id);
    if (last !== undefined && !this.#isOver) this.#replies.addLast(last, this.#calls > 0);
    if (this.#leaving) this.#endWhenIdle();
  }

  /** The page's handle is open, whatever became of the one here. */
  #meaningOf(error: unknown): unknown {
    return this.#isOver && this.#leaving ? workerTerminated('The worker serves no more', error) : error;
  }

  #feed(
    id: number,
    number: number,
    verb: string,
    crossing: Crossing,
    credit: number,
    of: string | undefined,
  ): void {
    if (this.#leaving) return;
    let brings = false;
    const pump = new FeedPump(id, credit, (op) => this.#replies.add(op, brings));
    this.#feeds.set(id, pump);
    pump.onEnd = () => this.#feeds.delete(id);
    void pump.run(() => {
      const hosted = this.#hosted(number);
      const args = this.#decode(crossing, undefined, () => new AbortController().signal, false);
      brings = bringsData(verb, args);
      // Asked before the feed begins, and so answered before it has told anything.
      if (of !== undefined) hosted.id?.().then((now) => now !== of && pump.cancel(), ignore);
      if (verb === 'changes') pump.tellStart(hosted, args[0]);
      return this.#options.follow(hosted, verb, args);
    });
  }

  #hosted(number: number, verb?: string): Hosted {
    const hosted = this.#handles.get(number);
    if (hosted === undefined) throw closed();
    if ('failure' in hosted && verb !== 'close') throw hosted.failure;
    return hosted as Hosted;
  }

  #decode(
    crossing: Crossing,
    lists: readonly DocTexts[] = [],
    signal: () => AbortSignal,
    apart: boolean,
  ): readonly unknown[] {
    const { args, json, doc, parts, patches } = crossing;
    if ((json ?? doc ?? parts ?? patches) === undefined) return args;
    return decodeArguments(crossing, lists, {
      functions: this.#options.functions,
      handle: (number) => this.#hosted(number),
      signal,
      apart,
    });
  }

  /** The argument of an event, if it can cross: not a handle, since the page has its own. */
  #presentable(value: unknown): unknown {
    return typeof value === 'object' && value !== null && 'on' in value ? undefined : presentable(value);
  }

  #endWhenIdle(): void {
    if (this.#calls > 0) return;
    this.#replies.flush();
    this.end();
  }

  #sent(): void {
    if (this.#isAsked) this.#awake.stay();
    this.#isAsked = false;
  }
}

/** @throws bad_request: a page that takes one storage for another would miss what it wrote */
function openWith(open: SessionOptions['open'], name: string, options: object, adapter: string): Hosted {
  const hosted = open(name, options);
  const { adapter: own = adapter } = hosted;
  if (own === adapter) return hosted;
  hosted.close().catch(ignore);
  throw badRequest(
    `The worker keeps the database '${name}' with the adapter '${own}', and the page takes it for '${adapter}': ` +
      `say so by connect(worker, { adapters: ['${own}'] }), or give the worker of another version a scope of its own`,
  );
}

const ignore = (): void => {};
