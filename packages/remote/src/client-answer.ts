/** The body of an answer: its pieces as they come, the patience that goes with them, and what they say as text and JSON. */
import { badResponse } from './client-error';
import type { Idle } from './client-idle';

/** Characters of one answer. A server without end must not take the memory of a page; V8's strings end at twice this. */
const MAX_ANSWER_LENGTH = 2 ** 28;

/** The bytes of an answer. Whatever ends them, `end` is called; `fail` makes of an error what the caller is to see. */
export async function* piecesOf(
  response: Response,
  request: Idle,
  end: () => void,
  fail: (error: unknown) => never,
): AsyncGenerator<Uint8Array, void, void> {
  request.heard();
  const reader = response.body?.getReader();
  let ended = reader === undefined;
  try {
    while (!ended) {
      const { done, value } = await request.race(reader!.read());
      ended = done;
      if (done) return;
      // While the reader is busy with it, nothing is waited for.
      request.rest();
      yield value;
      request.heard();
    }
  } catch (error) {
    fail(error);
  } finally {
    end();
    if (!ended) reader?.cancel().catch(() => {});
  }
}

export async function readText(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  for await (const piece of pieces) {
    text += decode(decoder, piece);
    if (text.length > MAX_ANSWER_LENGTH) throw badResponse('it is too long');
  }
  return text + decode(decoder);
}

/** @throws bad_response */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw badResponse('it is no JSON', cause);
  }
}

function decode(decoder: TextDecoder, bytes?: Uint8Array): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
  } catch (cause) {
    throw badResponse('it is not UTF-8', cause);
  }
}
