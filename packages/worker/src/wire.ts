/**
 * What crosses between a page and its host: lists of operations, in one message per turn that has something to send.
 *
 *   page                                host
 *     open 1 notes · call 7 put · …  ─▶
 *                                    ◀─  ok 7 {…}
 *     feed 8 changes, 1,000 ahead    ─▶
 *                                    ◀─  items 8 [… up to 1,000]
 *     more 8 500                     ─▶                             a slow page gives no more credit, and gets no more
 *
 * The page assigns ids and never uses one again, so that an answer from an abandoned connection does no harm. Those of calls
 * rise in the order in which the calls are sent, so that one number says which of them were taken.
 */

/** Raised when the operations change: page and host of different kinds refuse each other rather than misunderstand. */
export const PROTOCOL = 13;

/**
 * Rows of an answer in one message. One task of the page parses them, at 1–2.5 µs a row: about a millisecond, while the
 * worker makes the next message.
 */
export const PART = 500;

/**
 * Documents of a call in one message. One task of the page makes the message, at 1–2 µs for each: some 3 ms, far from the 50 ms
 * that a person notices. A shorter list goes with its call.
 */
export const LIST = 2_000;

/** Stands for a place in the arguments that a message cannot carry. */
export type Patch =
  /** An AbortSignal of the call. */
  | readonly [path: Path, kind: 'signal']
  /** A function that the host knows by this name, or the source of one. */
  | readonly [path: Path, kind: 'named' | 'source', text: string]
  /** Another handle of the same page. */
  | readonly [path: Path, kind: 'handle', handle: number];
export type Path = readonly (string | number)[];

/** Arguments as they cross. */
export interface Crossing {
  readonly args: readonly unknown[];
  readonly patches?: readonly Patch[] | undefined;
  /** The first argument, as JSON. */
  readonly json?: string | undefined;
  /** The first argument, if the operation is JSON itself. */
  readonly doc?: unknown;
  /** Where the documents that were sent before in parts belong: a member of the first argument, or `''` for the argument itself. */
  readonly parts?: string | undefined;
}

/** Documents of a list: see `documents.ts`. */
export type DocTexts = readonly (string | null | undefined)[];

/**
 * What one message carries: operations, or their JSON if all of them are plain JSON, which costs less than cloning their many
 * little objects: when this was chosen 1,000 calls together took 2.6 µs each more than in the page, not 3.0 (the quickest of 40; medians
 * 4.0 and 5.2, Chromium). What they take since, and that a lone call takes as long either way, is in decisions/0018.
 */
export type Message<Op> = string | readonly Op[];

/** The operations in a message. */
export const opsIn = <Op>(message: Message<Op>): readonly Op[] =>
  typeof message === 'string' ? JSON.parse(message) : message;

export type ClientOp =
  /**
   * `adapter` is the name of the one that the page says it uses. `id` is of the database as the page knows it: if it is another one now, the
   * former was destroyed while the page had no host.
   */
  | readonly ['open', handle: number, name: string, options: object, adapter: string, id: string | undefined]
  | readonly ['call', id: number, handle: number, verb: string, crossing: Crossing]
  /** Several calls with consecutive ids: for small ones, a third as much to parse. */
  | readonly ['calls', id: number, handle: number, verb: string, args: readonly (readonly unknown[])[]]
  /** `of` is the id of the database that a feed which is begun again is of: it ends if that one is no more. */
  | readonly [
      'feed',
      id: number,
      handle: number,
      verb: string,
      crossing: Crossing,
      credit: number,
      of: string | undefined,
    ]
  | readonly ['part', id: number, texts: DocTexts]
  /** Also for a call that failed before it was sent, when parts of it had been sent. */
  | readonly ['abort', id: number]
  | readonly ['more', id: number, credit: number]
  | readonly ['cancel', id: number]
  /** Denied documents of a replication were transferred once more: it is to count the outcome. */
  | readonly ['retried', id: number, again: unknown]
  /** The handle was closed: forget it. */
  | readonly ['drop', handle: number]
  | readonly ['ping']
  /** Whether the host is to stay awake for a moment after an answer. See `awake.ts`. */
  | readonly ['awake', isAwake: boolean]
  /** The page is online again, or visible again: its worker does not hear of that. */
  | readonly ['back', isLong: boolean]
  /** The page asks another host from now on: the host is to answer the calls it took, and to say which was the last. */
  | readonly ['leave']
  /** The page is being left, and has no lock that tells of its end. What its other listeners say follows. */
  | readonly ['going']
  | readonly ['bye'];

