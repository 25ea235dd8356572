/**
 * What crosses between a page and its host: lists of operations, as few messages as there are turns with something to say.
 *
 *   page                                host
 *     open 1 notes · call 7 put · …  ─▶
 *                                    ◀─  ok 7 {…}
 *     feed 8 changes, 1,000 ahead    ─▶
 *                                    ◀─  items 8 [… up to 1,000]
 *     more 8 500                     ─▶                             a slow page gives no more credit, and gets no more
 *
 * Ids are given by the page and never used again, so that an answer from a connection that was given up harms nobody. Those of calls
 * rise in the order in which the calls go, so that one number says which of them were taken.
 */

/** Raised when the operations change: page and host of different kinds refuse each other rather than misunderstand. */
export const PROTOCOL = 9;

/**
 * Rows of an answer in one message. It is taken apart in one task of the page, at 1–2.5 µs a row: about a millisecond, while the
 * worker makes the next one.
 */
export const PART = 500;

/**
 * Documents of a call in one message. They are made into one in a task of the page, at 1–2 µs each: some 3 ms, far from the 50 ms
 * that a person feels. A shorter list goes with its call.
 */
export const LIST = 2_000;

/** What stands at a place of the arguments that a message cannot carry. */
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
  /** The first argument, in an operation that is JSON itself. */
  readonly doc?: unknown;
  /** Where the documents go that were sent before, in parts: a member of the first argument, or `''` for itself. */
  readonly parts?: string | undefined;
}

/** Documents of a list: see `documents.ts`. */
export type DocTexts = readonly (string | null | undefined)[];

/**
 * What one message carries: operations, or their JSON where all of them are JSON by nature, which costs less than cloning their many
 * little objects: 1,000 calls together 2.6 µs more than in the page, not 3.0 (the quickest of 40; medians 4.0 and 5.2, Chromium).
 */
export type Message<Op> = string | readonly Op[];

/** The operations in a message. */
export const opsIn = <Op>(message: Message<Op>): readonly Op[] =>
  typeof message === 'string' ? JSON.parse(message) : message;

export type ClientOp =
  | readonly ['open', handle: number, name: string, options: object]
  | readonly ['call', id: number, handle: number, verb: string, crossing: Crossing]
  /** As so many calls, with ids one after the other: a third of what there is to parse of small ones. */
  | readonly ['calls', id: number, handle: number, verb: string, args: readonly (readonly unknown[])[]]
  | readonly ['feed', id: number, handle: number, verb: string, crossing: Crossing, credit: number]
  | readonly ['part', id: number, texts: DocTexts]
  /** Also of a call that came to nothing before it was sent, while parts of it were. */
  | readonly ['abort', id: number]
  | readonly ['more', id: number, credit: number]
  | readonly ['cancel', id: number]
  /** Documents that a replication was denied were carried over once more: it is to count what came of that. */
  | readonly ['retried', id: number, again: unknown]
  /** The handle was closed: forget it. */
  | readonly ['drop', handle: number]
  | readonly ['ping']
  /** Is the host to stay awake for a moment after an answer? See `awake.ts`. */
  | readonly ['awake', isAwake: boolean]
  /** The page is online again, or looked at again: of which its worker hears nothing. */
  | readonly ['back', isLong: boolean]
  /** Asks another host from now on: what was taken is to be answered, and the last call that was is to be said. */
  | readonly ['leave']
  | readonly ['bye'];

export type HostOp =
  /** With `list`, what came in parts before belongs there: a member of the value, or `''` for itself. */
  | readonly ['ok', id: number, value: unknown, list?: string]
  /** As `ok`, of what is JSON by nature. */
  | readonly ['json', id: number, value: unknown, list?: string]
  /** As so many of them, with ids one after the other. */
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
  | readonly ['pong']
  /** This host serves no more: it answers the calls it took, up to `last`, and takes none after it. Feeds belong to another. */
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
  /** The reason of the call's own signal: the page has it. */
  | { readonly type: 'aborted' };

/** What operations travel over: a MessagePort, or a BroadcastChannel that only two know. */
export interface Endpoint {
  postMessage(message: unknown, transfer?: Transferable[]): void;
  addEventListener(type: 'message' | 'messageerror', listener: (event: MessageEvent) => void): void;
  start?(): void;
  close(): void;
}

/** Posted to a worker, with a port on which {@link Control} is offered. */
export interface Hello {
  readonly settledb: 'hello';
  readonly port: MessagePort;
}

/**
 * Posted to a dedicated worker: its page is about to be put away, and the worker with it, or is back. By the worker's own queue, in which
 * it comes before the standing still; what is posted to a port comes too late in WebKit.
 */
export interface PutAway {
  readonly settledb: 'away' | 'back';
}

/** Posted by a dedicated worker that ends itself, because it cannot be put away: it is heard when the page is back. */
export interface Ended {
  readonly settledb: 'ended';
}

/** What a page asks of its own worker, over comlink: rare things, one by one. */
export interface Control {
  /** @param port for operations, if this worker is the one that serves */
  attach(port: MessagePort, client: ClientInfo): Promise<Welcome>;
  /** The owner does not answer this page. Looks into it: is it time to attach again? */
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
