/**
 * A page's handle of a database that is in a worker: SettleDB's verbs, each a message. The SettleDB in the worker does the
 * work; here is only what must be there at once (names, feeds, events) or cannot cross.
 */
import {
  askedNow,
  type BasicFeed,
  type CallOptions,
  closed,
  type Database,
  Emitter,
  feedUntil,
  withEither,
} from '@settledb/core';
import type {
  DumpOptions,
  Input,
  LoadOptions,
  LoadResult,
  LoadSnapshotOptions,
  Manifest,
  Sink,
  SnapshotOptions,
  SnapshotResult,
} from '@settledb/dump';
import type { LiveQueries } from '@settledb/query';
import { nameOf } from '@settledb/remote/name';
import {
  againOptions,
  type ReplicateOptions,
  type Replication,
  ReplicationFeed,
  StatusBoard,
  type Sync,
  type SyncOptions,
  syncOf,
  type WatchedReplication,
} from '@settledb/replication';
import { followChanges, followLive, isTerminated, type Link } from '@settledb/worker';
import { dumpCode, queryCode } from './code';
import { lazyDump } from './dumps';
import { checkOptions, chooseName } from './hosted-options';
import { Life, lifeOf, setLife } from './life';
import { type LazyLive, lazyLive } from './live';
import { type AnyContent, addressOf, type SettleOptions } from './options';
import type { Peer } from './peers';
import { replicationThere, withStatus } from './replicate-there';
import type { SettleDB } from './settledb';
import { asVerb, BOUND } from './verbs';

/** No handle has this number. */
const NO_HANDLE = 0;

type Verb = (...args: unknown[]) => unknown;

export class HostedHandle extends Emitter {
  readonly name: string;
  readonly adapter: string;
  readonly replicate: {
    readonly to: (peer: Peer, options?: ReplicateOptions) => Replication;
    readonly from: (peer: Peer, options?: ReplicateOptions) => Replication;
  };
  readonly #link: Link;
  readonly #number: number;
  /** Of everything that runs in the page. */
  readonly #life = new Life();
  /** Of what works in the page over the verbs: it ends before its requests are refused, or reach what comes next. */
  readonly #here = new Life();
  /** What was told, of what is told once. */
  readonly #once = new Set<string>();
  readonly #options: SettleOptions;
  #over = false;
  #closing: Promise<void> | undefined;

