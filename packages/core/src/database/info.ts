/** The counters of a database. */
import { corrupt } from '../model/errors';
import type { InfoRow } from '../store/schema';

/** The one row of `info`, which opening wrote. */
export function infoOf(rows: readonly (InfoRow | undefined)[]): InfoRow {
  const info = rows[0];
  if (info === undefined) throw corrupt('The row of the database counters is missing');
  return info;
}
