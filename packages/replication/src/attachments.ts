/**
 * Attachments in transfer. Small ones come within their documents, as base64; large ones, and those that are stored encoded,
 * are handed to the target as streams that it reads when their turn comes, so that no such attachment is ever held in memory. Where
 * a side is no database of ours, all come within their documents.
 *
 * Either way, data is written only if it is, byte for byte, what the source's digest and length say. Digests of encoded content are of
 * the encoded bytes (as CouchDB's are), so where only the decoded bytes are at hand, only the length is checked.
 */
import {
  type Bytes,
  bestBytes,
  commonGeneration,
  DatabaseError,
  decoded,
  digestText,
  isObject,
  STUB_AT_HAND,
  tellSign,
} from '@settledb/core';
import type { AnyDoc, MissingRev, Peer } from './peer';

/** Bytes of one document's attachments that come within it; above this they are streamed. */
const INLINE_LENGTH = 1024 * 1024;

type Hasher = ReturnType<Bytes['hasher']>;

/** An attachment in the answer of a source: ours, CouchDB or PouchDB. */
interface Attachment {
  /** A PouchDB stores attachments without a type, and tells them so. The target gives them the default. */
  readonly content_type?: string | null;
  readonly digest: string;
  readonly revpos?: number;
  readonly length?: number;
  readonly encoding?: string;
  readonly stub?: true;
  readonly data?: unknown;
}
type Attachments = Record<string, Attachment>;

const attachmentsOf = (doc: AnyDoc): Attachments => (doc._attachments ?? {}) as unknown as Attachments;

export const hasAttachments = (doc: AnyDoc): boolean => doc._attachments !== undefined;

/** A document whose attachments are stubs, and which of them the target needs. */
export interface Unfilled {
  readonly doc: AnyDoc;
  readonly names: readonly string[];
  /** Bytes that are needed. */
  readonly length: number;
  readonly streamed: boolean;
  /** Revisions that the target has, and with them the other attachments. */
  readonly ancestors: readonly string[];
}

/** A database that opens attachments also takes them as streams. For any other a function is no data: a PouchDB ends the process. */
export const canStream = (source: Peer, target: Peer): boolean =>
  [source, target].every(({ openAttachment }) => typeof openAttachment === 'function');

/** @param ancestors what the target said it has of the document; `[]` asks for everything */
export function unfilled(doc: AnyDoc, ancestors: readonly string[], streams: boolean): Unfilled {
  const attachments = attachmentsOf(doc);
  const known = commonGeneration(doc._revisions!, new Set(ancestors)); // Checked by faultOf.
  const names = Object.keys(attachments).filter((name) => {
    const { stub, revpos = 0 } = attachments[name]!;
    return stub === true && revpos > known;
  });
  let length = 0;
  let encoded = false;
  for (const name of names) {
    length += attachments[name]!.length ?? 0;
    encoded ||= attachments[name]!.encoding !== undefined;
  }
  const streamed = streams && (encoded || length > INLINE_LENGTH);
  return { doc, names, length, streamed, ancestors };
}

/** A revision as it is asked for; with data, `atts_since` spares the attachments that the target has. */
export type Requested = MissingRev & { readonly atts_since?: readonly string[] };

export const requestOf = ({ doc, ancestors }: Unfilled): Requested => ({
  id: doc._id,
  rev: doc._rev,
  ...(ancestors.length === 0 ? {} : { atts_since: ancestors }),
});

/** How streams of the source are read. */
export interface Reading {
  readonly signal: AbortSignal;
  /** Does what the target waits for, of the source: a failure is one of the source. */
  awaited<T>(work: () => Promise<T>): Promise<T>;
  /** So many bytes have come. */
  came(length: number): void;
}

/** The document with streams in place of the stubs that are needed. */
export function withStreams({ doc, names }: Unfilled, source: Peer, reading: Reading): AnyDoc {
  const attachments: Record<string, unknown> = Object.assign(Object.create(null), doc._attachments);
  for (const name of names) {
    const { stub: _, ...attachment } = attachmentsOf(doc)[name]!;
    const data = (): Promise<ReadableStream<Uint8Array>> =>
      reading.awaited(async () => {
        const stream = await open(source, doc, name, reading.signal);
        return checked(stream, doc, name, attachment, reading);
      });
    attachments[name] = { ...attachment, encoded: true, data };
  }
  return { ...doc, _attachments: attachments } as AnyDoc;
}

