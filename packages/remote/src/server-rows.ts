/**
 * The rows of `_all_docs` as text, read a portion at a time: an answer may be larger than memory, and a key may be repeated as often as a
 * request has room for. Documents come as they are stored: none is parsed just to be stringified again.
 *
 * The portions are reads of their own. What is written between two of them is seen or not, as in a cluster of CouchDB; `update_seq` is
 * that of the first, so changes after it miss nothing.
 */
import { type AllDocsOptions, type Database, DOCS_AS_TEXT } from '@settledb/core';
import type { DatabaseContext } from './server-context';
import { type DataOptions, rowsWithData, withoutLarge } from './server-row-data';
import { withSeqText } from './server-seq';
import { AFTER_ROWS, beforeRow, type Text } from './server-several';

/** Rows of the first portion: with documents of 8 MB, this many are 256 MB at the very most. */
export const FIRST = 32;
/** Most rows of a portion: a range that has fewer is one read. */
const MOST = 1_000;
/** The same without documents: rows are some 100 bytes. */
const MOST_BARE = 10_000;
/** Characters that a portion should have: one is held for each list whose client does not read. Larger ones take no less CPU. */
const PORTION_LENGTH = 1024 * 1024;

/** Characters of rows that are passed on together: each by itself would cost more than it takes to make. */
const PIECE_LENGTH = 64 * 1024;

/** Those of `keys` whose rows are asked for, in their order. */
export function pickedKeys(
  keys: readonly unknown[],
  { skip = 0, limit = keys.length, descending }: Pick<AllDocsOptions, 'skip' | 'limit' | 'descending'>,
): readonly unknown[] {
  return (descending === true ? [...keys].reverse() : keys).slice(skip, skip + limit);
}

/** The rows of these keys. @param about replaces what the database says of itself */
export async function* keyedText(
  { database, request }: DatabaseContext,
  keys: readonly unknown[],
  { skip, limit, descending, ...rest }: AllDocsOptions,
  about: { total_rows?: number } = {},
): Text {
  const { signal } = request;
  const wanted = pickedKeys(keys, { skip, limit, descending });
  // A key may be repeated: here nothing is known about the rows to come.
  const atOnce = fixedPortion(rest) ?? FIRST;
  for (let at = 0; at === 0 || at < wanted.length; at += atOnce) {
    const some = wanted.slice(at, at + atOnce);
    // Keys that are not strings are no mistake: no document has them.
    const known = some.filter((key) => typeof key === 'string');
    const { rows, ...answer } = await database.allDocs(asText({ ...rest, keys: known, signal }));
    if (at === 0) yield beginning({ ...answer, ...about, offset: null });
    const found = rows.values();
    const all = some.map((key) =>
      typeof key === 'string' ? found.next().value! : { key, error: 'not_found' },
    );
    yield* rowsText(database, all, at === 0, { ...rest, signal });
  }
  yield AFTER_ROWS;
}

/** The rows of a range. @param about replaces what the database says of itself */
export async function* rangeText(
  { database, request }: DatabaseContext,
  { skip, limit, ...range }: AllDocsOptions,
  about: { total_rows?: number } = {},
): Text {
  const { signal } = request;
  // Nothing names the place before an id, so downwards the last row is read once more, if it is there still.
  const again = range.descending === true ? 1 : 0;
  const fixed = fixedPortion(range);
  let portion = fixed ?? FIRST;
  let left = Math.min(
    limit ?? Number.POSITIVE_INFINITY,
    range.key === undefined ? Number.POSITIVE_INFINITY : 1,
  );
  let last: string | undefined;
  for (let isSample = fixed === undefined; ; isSample = false) {
    const size = Math.min(portion, left);
    const from = last === undefined ? { skip } : { startkey: again === 0 ? `${last}\u0000` : last };
    const room = last === undefined ? size : size + again;
    const answer = await database.allDocs(asText({ ...range, ...from, limit: room, signal }));
    const { rows: found, ...rest } = answer;
    const rows = (found[0]?.key === last ? found.slice(1) : found).slice(0, size);
    const isEnd = found.length < room || size === left;
    if (!isEnd) portion = fixed ?? fitting(rows);
    // There is room for more: it is read at once, so that small lists are those of one moment.
    if (isSample && !isEnd && portion > size) continue;
    if (last === undefined) yield beginning({ ...rest, ...about });
    yield* rowsText(database, rows, last === undefined, { ...range, signal });
    if (isEnd) break;
    left -= rows.length;
    last = rows.at(-1)!.key; // As many as the limit: there is one.
  }
  yield AFTER_ROWS;
}

/** Rows of a portion, where that does not depend on the documents. */
const fixedPortion = ({ include_docs, attachments }: AllDocsOptions): number | undefined =>
  include_docs !== true ? MOST_BARE : attachments === true ? FIRST : undefined;

/** Rows of a portion, if those to come are like these. */
function fitting(rows: readonly object[]): number {
  const length = rows.reduce((sum, row) => sum + textOf(row).length, 0);
  return Math.max(FIRST, Math.min(Math.floor((PORTION_LENGTH * rows.length) / length), MOST));
}

/** The data of large attachments is read by {@link rowsText}. */
const asText = (options: AllDocsOptions): AllDocsOptions =>
  options.include_docs === true && options.attachments !== true
    ? ({ ...options, [DOCS_AS_TEXT]: true } as AllDocsOptions)
    : withoutLarge(options);

const rowsText = (
  database: Database,
  rows: Iterable<object>,
  areFirst: boolean,
  options: AllDocsOptions & DataOptions,
): Iterable<string> | AsyncIterable<string> =>
  options.include_docs === true && options.attachments === true
    ? rowsWithData(database, rows, areFirst, options)
    : written(rows, areFirst);

/** An answer up to its rows. {@link AFTER_ROWS} ends it. */
export const beginning = (answer: object): string =>
  JSON.stringify({ ...withSeqText(answer), rows: [] }).slice(0, -2);

export function* written(rows: Iterable<object>, areFirst: boolean): Generator<string, void, void> {
  let piece = '';
  let separator = beforeRow(areFirst);
  for (const row of rows) {
    piece += separator + textOf(row);
    separator = beforeRow(false);
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

/** A document that is text already is put in as it is. */
function textOf(row: object): string {
  const { doc, ...bare } = row as { readonly doc?: unknown };
  return typeof doc === 'string' ? `${JSON.stringify(bare).slice(0, -1)},"doc":${doc}}` : JSON.stringify(row);
}

/** A list by itself. */
export async function* lineOf(text: Text): Text {
  yield* text;
  yield '\n';
}
