/**
 * The differences between the entries: which adapters have names, and which one is the default.
 */
import { type Bytes, DatabaseError } from '@settledb/core';
import type { Adapter } from '@settledb/engine';

export interface Platform {
  /** By name. Made on first use, so that importing an entry touches no storage; only one of each, so that handles share it. */
  readonly adapters: ReadonlyMap<string, () => Adapter>;
  readonly defaultAdapter: string | undefined;
  /** Attachments' bytes in the platform's forms. */
  readonly bytes?: Bytes | undefined;
}

/** No adapter has a name: they can only be given as objects. */
export const NO_ADAPTERS: Platform = { adapters: new Map(), defaultAdapter: undefined };

/** @param make by name; each is called at most once */
export function platform(
  make: Readonly<Record<string, () => Adapter>>,
  defaultAdapter: string,
  bytes?: Bytes,
): Platform {
  const adapters = new Map(Object.entries(make).map(([name, build]) => [name, once(build)]));
  return { adapters, defaultAdapter, bytes };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** PouchDB's names of several adapters whose work the default one does here. */
const POUCHDB = /^(idb|websql|indexeddb|leveldb|localstorage|node-websql)$/;

/** @throws bad_request `Invalid Adapter: <name>`, and what may have been meant; else its reason lists the known ones */
export function chooseAdapter(platform: Platform, adapter: unknown): Adapter {
  if (typeof (adapter as Adapter | null)?.open === 'function') return adapter as Adapter;
  const name = adapter ?? platform.defaultAdapter;
  const make = platform.adapters.get(name as string);
  if (make !== undefined) return make();
  const invalid = `Invalid Adapter: ${typeof name === 'function' ? name.name : String(name)}`;
  const names = [...platform.adapters.keys()].map((each) => `'${each}'`).join(', ');
  const meant = meantBy(adapter, platform.defaultAdapter, names);
  const message = meant === undefined ? invalid : `${invalid}. ${meant}`;
  const reason = meant ?? `There are ${names || 'none by name'}, or an adapter's own object`;
  throw new DatabaseError({ status: 400, name: 'bad_request', message, reason });
}

function meantBy(adapter: unknown, defaultAdapter: string | undefined, names: string): string | undefined {
  if (typeof adapter === 'function') return 'It must be called: adapter: memory()';
  if (defaultAdapter === undefined || !POUCHDB.test(String(adapter))) return undefined;
  return `Use '${defaultAdapter}', the default here, in its place (there are ${names})`;
}
