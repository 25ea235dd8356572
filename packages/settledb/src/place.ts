/** Where the database of a handle is: interprets its name and options, and makes the connection. */
import type { Bytes } from '@settledb/core';
import { nameOf } from '@settledb/remote/name';
import { remoteCode } from './code';
import type { Connection, ConnectionEvents } from './connection';
import { LocalConnection } from './local-connection';
import { addressOf, type SettleOptions } from './options';
import { chooseAdapter, type Platform } from './platform';
import { locationOf, type SharedOptions } from './registry';
import { RemoteConnection } from './remote-connection';

interface Place {
  /** As the handle reports it; for a remote database the URL, without credentials. */
  readonly name: string;
  readonly adapter: string;
  readonly connection: Connection;
}

/**
 * Begins to open the database.
 *
 * @throws TypeError, DatabaseError 400 for errors that are known at once: see {@link addressOf} and {@link chooseAdapter}
 */
export function placeOf(
  platform: Platform,
  named: unknown,
  options: SettleOptions,
  events: ConnectionEvents,
): Place {
  const address = addressOf(named, options);
  if (address.kind === 'remote') {
    const { url } = address;
    const { bytes } = platform as { readonly bytes?: Bytes };
    const given = { bytes, ...withoutName(options) };
    const load = async () => (await remoteCode.load()).remote(url, given);
    return { name: nameOf(url), adapter: 'http', connection: new RemoteConnection(load, events) };
  }
  const { name, storedName } = address;
  const adapter = chooseAdapter(platform, options.adapter);
  const shared = { bytes: platform.bytes, ...sharedOptions(options) };
  const connection = new LocalConnection(locationOf(adapter, storedName), shared, events);
  return { name, adapter: adapter.name, connection };
}

/** In `new SettleDB({ name, … })`, `name` says which database, and is no option for what to call it. */
function withoutName(options: SettleOptions & { readonly name?: string }): SettleOptions {
  const { name: _, ...rest } = options;
  return rest;
}

function sharedOptions(options: SettleOptions): SharedOptions {
  const { auto_compaction, revs_limit, deterministic_revs, durability, evaluate } = options;
  return { auto_compaction, revs_limit, deterministic_revs, durability, evaluate };
}
