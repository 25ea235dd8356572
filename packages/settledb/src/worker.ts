/**
 * `settledb/worker`: databases in a worker. `host()` in the worker, `connect(worker)` in the page; each is dropped from the bundle
 * that does not use it.
 */
import { type Host, listen, type HostOptions as Options } from '@settledb/worker';
import { SettleDB } from './entry.browser';
import { contextOf } from './hosting';
import type { SettleDB as Base } from './settledb';

export type { Host, Target, Targets } from '@settledb/worker';
export { named } from '@settledb/worker';
export { type ConnectOptions, connect, type HostedSettleDB } from './connect';
/** The type of a hosted handle: the declarations of a program that exports one have no other name for it. */
export type { SettleDB } from './settledb';

export interface HostOptions extends Options {
  /** The class whose databases are served, for adapters and options of your own. Default: the package's, with IndexedDB. */
  readonly SettleDB?: typeof Base | undefined;
}

/**
 * Serves databases to the pages that `connect` to this worker: a dedicated worker, a SharedWorker or a service worker. Call it when
 * the script first runs.
 */
export function host({ SettleDB: Class = SettleDB, ...options }: HostOptions = {}): Host {
  return listen(contextOf(Class), options);
}