/** The document as listeners see it: with stubs in place of the streams, which they have no use for and no message can carry. */
export function withoutStreams(doc: AnyDoc): AnyDoc {
  if (doc._attachments === undefined) return doc;
  const attachments: Record<string, unknown> = Object.create(null);
  for (const [name, attachment] of Object.entries(attachmentsOf(doc))) {
    const { data, encoded: _, ...rest } = attachment as Attachment & { encoded?: true };
    attachments[name] = typeof data === 'function' ? { ...rest, stub: true } : attachment;
  }
  return { ...doc, _attachments: attachments } as AnyDoc;
}

async function open(
  source: Peer,
  doc: AnyDoc,
  name: string,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const { _id, _rev } = doc;
  const stub = attachmentsOf(doc)[name]!;
  const { digest, encoding } = stub;
  const options = { rev: _rev, encoded: true, signal, [STUB_AT_HAND]: stub };
  const opened = await source.openAttachment!(_id, name, options);
  if (opened.digest === digest && opened.encoding === encoding) return opened.stream;
  opened.stream.cancel().catch(() => undefined);
  throw mismatch(_id, name);
}

/** The same stream; it fails at its end when the bytes were not what the document says. */
function checked(
  stream: ReadableStream<Uint8Array>,
  { _id }: AnyDoc,
  name: string,
  { digest, encoding, length }: Attachment,
  reading: Reading,
): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  const hasher = bestBytes().hasher();
  let size = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) =>
        reading.awaited(async () => {
          const { done, value } = await reader.read();
          tellSign(reading.signal);
          if (!done) {
            reading.came(value.length);
            hasher.update(value);
            size += value.length;
            // Not only at the end, which may never come.
            if (encoding === undefined && size > (length ?? size)) {
              reader.cancel().catch(() => undefined);
              throw mismatch(_id, name);
            }
            return controller.enqueue(value);
          }
          const whole = encoding !== undefined || size === length;
          if (!whole || !hasDigest(digest, hasher)) throw mismatch(_id, name);
          controller.close();
        }),
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** False for a digest of another kind than ours, with which nothing can be compared. */
const hasDigest = (digest: string, hasher: Hasher): boolean =>
  !digest.startsWith('md5-') || digest === digestText(bestBytes(), hasher);

/** Name of the error for content that is not what its document says. It concerns that document alone, whatever its status. */
export const MISMATCH = 'content_md5_mismatch';

const mismatch = (id: string, name: string): DatabaseError =>
  new DatabaseError({
    status: 502,
    name: MISMATCH,
    reason: `Attachment ${name} of ${id} is not what its digest says`,
    docId: id,
  });

/**
 * @param asked what the document was before its data was asked for, if it was
 * @returns what is wrong with the attachments of `doc`, or `undefined`
 */
export function attachmentFault(doc: AnyDoc, asked?: Unfilled): string | undefined {
  const attachments = doc._attachments as unknown;
  if (attachments === undefined && asked === undefined) return undefined;
  if (!isObject(attachments)) return 'its _attachments are malformed';
  for (const [name, attachment] of Object.entries(attachments)) {
    const { content_type, digest, stub, length } = isObject(attachment) ? attachment : {};
    const told = (content_type == null || typeof content_type === 'string') && typeof digest === 'string';
    if (!told || (stub === true && typeof length !== 'number')) return `its attachment ${name} is malformed`;
  }
  if (asked !== undefined) {
    const [before, now] = [attachmentsOf(asked.doc), attachments as unknown as Attachments];
    const same = (name: string): boolean =>
      Object.hasOwn(now, name) && now[name]!.digest === before[name]!.digest;
    if (!Object.keys(before).every(same)) return 'its attachments are not those of its stubs';
    if (asked.names.some((name) => now[name]!.stub === true)) return 'its attachments lack their data';
  }
  return dataFault(attachments as unknown as Attachments, asked);
}

function dataFault(attachments: Attachments, asked: Unfilled | undefined): string | undefined {
  for (const [name, attachment] of Object.entries(attachments)) {
    const { digest, data } = attachment;
    // We asked for text; if a peer sends something else, the target judges it.
    if (attachment.stub === true || typeof data !== 'string') continue;
    const stub = asked === undefined ? undefined : attachmentsOf(asked.doc)[name];
    const hasher = bestBytes().hasher();
    let size = 0;
    try {
      for (const piece of decoded(data, bestBytes())) {
        hasher.update(piece);
        size += piece.length;
      }
    } catch {
      return `its attachment ${name} is no base64`;
    }
    if (size !== (attachment.length ?? stub?.length ?? size))
      return `its attachment ${name} has another length`;
    if ((attachment.encoding ?? stub?.encoding) !== undefined) continue;
    if (!hasDigest(digest, hasher)) return `its attachment ${name} has another digest`;
  }
  return undefined;
}
