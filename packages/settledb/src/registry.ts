/**
 * Which databases are open in this realm: handles on one location share one opened database, and the last one to leave closes it.
 *
 * A location is opened only after whatever ended it before (a close, a destruction) is over, so that a name can be opened
 * again at once. When a database is destroyed, its handles are told, and begin anew when they are next used.
 */
import {
  checkLocalOptions,
  type DatabaseTables,
  LocalDatabase,
  type LocalOptions,
  type Store,
  schema,
  Turns,
} from '@settledb/core';
import { type Adapter, type Blocked, type OpenOptions, openLogStore } from '@settledb/engine';

/** Where a database lies. Decided once for a handle, whatever becomes of links and the working directory: see {@link Adapter.resolve}. */
export interface Location {
  readonly adapter: Adapter;
  /** The stored name: prefix and all. */
  readonly name: string;
  /** The name that the adapter is given. */
  readonly path: string;
  /** Equal for two locations exactly when they are one. */
  readonly key: string;
}

export function locationOf(adapter: Adapter, name: string): Location {
  const path = adapter.resolve?.(name) ?? name;
  return { adapter, name, path, key: `${adapter.name}\n${adapter.location(path)}` };
}

/** The options to open a database with, besides its location. */
export type SharedOptions = Omit<LocalOptions, 'name' | 'adapter' | 'onDestroy'>;

/** Events of the registry for a handle. */
export interface Handle {
  /**
   * The database no longer exists (destroyed), or cannot be reached any more (lost): what was acquired is of no more use. If it is
   * `lost`, its feeds fail by themselves, and say why.
   */
  detached(lost: boolean): void;
  /** It was destroyed, here or in another context; `evicted`: by the browser. After {@link detached}, once nothing is left of it. */
  destroyed(evicted?: boolean): void;
  /** Opening or destroying it waits for another context. */
  blocked(waiting: Blocked): void;
  /** Opening is about to read: what was acknowledged before will be in it. */
  reading(): void;
}

/** One opened database and the handles on it. */
export interface Shared {
  /** Rejects when it cannot be opened; the location is then free again. */
  readonly opening: Promise<LocalDatabase>;
  readonly handles: Set<Handle>;
}

const open = new Map<string, Shared>();
/** By location: what must be over before it is opened again. */
const endings = new Turns();

/**
 * Joins the database at `location`, opening it if necessary. The options of the first handle count; later handles share the opened
 * database, except that it becomes `strict` as soon as one asks for that: no handle is promised less than it asked for. Invalid
 * options are refused for every handle.
 */
export function acquire(location: Location, handle: Handle, options: SharedOptions): Shared {
  try {
    checkLocalOptions(options);
  } catch (error) {
    return { opening: Promise.reject(error), handles: new Set([handle]) };
  }
  const present = open.get(location.key);
  if (present === undefined) return begin(location, handle, options);
  present.handles.add(handle);
  if (options.durability === 'strict')
    present.opening.then(
      (database) => database.beStrict(),
      () => {},
    );
  return present;
}

function begin(location: Location, handle: Handle, options: SharedOptions): Shared {
  const { key } = location;
  const before = endings.pending(key); // Not a later ending, which waits for this opening.
  const handles = new Set([handle]);
  const stored = openStore(location, before, tellingAll(handles));
  const named = { name: location.name, adapter: location.adapter.name, ...options };
  const shared: Shared = {
    opening: stored.then((store) => openDatabase(key, shared, store, named)),
    handles,
  };
  open.set(key, shared);
  shared.opening.catch(() => forget(key, shared));
  return shared;
}

/** Passes on what an adapter tells. */
function tellingAll(handles: Iterable<Handle>) {
  return {
    blocked(waiting: Blocked): void {
      for (const each of handles) each.blocked(waiting);
    },
    reading(): void {
      for (const each of handles) each.reading();
    },
    destroyed(): void {
      for (const each of handles) each.destroyed();
    },
  };
}

/** If nothing has to be awaited, the storage is asked at once, while the new handle does the rest of its work. */
async function openStore(
  { adapter, path }: Location,
  before: Promise<unknown> | undefined,
  told: OpenOptions,
): Promise<Store<DatabaseTables>> {
  if (before !== undefined) await before;
  return openLogStore<DatabaseTables>(adapter.open(path, told), schema);
}

async function openDatabase(
  key: string,
  shared: Shared,
  store: Store<DatabaseTables>,
  options: LocalOptions,
): Promise<LocalDatabase> {
  store.watch((event) => {
    if (event.type === 'commit' || open.get(key) !== shared) return;
    // Another context destroyed it, or newer code changed its layout.
    const handles = [...shared.handles];
    detach(key, shared, () => closeOpened(shared), event.type === 'lost').catch(() => {});
    if (event.type === 'destroyed') for (const handle of handles) handle.destroyed(event.evicted);
  });
  return LocalDatabase.open(store, options);
}

/** A handle leaves; resolves when the database is closed, if it was the last one. */
export async function release(location: Location, shared: Shared, handle: Handle): Promise<void> {
  shared.handles.delete(handle);
  const { key } = location;
  if (shared.handles.size > 0 || open.get(key) !== shared) return;
  forget(key, shared);
  await endings.take(key, () => closeOpened(shared));
}

/**
 * Closes the database for all its handles, removes it, and tells them. Requests of other handles that come from now on, or wait, go
 * to the next database. `handle` keeps this one until it is open, so that its calls are served: it makes no new ones.
 * @throws what the adapter's `destroy` throws; the handles then find the database as it is when they are next used, and are told if it
 *   is removed later
 */
export async function destroy({ adapter, path, key }: Location, handle: Handle): Promise<void> {
  const shared = open.get(key);
  const isShared = shared?.handles.delete(handle);
  const told = tellingAll([...(shared?.handles ?? []), handle]);
  await detach(key, shared, async () => {
    await shared?.opening.catch(() => {});
    if (isShared) handle.detached(false);
    if (shared !== undefined) await closeOpened(shared, true).catch(() => {});
    await adapter.destroy(path, { blocked: told.blocked, late: told.destroyed });
  });
  told.destroyed();
}

/**
 * Nobody finds it here any more. The ending is registered before the handles are told of it: those with calls that wait begin anew at
 * once, and must wait for it.
 */
function detach(
  key: string,
  shared: Shared | undefined,
  ending: () => Promise<void>,
  lost = false,
): Promise<void> {
  if (shared !== undefined) forget(key, shared);
  const ended = endings.take(key, ending);
  for (const handle of [...(shared?.handles ?? [])]) handle.detached(lost);
  return ended;
}

function forget(key: string, shared: Shared): void {
  if (open.get(key) === shared) open.delete(key);
}

/**
 * @param discard the database is removed next
 * @throws if closing fails: something acknowledged may not be safe
 */
async function closeOpened({ opening }: Shared, discard = false): Promise<void> {
  const database = await opening.catch(() => undefined);
  await database?.close(discard);
}
