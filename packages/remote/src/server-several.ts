/**
 * Answers made piece by piece, each when the client has taken those before it; several lists in one answer among them:
 * `{ "results": [list, list, …] }`.
 */
import { badRequest, isObject } from '@settledb/core';
import { type Answer, jsonTextResponse } from './server-answer';
import { respondWith, textStream } from './server-streams';
import { CACHING, JSON_TYPE } from './wire';

/** Queries of one request, each a list of its own. */
const MAX_QUERIES = 1_000;

/**
 * Characters gathered before any are sent. A failure until then has its status, and so have mistakes in queries that
 * show only when one is answered; a later failure breaks the connection off. Larger than what is worth a stream of its own.
 */
const GATHERED_LENGTH = 1_000_000;

/** Characters of one piece of what is sent after that: rows sent one by one would cost more than they take to make. */
const PIECE_LENGTH = 64 * 1024;

/** A text in pieces, each made when those before it were taken. */
export type Text = AsyncGenerator<string, void, void>;

/**
 * The lists that `queries` ask for: all of these are read before the first is answered.
 *
 * @throws bad_request; what the first lists do
 */
export async function severalResponse(
  queries: unknown,
  listOf: (query: Record<string, unknown>) => Text,
): Promise<Answer> {
  if (!Array.isArray(queries)) throw badRequest('`queries` member must be an array.');
  if (queries.length > MAX_QUERIES) throw badRequest(`At most ${MAX_QUERIES} queries at a time`);
  const lists = queries.map((each: unknown) => {
    if (!isObject(each)) throw badRequest('A query must be an object');
    return listOf(each);
  });
  return gatheredResponse(listText('{"results":[', lists, ']}\n'));
}

/** Before each row of a list, which stands on a line of its own, as in CouchDB: there are programs that read lists line by line. */
export const beforeRow = (isFirst: boolean): string => (isFirst ? '\r\n' : ',\r\n');
/** The end of a list of rows, which is an object. */
export const AFTER_ROWS = '\r\n]}';

/** JSON, or its pieces. */
export type Element = string | Iterable<string> | Text;

/** The JSON of a list: its elements between `begin` and `end`. */
export async function* listText(
  begin: string,
  elements: Iterable<Element> | AsyncIterable<Element>,
  end: string,
): Text {
  let before = begin;
  for await (const element of elements) {
    const pieces = typeof element === 'string' ? [element] : element;
    // Awaiting each piece, a third of what a `_bulk_get` of small documents costs, is for those that must be waited for.
    if (Symbol.iterator in pieces)
      for (const piece of pieces) {
        yield before + piece;
        before = '';
      }
    else
      for await (const piece of pieces) {
        yield before + piece;
        before = '';
      }
    before = ',';
  }
  yield before === ',' ? end : begin + end;
}

/** The JSON of each, made when it is taken. */
export function* jsonOf(elements: Iterable<unknown>): Generator<string, void, void> {
  for (const element of elements) yield JSON.stringify(element);
}

/** JSON in pieces, each requested when those before it were taken. @throws as the first of them do */
export async function gatheredResponse(pieces: Text): Promise<Answer> {
  let text = '';
  while (text.length < GATHERED_LENGTH) {
    const { done, value } = await pieces.next();
    if (done === true) return jsonTextResponse(200, text);
    text += value;
  }
  async function* all(): Text {
    yield text;
    text = '';
    for await (const piece of pieces) {
      text += piece;
      if (text.length < PIECE_LENGTH) continue;
      yield text;
      text = '';
    }
    if (text !== '') yield text;
  }
  const headers = { 'content-type': JSON_TYPE, 'cache-control': CACHING };
  return respondWith(200, headers, textStream(all()));
}