export type HostOp =
  /** With `list`, the parts that came before belong there: a member of the value, or `''` for the value itself. */
  | readonly ['ok', id: number, value: unknown, list?: string]
  /** Like `ok`, for plain JSON. */
  | readonly ['json', id: number, value: unknown, list?: string]
  /** Several of them, with consecutive ids. */
  | readonly ['jsons', id: number, values: readonly unknown[]]
  | readonly ['no', id: number, error: WireError]
  /** Items, or their JSON. */
  | readonly ['part', id: number, items: readonly unknown[] | string]
  /** Rows of `allDocs` with documents: see `answers.ts`. */
  | readonly ['docs', id: number, items: readonly unknown[]]
  /** Rows of `bulkDocs`: see `answers.ts`. */
  | readonly ['rows', id: number, items: readonly unknown[]]
  | readonly ['items', id: number, items: readonly unknown[]]
  | readonly ['event', id: number, name: string, value: unknown]
  /** The position a feed since `now` begins at; the status of a replication. */
  | readonly ['at', id: number, value: unknown]
  | readonly ['end', id: number, outcome: WireOutcome]
  | readonly ['told', handle: number, event: string, value: unknown]
  /** The id of the database that the handle is open on. */
  | readonly ['id', handle: number, id: string]
  | readonly ['pong']
  /** This host serves no more: it answers the calls it took, up to `last`, and takes none after it. Feeds belong to another host. */
  | readonly ['moved', last: number];

export type WireOutcome = { readonly value: unknown } | { readonly error: WireError };

/** An error, or whatever was thrown, as plain data. */
export type WireError =
  | {
      readonly type: 'error';
      readonly base: string;
      readonly fields: Record<string, unknown>;
      cause?: WireError;
    }
  | { readonly type: 'value'; readonly value: unknown }
  /** The reason of the call's own signal, which the page has. */
  | { readonly type: 'aborted' };

/** What operations travel over: a MessagePort, or a `LinkChannel`. */
export interface Endpoint {
  postMessage(message: unknown, transfer?: Transferable[]): void;
  addEventListener(type: 'message' | 'messageerror' | 'close', listener: (event: MessageEvent) => void): void;
  start?(): void;
  close(): void;
}

/** Posted to a worker, with a port on which {@link Control} is offered. */
export interface Hello {
  readonly settledb: 'hello';
  readonly port: MessagePort;
}

/**
 * Posted to a dedicated worker: its page, and the worker with it, is about to be put away, or is back. Sent through the worker's own
 * queue, in which it arrives before the freezing; what is posted to a port comes too late in WebKit.
 */
export interface PutAway {
  readonly settledb: 'away' | 'back';
}

/** Posted by a dedicated worker that ends itself, because it cannot be put away (the page hears it when it is back) or is of no use. */
export interface Ended {
  readonly settledb: 'ended';
  /** The browser refuses it its storage. */
  readonly isLost: boolean;
}

/** What a page asks of its own worker, over comlink: rare requests, one by one. */
export interface Control {
  /** @param port for operations, if this worker is the one that serves */
  attach(port: MessagePort, client: ClientInfo): Promise<Welcome>;
  /** The owner does not answer this page: checks that. @returns whether it is time to attach again */
  suspect(host: string): Promise<boolean>;
}

export interface ClientInfo {
  readonly protocol: number;
  /** A Web Lock the page holds as long as it lives. */
  readonly lock: string | undefined;
}

export interface Welcome {
  readonly host: string;
  /** A Web Lock the host holds as long as it lives. */
  readonly lock: string | undefined;
  /** The same of the worker that was asked. */
  readonly own?: string | undefined;
  /** The host is another tab's worker: it listens on the BroadcastChannel of this name. */
  readonly link?: string | undefined;
}
