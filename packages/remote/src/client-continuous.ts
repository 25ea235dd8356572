/** A continuous feed: one request, a line for each change as it comes. */
import { type Change, type ChangesResult, isObject } from '@settledb/core';
import { decode, parseJson } from './client-answer';
import type { Call } from './client-call';
import { checkChanges } from './client-check';
import { badResponse } from './client-error';
import type { Http } from './client-http';

/** Characters of one line: a change with its document. */
const MAX_LINE_LENGTH = 2 ** 27;

/**
 * The changes that arrived together, like pages of a normal feed. Ends when the server ends the feed. Rows may be without a position
 * (`seq_interval`): then a page ends where the last row with one does, or where the page before ended.
 */
export async function* continuousPages(http: Http, call: Call): AsyncGenerator<ChangesResult, void, void> {
  const { pieces } = await http.open(call);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  let position: unknown = call.query?.since;
  for await (const piece of pieces) {
    const text = decode(decoder, piece);
    const end = text.lastIndexOf('\n');
    if (end < 0) {
      // Not searched again with each piece: a long line has thousands.
      rest += text;
      if (rest.length > MAX_LINE_LENGTH) throw badResponse('a line of _changes is too long');
      continue;
    }
    const lines = (rest + text.slice(0, end)).split('\n');
    rest = text.slice(end + 1);
    const rows = lines.filter((line) => line.trim() !== '').map((line) => parseJson(line));
    // The last line of a feed that ends in good order gives its position.
    const last = rows.find((row) => isObject(row) && 'last_seq' in row);
    const results = rows.filter((row) => row !== last);
    const seqs = (results as (Partial<Change> | null)[]).map((row) => row?.seq ?? undefined);
    position =
      (last as object & { last_seq: unknown })?.last_seq ??
      seqs.filter((seq) => seq !== undefined).at(-1) ??
      position;
    if (rows.length > 0) yield checkChanges({ results, last_seq: position });
    if (last !== undefined) return;
  }
  // A line that is cut off is requested again: the position is that of the last whole line.
}
