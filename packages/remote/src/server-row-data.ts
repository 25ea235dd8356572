/**
 * Rows of lists and feeds whose documents come with the data of their attachments. Where attachments are large, documents are read with
 * stubs, and the data is written as it is read: an attachment may be larger than memory, and longer than a text can be.
 */
import { type Database, type ExistingDoc, SMALL_DATA, type SmallData, unlessMissing } from '@settledb/core';
import { docJson } from './server-multipart';
import { type OpenDoc, openDoc, whileThere } from './server-opened';
import { beforeRow } from './server-several';

/** What is said of a row's document when it was read, and must be said of it when it is read again. */
export interface DataOptions {
  readonly conflicts?: boolean | undefined;
  readonly att_encoding_info?: boolean | undefined;
  readonly signal: AbortSignal;
}

/** What documents are to be read with. */
export const withoutLarge = <Options extends { readonly attachments?: boolean | undefined }>({
  attachments,
  ...options
}: Options): Omit<Options, 'attachments'> & SmallData =>
  attachments === true ? { ...options, [SMALL_DATA]: true } : options;

/** A row as JSON, in pieces. */
export async function* rowWithData(
  database: Database,
  row: { readonly doc?: ExistingDoc | null | undefined },
  options: DataOptions,
): AsyncGenerator<string, void, void> {
  const { doc, ...rest } = row;
  const { _attachments = {} } = doc ?? {};
  if (!Object.values(_attachments).some((each) => 'stub' in each)) return yield JSON.stringify(row);
  yield `${JSON.stringify(rest).slice(0, -1)},"doc":`;
  const opened = await openNow(database, doc!, options);
  if (opened === undefined) yield 'null';
  else yield* docJson(opened);
  yield '}';
}

/** Rows as a part of a list. @param areFirst no rows precede them */
export async function* rowsWithData(
  database: Database,
  rows: Iterable<object>,
  areFirst: boolean,
  options: DataOptions,
): AsyncGenerator<string, void, void> {
  let isFirst = areFirst;
  for (const row of rows) {
    yield beforeRow(isFirst);
    isFirst = false;
    yield* rowWithData(database, row, options);
  }
}

/** If the revision was replaced and compacted away since the row was read: its best descendant. `undefined`: the document was purged. */
async function openNow(
  database: Database,
  doc: ExistingDoc,
  { conflicts, att_encoding_info, signal }: DataOptions,
): Promise<OpenDoc | undefined> {
  const again = { conflicts, att_encoding_info, rev: doc._rev, latest: true };
  const open = (found: ExistingDoc): Promise<OpenDoc> => openDoc({ database, doc: found, signal }, false);
  return whileThere(() => database.get(doc._id, again), open, doc).catch(unlessMissing);
}
