/** The counters of a database, and its identity. */
import { datedUuid } from '../model';
import { corrupt } from '../model/errors';
import type { DatabaseTables, InfoRow } from '../store/schema';
import type { Store } from '../store/store';

/** The query for them. */
export const INFO_QUERY = { from: 'info', keys: ['info'] } as const;
/** … alone. */
export const INFO = [INFO_QUERY] as const;

const NO_TEXTS: readonly never[] = [];

/** The counters as they are in memory; `undefined` where the storage must be asked. */
export const infoNow = (store: Store<DatabaseTables>): InfoRow | undefined =>
  store.rowNow('info', 'info', NO_TEXTS);

/** The counters in memory, looked up once for each state of the store. */
export class Counters {
  readonly #store: Store<DatabaseTables>;
  #row: InfoRow | undefined;
  #state: number | undefined;

  constructor(store: Store<DatabaseTables>) {
    this.#store = store;
  }

  now(): InfoRow | undefined {
    const state = this.#store.stateNow();
    if (state === undefined) return undefined;
    if (state !== this.#state) {
      this.#row = infoNow(this.#store);
      this.#state = this.#row && state;
    }
    return this.#row;
  }
}

/** The one row of `info`, which opening wrote. */
export function infoOf(rows: readonly (InfoRow | undefined)[]): InfoRow {
  const info = rows[0];
  if (info === undefined) throw corrupt('The row of the database counters is missing');
  return info;
}

/** The uuid of the database in `store`. The first to open it writes the uuid, which contains the time, and counters at zero. */
export async function identify(store: Store<DatabaseTables>): Promise<string> {
  const look = (): InfoRow | Promise<InfoRow | undefined> =>
    infoNow(store) ?? store.read(INFO).then(([[row]]) => row);
  const found = await (store.asOpened?.(look) ?? look());
  if (found !== undefined) return found.uuid;
  const fresh = {
    name: 'info',
    uuid: datedUuid(Date.now()),
    update_seq: 0,
    doc_count: 0,
    doc_del_count: 0,
    purge_seq: 0,
  } as const;
  return store.write(INFO, ([[info]]) =>
    info === undefined
      ? { writes: [{ into: 'info', put: [fresh] }], value: fresh.uuid }
      : { writes: [], value: info.uuid },
  );
}
