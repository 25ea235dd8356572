/** One attachment by its name, whole or as a stream. */

import { joinDoc } from '../model/document';
import { notFound } from '../model/errors';
import { isLocalId } from '../model/ids';
import type { BinaryData, ExistingDoc, OpenedAttachment, Rev, Stub } from '../model/types';
import { type BlobRow, storedBody } from '../store/schema';
import { rangeOf, STUB_AT_HAND } from './attachment-arguments';
import {
  type AttachmentSource,
  gunzipped,
  loadData,
  rowsOf,
  Swept,
  storedBytes,
  unswept,
} from './attachment-bytes';
import { isEncoded } from './attachment-content';
import { streamOf } from './attachment-data';
import type { Stubs } from './attachment-set';
import type { CallOptions, OpenAttachmentOptions } from './database';
import { getAny } from './get-history';

type RevOptions = CallOptions & { readonly rev?: Rev | undefined };

/** The stub of an attachment in one revision of its document. */
async function stubOf(
  source: AttachmentSource,
  id: string,
  name: string,
  options: RevOptions,
): Promise<Stub> {
  // As in PouchDB, attachments of local documents come only with the document.
  if (typeof id === 'string' && isLocalId(id)) throw notFound('missing', id);
  const stubs = await stubsOf(source, id, options);
  if (stubs === undefined || !Object.hasOwn(stubs, name))
    throw notFound('Document is missing attachment', id);
  return stubs[name]!;
}

/** Those of the winner are parsed once for all who ask one after another: a document may have thousands, each asked for by itself. */
async function stubsOf(
  source: AttachmentSource,
  id: string,
  { rev, signal }: RevOptions,
): Promise<Stubs | undefined> {
  const { store } = source;
  if (typeof id === 'string') {
    const queries = [{ from: 'docs', keys: [id], texts: ['body'] }] as const;
    const [[row]] = store.readNow(queries) ?? (await store.read(queries, { signal }));
    if (row !== undefined && !row.deleted && (rev === undefined || rev === row.rev)) {
      const body = storedBody(row);
      if (source.parsed?.body !== body)
        source.parsed = { body, stubs: joinDoc(id, row.rev, false, body)._attachments };
      return source.parsed.stubs;
    }
  }
  const doc = await getAny(store, id, rev === undefined ? { signal } : { rev, signal });
  return (doc as ExistingDoc<object>)._attachments as Stubs | undefined;
}

/** The row of its content. @throws Swept */
async function rowOf(source: AttachmentSource, stub: Stub): Promise<BlobRow> {
  const [row] = (await rowsOf(source, [stub])) as [BlobRow];
  return row;
}

/** See `Database.getAttachment`. */
export function getAttachment(
  source: AttachmentSource,
  id: string,
  name: string,
  options: RevOptions,
): Promise<BinaryData> {
  options.signal?.throwIfAborted();
  return unswept(async () => {
    const stub = await stubOf(source, id, name, options);
    return loadData(source, await rowOf(source, stub), stub.content_type);
  });
}

/** See `Database.openAttachment`. */
export function openAttachment(
  source: AttachmentSource,
  id: string,
  name: string,
  options: OpenAttachmentOptions & { readonly [STUB_AT_HAND]?: Stub },
): Promise<OpenedAttachment> {
  options.signal?.throwIfAborted();
  let atHand = options[STUB_AT_HAND];
  return unswept(async () => {
    const stub = atHand ?? (await stubOf(source, id, name, options));
    atHand = undefined;
    const row = await rowOf(source, stub);
    const { content_type, digest, revpos, length } = stub;
    const encoded = isEncoded(row.blob);
    const asStored = !encoded || Boolean(options.encoded);
    const [start, end] = rangeOf(options, asStored ? row.size : length);
    return {
      content_type,
      digest,
      revpos,
      length,
      ...(encoded ? { encoded_length: row.size } : {}),
      ...(encoded && asStored ? { encoding: 'gzip' as const } : {}),
      size: end - start,
      stream: streamOf(
        told(
          id,
          options.signal,
          asStored ? storedBytes(source, row, start, end) : decodedPart(source, row, start, end, length),
        ),
      ),
    };
  });
}

function decodedPart(
  source: AttachmentSource,
  row: BlobRow,
  start: number,
  end: number,
  length: number,
): AsyncGenerator<Uint8Array, void> {
  const whole = gunzipped(storedBytes(source, row, 0, row.size));
  // When the end is wanted, the content is read to its end, so that damage is noticed.
  return between(whole, start, end === length ? Number.POSITIVE_INFINITY : end);
}

/** The part of `chunks` between `start` and `end`. */
async function* between(
  chunks: AsyncGenerator<Uint8Array, void>,
  start: number,
  end: number,
): AsyncGenerator<Uint8Array, void> {
  let at = 0;
  for await (const chunk of chunks) {
    const piece = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at));
    if (piece.length > 0) yield piece;
    at += chunk.length;
    if (at >= end && end < Number.POSITIVE_INFINITY) return;
  }
}

/**
 * A stream that has begun cannot begin again: if its content was swept, the document has changed, and so the attachment is gone.
 *
 * @throws the reason of the signal, which ends the stream too
 */
async function* told(
  id: string,
  signal: AbortSignal | undefined,
  chunks: AsyncGenerator<Uint8Array, void>,
): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of chunks) {
      signal?.throwIfAborted();
      yield chunk;
    }
  } catch (error) {
    throw error instanceof Swept ? notFound('missing', id) : error;
  }
}
