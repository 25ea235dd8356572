/** The counters of a database. */
import { corrupt } from '../model/errors';
import type { DatabaseTables, InfoRow } from '../store/schema';
import type { Store } from '../store/store';

const NO_TEXTS: readonly never[] = [];

/** As they are in memory; `undefined` where the storage must be asked. */
export const infoNow = (store: Store<DatabaseTables>): InfoRow | undefined =>
  store.rowNow('info', 'info', NO_TEXTS);

/** The one row of `info`, which opening wrote. */
export function infoOf(rows: readonly (InfoRow | undefined)[]): InfoRow {
  const info = rows[0];
  if (info === undefined) throw corrupt('The row of the database counters is missing');
  return info;
}
