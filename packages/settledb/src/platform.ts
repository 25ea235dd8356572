/**
 * What differs between the entries: the adapters that go by name, and which of them is meant when none is named.
 */
import type { Adapter } from '@settledb/engine';

export interface Platform {
  /** By name. Made on first use, so that importing an entry touches no storage; one of each, so that handles share it. */
  readonly adapters: ReadonlyMap<string, () => Adapter>;
  readonly defaultAdapter: string | undefined;
}

/** Adapters only as objects. */
export const NO_ADAPTERS: Platform = { adapters: new Map(), defaultAdapter: undefined };

/** @param make by name; each is called at most once */
export function platform(make: Readonly<Record<string, () => Adapter>>, defaultAdapter: string): Platform {
  const adapters = new Map(Object.entries(make).map(([name, build]) => [name, once(build)]));
  return { adapters, defaultAdapter };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** @throws Error `Invalid Adapter: <name>` */
export function chooseAdapter(platform: Platform, adapter: Adapter | string | undefined): Adapter {
  if (typeof adapter === 'object' && adapter !== null) return adapter;
  const name = adapter ?? platform.defaultAdapter;
  const make = name === undefined ? undefined : platform.adapters.get(name);
  if (make === undefined) throw new Error(`Invalid Adapter: ${name}`);
  return make();
}
