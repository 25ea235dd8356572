/**
 * The host: what runs in the worker. It accepts pages and gives each a session. If several tabs have workers of the same
 * kind, it serves only if it was elected; pages of the other workers are sent to it.
 */

import { after, badRequest, STORAGE_LOST, unref, uuid } from '@settledb/core';
import { expose } from 'comlink';
import { Election } from './election';
import { hold, whenGone } from './life';
import { Session } from './session';
import { keyOf, SharedFeeds } from './shared-feeds';
import { callVerb, type FeedLike, type Hosted } from './verbs';
import {
  type ClientInfo,
  type Control,
  type Ended,
  type Endpoint,
  type Hello,
  PROTOCOL,
  type PutAway,
  type Welcome,
} from './wire';

/**
 * ms since this worker began, in which it does not give up for want of storage, but refuses calls: where the next one fares no better,
 * owners do not take turns faster than this.
 */
const YOUNG_MS = 5_000;
/**
 * ms in which a page says its first word, where nothing else tells of its end. One of another tab gives itself less (`reached.ts`): if it
 * had given up before it was told of the link, it never says any, and as long as it lives nobody else would end its session. One that is
 * reloaded while it asks gets no lock, or has none any more when it is looked for.
 */
const FIRST_WORD_MS = 10_000;

export interface HostOptions {
  /** Functions that pages may refer to by `named('…')`, since they cannot send their own. */
  // biome-ignore lint/suspicious/noExplicitAny: filters, maps and back-offs lie side by side; each reads what it is given
  readonly functions?: Readonly<Record<string, (...args: any[]) => unknown>> | undefined;
  /**
   * Dedicated workers only: the workers of this scope, in all tabs of the origin, elect one of them, and it serves all. Give
   * each application of an origin its own. Default `''`; `false`: every worker serves its own page.
   */
  readonly scope?: string | false | undefined;
}

export interface HostContext {
  /** Opens a handle. */
  open(name: string, options: object): Hosted;
  /** Whether only one page has this worker. */
  readonly dedicated: boolean;
  /**
   * Whether all methods of the handles are the package's own, not those of a derived class. Then documents may be passed to them and
   * taken from them as text, in ways that only these methods know.
   */
  readonly own?: boolean;
}

export class Host {
  readonly id = uuid();
  readonly #context: HostContext;
  readonly #functions: Readonly<Record<string, unknown>>;
  /** With the lock of their page. */
  readonly #sessions = new Map<Session, string | undefined>();
  readonly #shared = new SharedFeeds();
  /** How each handle was opened. */
  readonly #opened = new WeakMap<Hosted, readonly [name: string, options: object]>();
  readonly #life = hold(`settledb:host:${this.id}`);
  readonly #election: Election | undefined;

  constructor(context: HostContext, { functions = {}, scope = '' }: HostOptions = {}) {
    this.#context = context;
    this.#functions = functions;
    if (!context.dedicated || scope === false) return;
    this.#election = Election.begin(scope, this.id, {
      link: async (channel, client) => void (await this.#serve(channel, client, true)),
      deposed: () => {
        for (const session of this.#sessions.keys()) session.leave();
      },
    });
  }

  /** Number of pages that are served. */
  get pages(): number {
    return this.#sessions.size;
  }

