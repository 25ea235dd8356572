/**
 * Answers made piece by piece, each when the client has taken those before it; several lists in one answer among them:
 * `{ "results": [list, list, …] }`.
 */
import { type Answer, jsonTextResponse } from './server-answer';
import { textStream } from './server-streams';
import { JSON_TYPE } from './wire';

/** Queries of one request, each a list of its own. */
export const MAX_QUERIES = 1_000;

/**
 * Characters gathered before any are sent. A failure until then has its status, and so have mistakes in queries that
 * show only when one is answered; a later failure breaks the connection off. Larger than what is worth a stream of its own.
 */
const GATHERED_LENGTH = 1_000_000;

/** Characters of one piece of what is sent after that: rows sent one by one would cost more than they take to make. */
const PIECE_LENGTH = 64 * 1024;

/** A list as values, or as its text in pieces. */
export type List = object | AsyncGenerator<string, void, void>;

export const textOf = (list: List): Iterable<string> | AsyncIterable<string> =>
  Symbol.asyncIterator in list ? list : [JSON.stringify(list)];

/** @param lists each is requested when the one before was taken. @throws as the first of them do */
export const severalResponse = (lists: AsyncIterable<List>): Promise<Answer> =>
  gatheredResponse(written(lists));

/** JSON in pieces, each requested when those before it were taken. @throws as the first of them do */
export async function gatheredResponse(pieces: AsyncGenerator<string, void, void>): Promise<Answer> {
  let text = '';
  while (text.length < GATHERED_LENGTH) {
    const { done, value } = await pieces.next();
    if (done === true) return jsonTextResponse(200, text);
    text += value;
  }
  async function* all(): AsyncGenerator<string, void, void> {
    for await (const piece of pieces) {
      if (text.length >= PIECE_LENGTH) {
        yield text;
        text = '';
      }
      text += piece;
    }
    yield text;
  }
  const headers = { 'content-type': JSON_TYPE, 'cache-control': 'must-revalidate' };
  return new Response(textStream(all()), { status: 200, headers });
}

async function* written(lists: AsyncIterable<List>): AsyncGenerator<string, void, void> {
  let before = '{"results":[';
  for await (const list of lists) {
    for await (const text of textOf(list)) {
      yield before + text;
      before = '';
    }
    before = ',';
  }
  yield before === ',' ? ']}\n' : `${before}]}\n`;
}