  /** @param adapters those of the worker, if the page was told */
  constructor(
    link: Link,
    adapters: readonly string[] | undefined,
    first: unknown,
    second: SettleOptions | undefined,
  ) {
    super();
    const [name, options] =
      typeof first === 'object' && first !== null
        ? [(first as { name?: unknown }).name, first as SettleOptions]
        : [first, second ?? {}];
    const address = addressOf(name, options);
    this.name = address.kind === 'local' ? address.name : nameOf(address.url);
    this.adapter = address.kind === 'local' ? chooseName(adapters, options.adapter) : 'http';
    this.#link = link;
    const named = address.kind === 'local' && adapters !== undefined;
    const given = address.kind === 'local' ? address.name : (name as string);
    this.#options = options;
    this.#number = link.open(this, {
      name: given,
      adapter: this.adapter,
      options: checkOptions({ ...options, ...(named && { adapter: this.adapter }) }),
      life: this.#life.signal,
      told: (event, value) => this.#told(event, value),
    });
    for (const verb of BOUND) {
      const method = (this as unknown as Record<string, Verb>)[verb]!;
      const value = asVerb(verb, method.bind(this));
      Object.defineProperty(this, verb, { value, configurable: true, writable: true });
    }
    setLife(this, () => this.#here.signal);
    const replicate = (verb: string) =>
      asVerb(verb, (peer: Peer, more: ReplicateOptions = {}) => this.#replicate(verb, peer, more));
    this.replicate = { to: replicate('replicate.to'), from: replicate('replicate.from') };
  }

  /**
   * Makes methods of the verbs that only ask the worker, which refuses what its version of SettleDB lacks. Derived classes find them as
   * those of SettleDB: `super.put(doc)`. To be called before there are handles; not in a static block, for which bundlers would keep the
   * class in pages that do not use it.
   */
  static complete(): void {
    const { prototype } = HostedHandle;
    for (const verb of BOUND) {
      if (verb in prototype) continue;
      const value = function (this: HostedHandle, ...args: unknown[]): unknown {
        return this.#call(verb, args);
      };
      Object.defineProperty(prototype, verb, { value, configurable: true, writable: true });
    }
  }

  changes(options: CallOptions = {}): BasicFeed<unknown, unknown> {
    // What its host has sent already, and a slow loop has not taken, ends with the handle too.
    return feedUntil([this.#life.signal, options.signal], (signal) =>
      followChanges(this.#link, this.#following, { ...options, signal }, () => this.#here.end()),
    );
  }

  sync(peer: Peer, options: SyncOptions = {}): Sync {
    return feedUntil([this.#life.signal, options.signal], (signal) =>
      syncOf(
        (half) => this.#replicate('replicate.to', peer, half),
        (half) => this.#replicate('replicate.from', peer, half),
        { ...options, signal },
      ),
    );
  }

  /** Runs in the page, over the verbs. From there, `_local` documents cannot be listed. */
  dump(options: DumpOptions = {}): ReadableStream<Uint8Array> {
    return lazyDump(this, undefined, options, this.#here.signal);
  }

  /** Runs in the page, over the verbs. */
  async load(input: Input, options: LoadOptions = {}): Promise<LoadResult> {
    const { load } = await dumpCode.load();
    return this.#lifelong(options, (more) => load(this as unknown as Database, input, more));
  }

  /** Writes the database as static files, for {@link loadSnapshot}: `sink(name, bytes)` is called with each, `manifest.json` last. */
  async writeSnapshot(sink: Sink, options: SnapshotOptions = {}): Promise<Manifest> {
    const { writeSnapshot } = await dumpCode.load();
    return this.#lifelong(options, (more) => writeSnapshot(this as unknown as Database, sink, more));
  }

  /**
   * Fills the database from a snapshot, given the URL of its manifest. The first replication with the database that it was made of
   * goes on from there, by itself.
   */
  async loadSnapshot(url: string | URL, options: LoadSnapshotOptions = {}): Promise<SnapshotResult> {
    const { loadSnapshot } = await dumpCode.load();
    return this.#lifelong(options, (more) => loadSnapshot(this as unknown as Database, url, more));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Results that stay current: asked anew of the worker when something changed; what did not keeps its identity. */
  get live(): LazyLive<AnyContent> {
    this.#live ??= lazyLive<AnyContent>(async () => {
      // A late caller gets an error; live results that exist already complete.
      if (this.#over) throw closed();
      const { LiveQueries } = await queryCode.load();
      const life = this.#here.signal;
      if (this.#results?.life === life) return this.#results.live;
      // A remote database reports no purges in a worker either.
      const watch = (look: () => void): (() => void) => this.#watchPurges(look);
      // Workers come and go, for hours if a device sleeps: like feeds, existing results go on with the next worker.
      const live = new LiveQueries(
        this as never,
        life,
        undefined,
        this.adapter === 'http' ? undefined : watch,
        (error) => this.#link.isPassing(error),
      );
      this.#results = { life, live };
      return live;
    });
    return this.#live;
  }
  #live: LazyLive<AnyContent> | undefined;
  /** All live results share one changes feed, as long as they are of one database. */
  #results: { readonly life: AbortSignal; readonly live: LiveQueries } | undefined;

  async destroy(options: CallOptions = {}): Promise<unknown> {
    const answered = this.#call('destroy', [options]);
    if (!options?.signal?.aborted) this.#here.end();
    const answer = await answered;
    this.#end();
    return answer;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    // A worker may never come: a page waits for a service worker that a policy forbids.
    const isUnheard = this.#link.isUnheard(this.#number);
    if (this.#over || isUnheard) {
      if (isUnheard) {
        this.#here.end();
        this.#end();
      }
      // It was destroyed, and the host no longer has it. In a microtask, so that a listener added right after the call hears it too.
      await undefined;
      this.fire('closed');
      return;
    }
    const answered = this.#link.call(this.#number, 'close', []);
    this.#over = true;
    this.#here.end();
    try {
      await answered;
    } catch (error) {
      // When the worker ends, its handles are closed too, and where none can be had there are none.
      if (!isTerminated(error) && this.#link.isServed) throw error;
    } finally {
      this.#end();
    }
    // By a handle that it had destroyed, whose host tells it nothing more; or where no host was left to tell it.
    this.#told('closed', undefined);
  }

  /** For feeds: refused from the call of `close` on, as calls are. */
  get #following(): number {
    return this.#over ? NO_HANDLE : this.#number;
  }

  #call(verb: string, args: unknown[]): Promise<unknown> {
    if (this.#over) return Promise.reject(closed());
    return this.#link.call(this.#number, verb, args);
  }

  /** @param until likewise end it: for one that belongs to an earlier one, what ends that */
  #replicate(
    verb: string,
    peer: Peer,
    options: ReplicateOptions,
    until: readonly (AbortSignal | undefined)[] = [],
  ): WatchedReplication {
    // At once, as where the database is of the page.
    if (typeof peer === 'string') addressOf(peer, this.#options);
    // At the host this replication may be shared with other pages, and then does not end with this handle by itself.
    const signals = [this.#life.signal, ...until, options.signal];
    const lives = [this.#here.signal, lifeOf(peer)];
    // An object of the page cannot cross: so it runs here, over the same verbs.
    if (typeof peer !== 'string' && !this.#link.knows(peer)) {
      const [source, target] = verb === 'replicate.to' ? [this, peer] : [peer, this];
      return feedUntil([...lives, ...signals], (signal) => {
        const feed = new ReplicationFeed(source as never, target as never, { ...askedNow(options), signal });
        feed.again = (more, own = options.signal) =>
          this.#replicate(verb, peer, { ...more, signal: own }, lives);
        return feed;
      });
    }
    const progress = new StatusBoard();
    return feedUntil(signals, (signal) => {
      const args = [peer, { ...options, signal }];
      const followed = followLive(this.#link, this.#following, verb, args, replicationThere(progress));
      return withStatus(followed, progress, (denied, own = options.signal) =>
        this.#replicate(verb, peer, { ...againOptions(options, denied), signal: own }, lives),
      );
    });
  }

  #lifelong<O extends CallOptions, T>(options: O, work: (options: O) => Promise<T>): Promise<T> {
    return withEither(this.#here.signal, options.signal, (signal) => work({ ...options, signal }));
  }

  /** @param look called when something may have been purged. @returns a function that stops this */
  #watchPurges(look: () => void): () => void {
    const { feed } = followLive(this.#link, this.#number, 'live.purges', [{ live: true }]);
    feed.on('change', look);
    return () => feed.cancel();
  }

  #told(event: string, value: unknown): void {
    // By another handle: what is answered from here on is of the next database, and must not be taken for the rest of this one.
    if (event === 'destroyed') this.#here.end();
    if (event === 'created' || event === 'closed') {
      if (this.#once.has(event)) return;
      this.#once.add(event);
    }
    this.fire(event, event === 'created' ? this : value);
  }

  #end(): void {
    this.#over = true;
    this.#life.end();
    this.#link.drop(this.#number);
  }
}

type MethodOf<T> = { [K in keyof T]: T[K] extends (...args: never[]) => unknown ? K : never }[keyof T];
/** The compiler names here a verb that was added to SettleDB and not to {@link BOUND}. */
type Forgotten = Exclude<
  MethodOf<SettleDB<AnyContent>>,
  (typeof BOUND)[number] | keyof HostedHandle | keyof Emitter
>;
const nothingForgotten: [Forgotten] extends [never] ? true : Forgotten = true;
void nothingForgotten;