  /** Offers {@link Control} on the port of a {@link Hello}, and hears the page's {@link PutAway}; ignores anything else. */
  readonly accept = (event: MessageEvent): void => {
    // Anybody can post to a window that is a host: a frame of another origin, or who opened it. Ports and workers name no origin.
    if (event.origin && event.origin !== globalThis.origin) return;
    const { settledb, port } = (event.data ?? {}) as Partial<Hello> | Partial<PutAway & { port: undefined }>;
    if (settledb === 'hello' && port !== undefined) expose(this.#control, port);
    if (!this.#context.dedicated) return;
    if (settledb === 'away') this.#away();
    if (settledb === 'back') this.#back();
  };

  /** Another worker should be the owner, and what is open here must not stand in the way of others. */
  #away(): void {
    this.#election?.resign();
    if (!tellHere('pagehide')) endHere(false);
  }

  /** The browser refuses this worker its storage, and will go on to: another one is to serve. */
  readonly lost = (): void => {
    if (performance.now() < YOUNG_MS) return;
    this.#election?.resign();
    for (const session of this.#sessions.keys()) session.abandon();
    endHere(true);
  };

  #back(): void {
    this.#election?.stand();
    tellHere('pageshow');
  }

  readonly #control: Control = {
    attach: async (port, client) => {
      if (client.protocol !== PROTOCOL) {
        throw badRequest(
          `The page speaks version ${client.protocol} of the worker's protocol, the worker ${PROTOCOL}: reload, so that both come from one release`,
        );
      }
      const elsewhere = await this.#election?.seat(client);
      if (elsewhere !== undefined) {
        port.close();
        return { ...elsewhere, own: await this.#life.name };
      }
      return this.#serve(port, client);
    },
    suspect: async (host) => this.#election?.suspect(host) ?? false,
  };

  async #serve(endpoint: Endpoint, client: ClientInfo, isLinked = false): Promise<Welcome> {
    const session = new Session(endpoint, {
      functions: this.#functions,
      open: (name, options) => this.#open(name, options),
      own: this.#context.own ?? false,
      follow: (hosted, verb, args) => this.#follow(hosted, verb, args),
    });
    // A page that asks again has left its session before. That word is lost where the browser has ended a channel.
    for (const [former, lock] of this.#sessions) if (lock && lock === client.lock) former.leave();
    this.#sessions.set(session, client.lock);
    let isSeen = false;
    const looked = (isHeld: boolean): void => {
      isSeen = isHeld;
    };
    const unwatch =
      client.lock === undefined ? undefined : whenGone(client.lock, () => session.end(), endpoint, looked);
    // A page that was only late hears of it, and asks again.
    const late = (): void => {
      if (isLinked || !isSeen) session.abandon();
    };
    const stop = after(FIRST_WORD_MS, late, unref);
    session.onHeard = stop;
    session.onEnd = () => {
      stop();
      unwatch?.();
      this.#sessions.delete(session);
    };
    return { host: this.id, lock: await this.#life.name };
  }

  #open(name: string, options: object): Hosted {
    const hosted = this.#context.open(name, options);
    this.#opened.set(hosted, [name, options]);
    return hosted;
  }

  #follow(hosted: Hosted, verb: string, args: readonly unknown[]): FeedLike {
    const opened = this.#opened.get(hosted)!;
    const key = keyOf(opened, verb, args);
    if (key === undefined) return callVerb(hosted, verb, args) as FeedLike;
    return this.#shared.follow(key, () => this.#followAlone(opened, verb, args));
  }

  /** Follows with a handle of its own: the page that asked first may go, while the others go on. */
  #followAlone(opened: readonly [string, object], verb: string, args: readonly unknown[]): FeedLike {
    const own = this.#context.open(...opened);
    const close = (): void => void own.close().catch(() => {});
    try {
      const feed = callVerb(own, verb, args) as FeedLike;
      feed.then(close, close);
      return feed;
    } catch (error) {
      close();
      throw error;
    }
  }
}

/**
 * Tells this worker what happens to its page, since a worker hears nothing of it by itself. The storage listens to these events in pages
 * and in workers.
 * @returns false if something is open that would stand in the way of other contexts, and only the worker's end can undo that
 */
const tellHere = (type: 'pagehide' | 'pageshow'): boolean =>
  globalThis.dispatchEvent?.(Object.assign(new Event(type, { cancelable: true }), { persisted: true })) ??
  true;

/** Ends this worker. The pages of a shared one hear of it by its lock alone. */
function endHere(isLost: boolean): void {
  const scope = globalThis as unknown as { postMessage?(word: Ended): void; close(): void };
  scope.postMessage?.({ settledb: 'ended', isLost });
  scope.close();
}

/** The global scope of a worker, of whichever kind. */
interface Scope {
  /** None in a thread of Node. */
  addEventListener?(type: string, listener: (event: MessageEvent) => void): void;
  readonly clients?: unknown;
  readonly postMessage?: unknown;
}

/**
 * Listens for pages, in the worker where this is called. Call it when the script first runs: a service worker accepts listeners
 * only then, and a dedicated worker's first message does not wait longer.
 *
 * @throws TypeError in a thread of Node
 */
export function listen(context: Omit<HostContext, 'dedicated'>, options: HostOptions = {}): Host {
  const scope = globalThis as unknown as Scope;
  if (scope.addEventListener === undefined)
    throw new TypeError('host() is for workers of browsers: threads of Node cannot serve pages');
  const isService = scope.clients !== undefined;
  const isShared = 'onconnect' in scope;
  const host = new Host({ ...context, dedicated: !isService && !isShared }, options);
  // A service worker is none that a page can make anew.
  if (!isService) scope.addEventListener(STORAGE_LOST, host.lost);
  if (!isShared) scope.addEventListener('message', host.accept);
  else {
    scope.addEventListener('connect', ({ ports: [port] }) => {
      port!.addEventListener('message', host.accept);
      port!.start();
    });
  }
  return host;
}
