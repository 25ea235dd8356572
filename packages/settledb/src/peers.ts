/**
 * Replication between databases in whatever form they are given: a name, a URL, or an object with the verbs of a database.
 * A handle made here for a name is closed when the replication is over.
 */
import { askedNow, badRequest, begun, type Database, feedUntil } from '@settledb/core';
import {
  type Peer as Replicable,
  type ReplicateOptions,
  type Replication,
  ReplicationFeed,
  replicate,
  type Sync,
  type SyncOptions,
  sync,
} from '@settledb/replication';
import { lifeOf } from './life';
import { isUrl } from './options';

/** A name or URL, or a database: any object with a database's methods, also a wrapped one, or a PouchDB. */
export type Peer = string | Replicable | PouchLike;

/** A PouchDB as its types describe it: they do not know its `id`, and write the methods' options differently. */
type PouchLike = {
  readonly [Verb in 'info' | 'get' | 'put' | 'changes' | 'revsDiff' | 'bulkGet' | 'bulkDocs']: (
    ...args: never[]
  ) => unknown;
};

/** Makes a handle for a name or URL. */
export type MakeHandle = (name: string, options?: { readonly skip_setup: boolean }) => Database;

type Signals = readonly (AbortSignal | null | undefined)[];

/**
 * Copies to `target` what it lacks of `source`. It ends when either of them is closed or destroyed: a pull waits for its source, and
 * would otherwise learn only with the next change that its target is gone.
 *
 * @param until likewise end it, and what `retryDenied` transfers
 * @throws TypeError, bad_request: at once, for what cannot be a database
 */
export function replicateBetween(
  make: MakeHandle,
  source: Peer,
  target: Peer,
  options: ReplicateOptions,
  until: Signals = [source, target].map(lifeOf),
): Replication {
  checkNamed([source, target], options);
  const peers = [{ peer: source }, { peer: target, create: options.create_target }];
  const feed = between(make, peers, [...until, options.signal], (from, to, signal) =>
    replicate(from, to, { ...askedNow(options), signal }),
  );
  again(feed, make, [source, target], options, until);
  return feed;
}

/** Denied documents are transferred once more by handles of its own: those of the replication are closed when that is over. */
function again(
  feed: Replication,
  make: MakeHandle,
  [source, target]: readonly [Peer, Peer],
  { create_target, signal }: ReplicateOptions,
  until: Signals,
): void {
  if (!(feed instanceof ReplicationFeed)) return;
  feed.again = (more, own = signal) =>
    replicateBetween(make, source, target, { ...more, create_target, signal: own }, until);
}

/** Copies both ways; `push` is from `one` to `other`. It ends, and throws, as {@link replicateBetween} does. */
export function syncBetween(make: MakeHandle, one: Peer, other: Peer, options: SyncOptions): Sync {
  const until = [one, other].map(lifeOf);
  for (const given of [options, options.push, options.pull]) checkNamed([one, other], given);
  const [push, pull] = [options.push?.create_target, options.pull?.create_target];
  const peers = [
    { peer: one, create: pull ?? options.create_target },
    { peer: other, create: push ?? options.create_target },
  ];
  const feed = between(make, peers, [...until, options.signal], (left, right, signal) =>
    sync(left, right, { ...askedNow(options), signal }),
  );
  // Each half may have a signal of its own; that of the sync is let go of when the sync has ended.
  again(feed.push, make, [one, other], { ...options, signal: undefined, ...options.push }, until);
  again(feed.pull, make, [other, one], { ...options, signal: undefined, ...options.pull }, until);
  return feed;
}

/** Options of a remote database, which PouchDB takes here too. */
const OF_DATABASES = ['auth', 'headers', 'fetch', 'credentials'] as const;

/** @throws TypeError for options that would have no effect; bad_request for the path of a URL */
function checkNamed(peers: readonly unknown[], options: object | null | undefined): void {
  const names = peers.filter((peer) => typeof peer === 'string');
  if (names.length === 0) return;
  // In a page that is a path of its server, and not, as in Node, of a folder: a new local database would be "synced" with. Deno has a
  // `location` too: it is undefined, and in workers the URL of a file.
  const isInPage = /^https?:/.test(globalThis.location?.origin);
  const path = isInPage ? names.find((name) => name.startsWith('/')) : undefined;
  if (path !== undefined) throw badRequest(`'${path}' is no URL: give \`\${location.origin}${path}\``);
  for (const name of OF_DATABASES)
    if ((options as Record<string, unknown> | null | undefined)?.[name] != null)
      throw new TypeError(
        `'${name}' is no option of a replication: give it a database, new SettleDB(url, { ${name} })`,
      );
}

interface Given {
  readonly peer: Peer;
  /** Whether a database that is not there is to be made; undefined: as a handle does by itself. */
  readonly create?: boolean | undefined;
}

/**
 * The constructor of a derived class may take no name, and make the one database of a program: that would be replicated with itself,
 * and nothing would arrive where it was said to.
 *
 * @throws TypeError
 */
function checkIsNamed(handle: Database, name: string, peers: readonly Given[]): void {
  const { name: made, adapter } = handle;
  const isMade = ({ peer }: Given): boolean =>
    (peer as Named).name === made && (peer as Named).adapter === adapter;
  const isOther = isUrl(name) ? adapter !== 'http' : made !== name && peers.some(isMade);
  if (isOther) throw new TypeError(`The class makes '${made}' of another name: give it a database`);
}
interface Named {
  readonly name?: unknown;
  readonly adapter?: unknown;
}

/** Opens what is named, for as long as the feed goes on; nothing stays open where it does not begin. */
function between<F extends object>(
  make: MakeHandle,
  peers: readonly Given[],
  until: Signals,
  begin: (one: Replicable, other: Replicable, signal: AbortSignal) => F,
): F {
  const own: Database[] = [];
  const close = (): void => {
    // Whatever closing could not do is left to the next one that opens the database.
    for (const each of own) each.close().catch(() => {});
  };
  return begun(close, () => {
    const [one, other] = peers.map(({ peer, create }) => {
      if (typeof peer !== 'string') return peer as Replicable;
      const handle = make(peer, create === undefined ? undefined : { skip_setup: !create });
      own.push(handle);
      checkIsNamed(handle, peer, peers);
      return handle;
    });
    // Others may destroy what was opened here.
    return feedUntil([...until, ...own.map(lifeOf)], (signal) => begin(one!, other!, signal));
  });
}
