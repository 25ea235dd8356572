/**
 * Attachments that no URL can carry, because they or their documents are called `.` or `..`, or have too long a name. They are read with their documents, by a
 * request that has the id in its body, and each time all attachments of the document come along.
 */
import { type BinaryData, type CallOptions, chunksOf, notFound, type Rev } from '@settledb/core';
import { bulkGetOver } from './client-bulk-get';
import { checkAttachment, differs } from './client-check';
import type { Http } from './client-http';
import { readOne } from './client-read';
import { fromWireError } from './wire';

interface Asked extends CallOptions {
  readonly rev?: Rev | undefined;
  readonly as_stored?: boolean | undefined;
}

/** @throws not_found, corrupt */
export async function readDot(
  http: Http,
  id: string,
  name: string,
  { rev, as_stored, signal }: Asked,
): Promise<BinaryData> {
  // Without a revision, some servers answer `_bulk_get` with the winner, others with every leaf.
  const asked = rev ?? (await readOne(http, id, { signal }))._rev;
  const options = { attachments: true, binary: true, as_stored, signal };
  const { results } = await bulkGetOver(http, [{ id, rev: asked }], options);
  const [row] = results.flatMap(({ docs }) => docs);
  if (row === undefined) throw notFound('missing', id);
  if ('error' in row) throw fromWireError(row.error, id);
  const attachments = row.ok._attachments ?? {};
  if (!Object.hasOwn(attachments, name)) throw notFound('Document is missing attachment', id);
  const info: unknown = attachments[name];
  checkAttachment(info, name);
  return info.data as BinaryData;
}

interface Part extends Asked {
  /** The first byte wanted, and the one after the last. */
  readonly start: number;
  readonly last: number;
  /** Of the whole attachment. */
  readonly length: number;
}

/** A part of an attachment, or all of it; nothing is requested before it is read. @throws as {@link readDot} */
export async function* readDotPart(
  http: Http,
  id: string,
  name: string,
  { start, last, length, ...asked }: Part,
): AsyncGenerator<Uint8Array, void, void> {
  const data = new Blob([(await readDot(http, id, name, asked)) as BlobPart]);
  if (data.size !== length) throw differs(name);
  yield* chunksOf(data.slice(start, last), http.bytes);
}
