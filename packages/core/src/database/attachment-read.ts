/**
 * Reading attachments: data into documents that were read with stubs, and one attachment as a stream.
 *
 * Rows and bytes are not read in one moment. What a document refers to may be swept before its bytes are read, when the document
 * was changed and the database compacted meanwhile: then the call begins again, and finds what is there now.
 */
import {
  badRequest,
  corrupt,
  type DatabaseError,
  isDatabaseError,
  notFound,
  rangeNotSatisfiable,
} from '../model/errors';
import { isLocalId } from '../model/ids';
import { generationOf } from '../model/revision';
import type {
  BinaryData,
  ExistingDoc,
  FullAttachment,
  OpenedAttachment,
  Rev,
  Revisions,
  Stub,
} from '../model/types';
import type { BlobRow, DatabaseTables } from '../store/schema';
import { CHUNK_BYTES, type Store } from '../store/store';
import { isEncoded } from './attachment-content';
import { bothKeys } from './attachment-set';
import { type Bytes, portableBytes } from './bytes';
import type { AttachmentsOptions, CallOptions, OpenAttachmentOptions } from './database';
import { getAny } from './get-history';
import { RecentBlobs } from './recent-blobs';

/** How often a call begins again for content that was swept under it. Each time somebody compacted. */
const TRIES_MAX = 20;
/**
 * Attachments loaded at a time, and bytes of them but for the first: hides the storage's latency (what is asked for at once is one
 * transaction), and bounds what is in memory beside the answer.
 */
const LOADS_AT_ONCE = 100;
const LOADED_BYTES = 4 * 1024 * 1024;

export interface AttachmentSource {
  readonly store: Store<DatabaseTables>;
  /** Default: by what every platform has. */
  readonly bytes?: Bytes | undefined;
  /** Places whose bytes were seen; not those that turn out to be damaged. */
  readonly seen?: Set<string> | undefined;
  /** Of this database, to be filled here. */
  recent?: RecentBlobs | undefined;
}

/** What was to be read is not there any more. */
class Swept extends Error {
  override readonly name = 'Swept';
}

/** Calls `work` until nothing it reads is swept meanwhile. */
export async function unswept<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Swept)) throw error;
      if (tries >= TRIES_MAX) throw corrupt('The content of an attachment is not there', error);
    }
  }
}

type AnyDoc = ExistingDoc<object>;

/** Documents whose attachments are to be filled in. */
export interface FillOptions extends AttachmentsOptions {
  /** Only attachments that changed after this generation get their data. Default: all. */
  readonly after?: ReadonlyMap<AnyDoc, number>;
  /** Told of a document with a damaged attachment. Default: the call fails. */
  readonly damaged?: (doc: AnyDoc, error: DatabaseError) => void;
}

/** Puts data, or what else is asked for, in place of the stubs of `docs`, which it changes. To be called within {@link unswept}. */
export async function fill(
  source: AttachmentSource,
  docs: readonly AnyDoc[],
  options: FillOptions,
): Promise<void> {
  const wanted = docs.flatMap((doc) => {
    const stubs = doc._attachments as Record<string, Stub> | undefined;
    return stubs === undefined
      ? []
      : Object.keys(stubs).map((name) => ({ doc, stubs, name, stub: stubs[name]! }));
  });
  if (wanted.length === 0) return;
  const rows = await rowsOf(
    source,
    wanted.map(({ stub }) => stub),
  );
  await each(rows, async (row, i) => {
    const { doc, stubs, name, stub } = wanted[i]!;
    const { content_type, revpos, digest } = stub;
    const info = options.att_encoding_info && isEncoded(row.blob);
    const encoding = info ? ({ encoding: 'gzip', encoded_length: row.size } as const) : {};
    if (!options.attachments || revpos <= (options.after?.get(doc) ?? -1)) {
      stubs[name] = { ...stub, ...encoding };
      return;
    }
    let data: BinaryData | string;
    try {
      data = options.binary
        ? await loadData(source, row, content_type)
        : (source.bytes ?? portableBytes).toBase64(await load(source, row));
    } catch (error) {
      if (options.damaged === undefined || !isDatabaseError(error) || error.name !== 'corrupt') throw error;
      return options.damaged(doc, error);
    }
    const full: FullAttachment = { content_type, revpos, digest, data, ...encoding };
    (stubs as Record<string, Stub | FullAttachment>)[name] = full;
  });
}

