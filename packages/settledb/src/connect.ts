/** `connect`: the class whose databases are in a worker. */
import { begun } from '@settledb/core';
import type { ReplicateOptions, Replication, Sync, SyncOptions } from '@settledb/replication';
import { Link, type LinkOptions, type Targets } from '@settledb/worker';
import { nameDispose } from './dispose';
import { HostedHandle } from './hosted';
import type { SettleOptions } from './options';
import type { Peer } from './peers';
import type { SettleDB } from './settledb';
import { VERSION, withDefaults } from './statics';
import { asVerb, refuseCallback, refuseOther } from './verbs';

/** What `connect` gives: SettleDB, with its databases in the worker. */
export type HostedSettleDB = typeof SettleDB & {
  /** Lets the worker go: handles of this class cannot be used any more. The worker goes on running, and may serve other tabs. */
  disconnect(): void;
};

export interface ConnectOptions extends LinkOptions {
  /**
   * Names of the adapters that the worker's class knows, first the one used when none is named. Default: `indexeddb` and `memory`. A handle
   * whose database the worker would keep with another adapter is refused (`bad_request`, 400).
   */
  readonly adapters?: readonly string[] | undefined;
}

/**
 * The class SettleDB with its databases in `worker`, where {@link host} was called.
 *
 * @param worker a `Worker`, a `SharedWorker`, `navigator.serviceWorker`, or a function that makes one: it is called again when
 *   the worker has died
 * @example
 * const SettleDB = connect(() => new Worker(new URL('./db-worker.js', import.meta.url), { type: 'module' }));
 * const db = new SettleDB('notes');
 */
export function connect(worker: Targets, options: ConnectOptions = {}): HostedSettleDB {
  HostedHandle.complete();
  nameDispose(HostedHandle.prototype);
  const link = new Link(worker, options);
  class Connected extends HostedHandle {
    constructor(first: unknown, second?: SettleOptions, third?: unknown) {
      refuseCallback('SettleDB', third ?? second);
      refuseOther('SettleDB', second);
      super(link, options.adapters, first, second);
    }
    static readonly version = VERSION;
    static defaults(given: SettleOptions): typeof Connected {
      // biome-ignore lint/complexity/noThisInStatic: of the class it is asked of, which may be derived
      return withDefaults(this, given);
    }
    static disconnect(): void {
      link.close();
    }
    static replicate(...given: [source: Peer, target: Peer, options?: ReplicateOptions]): Replication {
      return asVerb('SettleDB.replicate', (source: Peer, target: Peer, more: ReplicateOptions = {}) =>
        between(
          Connected,
          (name) => new this(name),
          source,
          target,
          (db, peer, to) => (to ? db.replicate.to(peer, more) : db.replicate.from(peer, more)),
        ),
      )(...given);
    }
    static sync(...given: [one: Peer, other: Peer, options?: SyncOptions]): Sync {
      return asVerb('SettleDB.sync', (one: Peer, other: Peer, { push, pull, ...more }: SyncOptions = {}) =>
        between(
          Connected,
          (name) => new this(name),
          one,
          other,
          (db, peer, to) => db.sync(peer, to ? { ...more, push, pull } : { ...more, push: pull, pull: push }),
        ),
      )(...given);
    }
  }
  return Connected as unknown as HostedSettleDB;
}

/** One of two peers is, or becomes, a handle of this class, by `make` (of a class derived from it); the other is its peer. */
function between<F extends object>(
  Handle: new (name: string) => HostedHandle,
  make: (name: string) => HostedHandle,
  one: Peer,
  other: Peer,
  begin: (db: HostedHandle, peer: Peer, to: boolean) => F,
): F {
  if (one instanceof Handle) return begin(one, other, true);
  if (other instanceof Handle) return begin(other, one, false);
  const named = typeof one === 'string';
  if (!named && typeof other !== 'string')
    throw new TypeError('One of the two must be a database of the worker, or a name');
  const own = make((named ? one : other) as string);
  return begun(
    () => void own.close().catch(() => {}),
    () => begin(own, named ? other : one, named),
  );
}
