/** The documents of a view's rows: their own, or those that their values name. */
import { isDatabaseError } from '../model';
import type { ExistingDoc, Json } from '../model/types';
import type { Database, GetOptions } from './database';
import type { Loose, ViewOptions, ViewRow } from './queries';
import { SMALL_DATA, type SmallData } from './small-data';

/** A row without its document. */
export interface BareRow {
  readonly id: string;
  readonly key: Json;
  readonly value: Loose;
}

/**
 * Rows with their documents. A value `{ _id, _rev }` names another document, or a revision, as far as it has these fields. `null`: the
 * document is deleted, or never existed.
 */
export async function withDocs(
  database: Pick<Database, 'allDocs' | 'get'>,
  rows: readonly BareRow[],
  options: ViewOptions & SmallData,
): Promise<ViewRow[]> {
  const { conflicts, attachments, binary, signal, [SMALL_DATA]: small } = options;
  const keys = rows.map(linkedId);
  const named = { keys: keys as readonly string[], include_docs: true };
  const how = { attachments, binary, signal, [SMALL_DATA]: small };
  const found = await database.allDocs({ ...named, conflicts, ...how });
  return Promise.all(
    rows.map(async (row, i): Promise<ViewRow> => {
      const { doc = null } = (found.rows[i] ?? {}) as { doc?: ExistingDoc | null };
      const rev = isLink(row.value) && typeof row.value._rev === 'string' ? row.value._rev : undefined;
      if (rev === undefined || rev === doc?._rev) return { ...row, doc };
      return { ...row, doc: await revision(database, keys[i], { ...how, rev }) };
    }),
  );
}

export const isLink = (value: Loose): boolean => typeof value === 'object' && value !== null;

/** A value that is not an id finds nothing. */
export function linkedId({ id, value }: BareRow): unknown {
  return isLink(value) && '_id' in value && value._id !== undefined ? value._id : id;
}

async function revision(
  database: Pick<Database, 'get'>,
  id: unknown,
  options: GetOptions & { readonly open_revs?: undefined },
): Promise<ExistingDoc | null> {
  try {
    return await database.get(id as string, options);
  } catch (error) {
    if (isDatabaseError(error) && (error.status === 404 || error.status === 400)) return null;
    throw error;
  }
}