/** Up to which generation a reader that has the revisions `since` has what `revisions` has. @returns -1 when it has nothing of it */
export function commonGeneration({ start, ids }: Revisions, since: readonly Rev[]): number {
  const known = new Set(since);
  const at = ids.findIndex((hash, i) => known.has(`${start - i}-${hash}`));
  return at < 0 ? -1 : start - at;
}

async function each(
  rows: readonly BlobRow[],
  work: (row: BlobRow, i: number) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let bytes = 0;
  for (const [i, row] of rows.entries()) {
    while (running.size === LOADS_AT_ONCE || (running.size > 0 && bytes + row.size > LOADED_BYTES))
      await Promise.race(running);
    bytes += row.size;
    const one = work(row, i).finally(() => {
      bytes -= row.size;
      running.delete(one);
    });
    one.catch(() => {}); // told by whichever of the two waits
    running.add(one);
  }
  await Promise.all(running);
}

async function rowsOf({ store }: AttachmentSource, stubs: readonly Stub[]): Promise<BlobRow[]> {
  const keys = stubs.flatMap(({ digest }) => bothKeys(digest));
  const queries = [{ from: 'blobs', keys }] as const;
  const [rows] = store.readNow(queries) ?? (await store.read(queries));
  return stubs.map((stub, i) => {
    const [plain, encoded] = [rows[2 * i], rows[2 * i + 1]];
    const row = encoded !== undefined && encoded.length === stub.length ? encoded : plain;
    if (row === undefined) throw new Swept();
    return row;
  });
}

async function loadData(source: AttachmentSource, row: BlobRow, type: string): Promise<BinaryData> {
  source.recent ??= new RecentBlobs();
  const kept = source.recent.get(row, type);
  if (kept !== undefined) return kept;
  const data = (source.bytes ?? portableBytes).toData(await load(source, row), type);
  source.recent.keep(row, type, data);
  return data;
}

async function load(source: AttachmentSource, row: BlobRow): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  if (row.size <= CHUNK_BYTES && row.size > 0 && !isEncoded(row.blob)) {
    // Nearly all attachments: the shortest way.
    const chunk = await getChunk(source, row.place, 0);
    if (chunk?.length === row.size) return [chunk];
  }
  const stored = storedBytes(source, row, 0, row.size);
  for await (const piece of isEncoded(row.blob) ? gunzipped(stored) : stored) pieces.push(piece);
  return pieces;
}

/**
 * Bytes from `start` to `end` as they are stored. The journal checks each chunk; MD5 would find no more, and take ten times as long.
 * @throws Swept; corrupt
 */
async function* storedBytes(
  source: AttachmentSource,
  row: BlobRow,
  start: number,
  end: number,
): AsyncGenerator<Uint8Array, void> {
  let { place } = row;
  for (let at = start; at < end; ) {
    const index = Math.floor(at / CHUNK_BYTES);
    const from = index * CHUNK_BYTES;
    const chunk = await getChunk(source, place, index);
    if (chunk === undefined) {
      place = await movedTo(source, row, place);
      continue;
    }
    if (chunk.length !== Math.min(CHUNK_BYTES, row.size - from)) throw damaged(row);
    const until = Math.min(end, from + chunk.length);
    yield at === from && until === from + chunk.length ? chunk : chunk.subarray(at - from, until - from);
    at = until;
  }
}

function getChunk(
  { store, seen }: AttachmentSource,
  place: string,
  index: number,
): Promise<Uint8Array | undefined> {
  const chunk = store.blobs.get(place, index);
  chunk.catch(() => seen?.delete(place));
  return chunk;
}

