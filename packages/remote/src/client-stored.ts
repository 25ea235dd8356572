/**
 * An attachment as a server stores it: gzip, which CouchDB's digest is of. The platform's fetch decodes an attachment that is
 * requested alone, so it is taken from its document's multipart, where each part has its own encoding.
 *
 * The attachments before it are received too, and skipped.
 */
import { type ExistingDoc, isObject } from '@settledb/core';
import { parseJson, readText } from './client-answer';
import type { Call } from './client-call';
import { checkObject } from './client-check';
import type { Http } from './client-http';
import { asAnswer, boundaryIn, lacking, MAX_PART_HEADERS, nextPart } from './client-parts';
import { verified } from './client-receive';
import { readMultipart } from './multipart';
import { attachmentOrder } from './multipart-order';
import { encodeDocId } from './wire';

const documentCall = ({ _id, _rev }: ExistingDoc, signal: AbortSignal | undefined): Call => ({
  method: 'GET',
  path: `/${encodeDocId(_id)}`,
  query: { rev: _rev, attachments: true },
  accept: 'multipart/related',
  signal,
  docId: _id,
});

interface Stored {
  readonly digest: string;
  /** Of the bytes as stored. */
  readonly length: number;
  readonly signal: AbortSignal | undefined;
}

/** The part of one attachment; those before it are skipped. @throws corrupt, bad_response */
export async function* readStored(
  http: Http,
  doc: ExistingDoc,
  name: string,
  stored: Stored,
): AsyncGenerator<Uint8Array, void, void> {
  const answer = await http.open(documentCall(doc, stored.signal));
  const parts = readMultipart(answer.pieces, boundaryIn(answer), MAX_PART_HEADERS);
  try {
    const text = await readText((await nextPart(parts)).body);
    const { _attachments } = checkObject(parseJson(text), 'the document');
    const follows = (each: string): boolean =>
      isObject(_attachments) && (_attachments[each] as { follows?: unknown } | undefined)?.follows === true;
    const before = attachmentOrder(text).filter(follows);
    if (!before.includes(name)) throw lacking(name);
    for (const each of before) {
      const { body } = await nextPart(parts, each);
      if (each === name) return yield* verified(body, http.bytes, { name, ...stored });
    }
  } catch (error) {
    throw asAnswer(error);
  } finally {
    await parts.return();
  }
}
