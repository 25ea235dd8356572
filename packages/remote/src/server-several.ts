/** Several lists in one answer: `{ "results": [list, list, …] }`. Each is made only when the client has taken those before it. */
import { type Answer, jsonTextResponse } from './server-answer';
import { textStream } from './server-streams';
import { JSON_TYPE } from './wire';

/** Queries of one request, each a list of its own. */
export const MAX_QUERIES = 1_000;

/**
 * Characters of lists gathered before any are sent. A failure until then has its status, and so have mistakes in queries that
 * show only when one is answered; a later failure breaks the connection off. Larger than what is worth a stream of its own.
 */
const GATHERED_LENGTH = 1_000_000;

/** @param lists each is requested when the one before was taken. @throws as the first of them do */
export async function severalResponse(lists: AsyncIterable<unknown>): Promise<Answer> {
  const pieces = written(lists);
  let text = '';
  while (text.length < GATHERED_LENGTH) {
    const { done, value } = await pieces.next();
    if (done === true) return jsonTextResponse(200, text);
    text += value;
  }
  async function* all(): AsyncGenerator<string, void, void> {
    yield text;
    text = '';
    yield* pieces;
  }
  const headers = { 'content-type': JSON_TYPE, 'cache-control': 'must-revalidate' };
  return new Response(textStream(all()), { status: 200, headers });
}

async function* written(lists: AsyncIterable<unknown>): AsyncGenerator<string, void, void> {
  let before = '{"results":[';
  for await (const list of lists) {
    yield before + JSON.stringify(list);
    before = ',';
  }
  yield before === ',' ? ']}\n' : `${before}]}\n`;
}