const damaged = ({ blob }: BlobRow): Error => corrupt(`The stored attachment of digest ${blob} is damaged`);

/**
 * A chunk is not there: its content was put anew, elsewhere; or swept since its row was read; or the storage lost it.
 * @returns where the same bytes are
 */
async function movedTo({ store, seen }: AttachmentSource, row: BlobRow, place: string): Promise<string> {
  const [[now]] = await store.read([{ from: 'blobs', keys: [row.blob] }]);
  if (now === undefined) throw new Swept();
  if (now.place === place) {
    seen?.delete(place);
    throw damaged(row);
  }
  return now.place;
}

async function* gunzipped(stored: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
  const stream = streamOf(stored) as ReadableStream<Uint8Array<ArrayBuffer>>;
  const reader = stream.pipeThrough(new DecompressionStream('gzip')).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function streamOf(chunks: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return();
      },
    },
    { highWaterMark: 0 },
  );
}

/** What `chunks` give between `start` and `end`. */
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

/** One attachment of one revision: what its document says of it, and the row of its content. */
async function find(
  source: AttachmentSource,
  id: string,
  name: string,
  { rev, signal }: CallOptions & { readonly rev?: Rev | undefined },
): Promise<{ stub: Stub; row: BlobRow }> {
  // As PouchDB: they can be had with the document only.
  if (typeof id === 'string' && isLocalId(id)) throw notFound('missing', id);
  const doc = (await getAny(source.store, id, rev === undefined ? { signal } : { rev, signal })) as AnyDoc;
  const stubs = doc._attachments as Record<string, Stub> | undefined;
  if (stubs === undefined || !Object.hasOwn(stubs, name))
    throw notFound('Document is missing attachment', id);
  const stub = stubs[name]!;
  const [row] = (await rowsOf(source, [stub])) as [BlobRow];
  return { stub, row };
}

/** See `Database.getAttachment`. */
export function getAttachment(
  source: AttachmentSource,
  id: string,
  name: string,
  options: CallOptions & { readonly rev?: Rev | undefined } = {},
): Promise<BinaryData> {
  options.signal?.throwIfAborted();
  return unswept(async () => {
    const { stub, row } = await find(source, id, name, options);
    return loadData(source, row, stub.content_type);
  });
}

/** See `Database.openAttachment`. */
export function openAttachment(
  source: AttachmentSource,
  id: string,
  name: string,
  options: OpenAttachmentOptions = {},
): Promise<OpenedAttachment> {
  options.signal?.throwIfAborted();
  return unswept(async () => {
    const { stub, row } = await find(source, id, name, options);
    const { content_type, digest, revpos, length } = stub;
    const encoded = isEncoded(row.blob);
    const asStored = !encoded || options.encoded === true;
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
  // All of it is read to its end, so that damage is heard of.
  return between(whole, start, end === length ? Number.POSITIVE_INFINITY : end);
}

/** In a stream that was begun nothing can begin again: the document has gone on, and so the attachment is not there. */
async function* told(id: string, chunks: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks;
  } catch (error) {
    throw error instanceof Swept ? notFound('missing', id) : error;
  }
}

/** @throws DatabaseError 416 when nothing of the range is there, 400 when it is none */
function rangeOf({ start = 0, end }: OpenAttachmentOptions, size: number): [start: number, end: number] {
  for (const at of [start, end ?? 0]) {
    if (!Number.isSafeInteger(at) || at < 0)
      throw badRequest('A range is of whole numbers that are not negative');
  }
  const until = Math.min(end ?? size, size);
  if (start >= until && !(start === 0 && size === 0)) throw rangeNotSatisfiable();
  return [start, until];
}

/** For `atts_since`: after which generation attachments of `doc`, read with its ancestry, get their data. */
export function afterGeneration(doc: AnyDoc, since: readonly Rev[]): number {
  const valid = since.filter((rev) => generationOf(rev) > 0);
  return doc._revisions === undefined ? -1 : commonGeneration(doc._revisions, valid);
}
