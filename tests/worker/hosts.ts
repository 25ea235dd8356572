/**
 * Hosts that a test makes, one after the other: sessions, each over a BroadcastChannel as another tab's worker has it, which the
 * test moves or silences when it wants.
 */
import { BasicFeed, onAbort } from '@settledb/core';
import { expose } from 'comlink';
import { expect, onTestFinished } from 'vitest';
import { connect } from '../../packages/settledb/src/connect';
import { LinkChannel } from '../../packages/worker/src/link-channel';
import { Session } from '../../packages/worker/src/session';
import type { Target } from '../../packages/worker/src/targets';
import { callVerb, type FeedLike, type Hosted } from '../../packages/worker/src/verbs';
import type { Control, Endpoint, Hello, Welcome } from '../../packages/worker/src/wire';

/** Of `vi.waitFor`. */
export const PATIENCE = { timeout: 15_000, interval: 5 };

export interface Doc {
  readonly _id: string;
  readonly n?: number;
}

/** One after the other serves the page. */
export class Hosts {
  readonly sessions: Session[] = [];
  /** What each host has done, in order. */
  readonly done: string[][] = [];
  /** Hosts that hear nothing and say nothing. */
  readonly silent = new Set<number>();
  /** What verbs wait for. */
  gate: (verb: string, host: number) => Promise<void> = async () => {};
  /** Hosts whose handle was opened, and closed. */
  readonly opened: number[] = [];
  readonly closed: number[] = [];
  /** Hosts that serve no more before their page listens to them. */
  readonly brief = new Set<number>();
  /** Opens what they serve instead of handles that only note what is done. */
  open: ((name: string, options: object) => Hosted) | undefined;
  /** What a page that asks for a host waits for. */
  begin: () => Promise<void> = async () => {};
  /** Pages that are yet to be refused. */
  refusals = 0;
  /** The lock that they are said to hold. */
  lock: string | undefined;
  /** How many feeds were begun. They tell no items by themselves. */
  feeds = 0;
  /** What a feed does when it begins. */
  onFeed: (emit: (event: string, value?: unknown) => void, push: (item: unknown) => unknown) => void =
    () => {};
  /** What the first host does about a message that it cannot read. */
  #unreadable: ((event: MessageEvent) => void) | undefined;
  readonly #isOwn: boolean;

  /** @param isOwn over a port of the page, as its own worker is reached */
  constructor(isOwn = false) {
    this.#isOwn = isOwn;
  }

  get now(): Session {
    return this.sessions.at(-1)!;
  }

  /** The first host does nothing of what it takes from now on. @returns lets it go on */
  holdFirst(): () => void {
    let release!: () => void;
    const open = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.gate = async (_verb, host) => (host === 0 ? open : undefined);
    return release;
  }

  /** What the first host is told until `said` is over cannot be read by it. */
  async garble(said: () => Promise<void>): Promise<void> {
    this.silent.add(0);
    await said();
    this.silent.delete(0);
    this.#unreadable!(new MessageEvent('messageerror'));
  }

  /** A class of handles that they serve. @param make wraps what the page makes its worker by, which else is given to it as an object */
  connect(make?: (worker: () => MessagePort) => () => Target) {
    const ports: MessagePort[] = [];
    const worker = (): MessagePort => {
      const { port1, port2 } = new MessageChannel();
      port1.addEventListener('message', ({ data }: MessageEvent<Hello>) => {
        const control: Control = {
          attach: async (port) => {
            await this.begin();
            return this.#attach(port);
          },
          suspect: async () => true,
        };
        expose(control, data.port);
      });
      port1.start();
      ports.push(port1);
      return port2;
    };
    const options = { timeout_ms: PATIENCE.timeout, adapters: ['memory'] };
    const Connected = connect(make?.(worker) ?? worker(), options);
    onTestFinished(() => {
      Connected.disconnect();
      for (const session of this.sessions) session.end();
      for (const port of ports) port.close();
    });
    return Connected;
  }

  #attach(port: MessagePort): Welcome {
    if (this.refusals-- > 0) throw new Error('not now');
    const host = this.sessions.length;
    const link = `again ${crypto.randomUUID()}`;
    this.done.push([]);
    const options = {
      open: (name: string, more: object) => this.open?.(name, more) ?? this.#handle(host),
      own: false,
      functions: {},
      follow: (hosted: Hosted, verb: string, args: readonly unknown[]) => {
        this.feeds++;
        if (this.open !== undefined) return callVerb(hosted, verb, args) as FeedLike;
        this.done[host]!.push(verb);
        return new BasicFeed<unknown, unknown>(({ signal, emit, push }) => {
          this.onFeed(emit, push);
          return new Promise((end) => onAbort(signal, () => end({})));
        });
      },
    };
    const endpoint = this.#isOwn ? port : new LinkChannel(link);
    this.sessions.push(new Session(this.#unless(host, endpoint), options));
    if (this.brief.has(host)) this.now.leave();
    return { host: String(host), lock: this.lock, link: this.#isOwn ? undefined : link };
  }

  #unless(host: number, endpoint: Endpoint): Endpoint {
    return {
      postMessage: (message, transfer) => {
        if (!this.silent.has(host)) endpoint.postMessage(message, transfer ?? []);
      },
      addEventListener: (type, listener) => {
        if (type === 'messageerror') this.#unreadable ??= listener;
        endpoint.addEventListener(type, (event) => {
          if (!this.silent.has(host)) listener(event);
        });
      },
      start: () => endpoint.start?.(),
      close: () => endpoint.close(),
    };
  }

  #handle(host: number): Hosted {
    const verb =
      (name: string) =>
      async (first: unknown): Promise<unknown> => {
        const docs = Array.isArray(first) ? (first as Doc[]) : [first as Doc | string];
        for (const doc of docs)
          this.done[host]!.push(
            `${name} ${typeof doc === 'string' ? doc : `${doc._id} ${doc.n ?? ''}`}`.trim(),
          );
        await this.gate(name, host);
        return { ok: true, host };
      };
    const verbs = ['put', 'get', 'bulkDocs', 'putAttachment'].map((name) => [name, verb(name)] as const);
    this.opened.push(host);
    const close = async (): Promise<void> => {
      this.closed.push(host);
      await this.gate('close', host);
    };
    const info = async (): Promise<object> => ({ update_seq: 0 });
    return Object.assign({ on: () => {}, close, info }, Object.fromEntries(verbs));
  }
}

/** Never comes. */
export const never = new Promise<void>(() => {});

/** A handle that the first host serves. */
export async function begun(hosts = new Hosts()) {
  const db = new (hosts.connect())<Doc>('notes');
  expect(await db.get('first')).toMatchObject({ host: 0 });
  hosts.done[0]!.length = 0;
  return { hosts, db };
}
