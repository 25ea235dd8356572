/** The body of an answer: its pieces as they arrive, within the request's timeout, and their text and JSON. */
import { badResponse } from './client-error';
import type { Idle } from './client-idle';

/** Characters of one answer. An endless answer must not use up a page's memory; V8's longest string is twice this. */
export const MAX_ANSWER_LENGTH = 2 ** 28;
/** Bytes of attachments that one answer brings, as they are held in memory: as many as a server takes for one, unless told otherwise. */
export const MAX_ATTACHMENT_BYTES = 2 ** 30;

/** The bytes of an answer. `end` is called however they end; `fail` turns an error into the one that the caller gets. */
export async function* piecesOf(
  response: Response,
  request: Idle,
  end: () => void,
  fail: (error: unknown) => never,
): AsyncGenerator<Uint8Array, void, void> {
  request.heard();
  const reader = readerOf(response);
  let ended = reader === undefined;
  try {
    while (!ended) {
      const { done, value } = await request.race(reader!.read());
      ended = done;
      if (done) return;
      // The timeout rests while the reader is busy with the piece.
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

/** A body that is a stream of Node's, as node-fetch and what is made of it give: PouchDB's own fetch, fetch-cookie. */
interface NodeStream extends AsyncIterable<Uint8Array> {
  destroy(): void;
}

const isOfNode = (body: object | null): body is NodeStream => body != null && !('getReader' in body);

function readerOf({
  body,
}: Response): Pick<ReadableStreamDefaultReader<Uint8Array>, 'read' | 'cancel'> | undefined {
  if (!isOfNode(body)) return body?.getReader();
  const pieces = body[Symbol.asyncIterator]();
  return {
    read: () => pieces.next() as Promise<ReadableStreamReadResult<Uint8Array>>,
    cancel: async () => body.destroy(),
  };
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

/** @param url what was asked, if that may be no database at all @throws bad_response */
export function parseJson(text: string, url?: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw badResponse(`it is no JSON${url === undefined ? '' : `. Is ${url} the URL of a database?`}`, cause);
  }
}

/** The next bytes of a text, or without any its end. @throws bad_response */
export function decode(decoder: TextDecoder, bytes?: Uint8Array): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
  } catch (cause) {
    throw badResponse('it is not UTF-8', cause);
  }
}

/**
 * Errors of a database are JSON. What is not has been written by something before it: a login, a network that wants to be paid, a proxy; which
 * may be over soon.
 */
export const speaksJson = ({ headers }: Response): boolean =>
  /^application\/json\b/i.test(headers.get('content-type') ?? '');
