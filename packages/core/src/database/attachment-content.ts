/**
 * Bytes on their way in: they are hashed, and stored before the write that refers to them.
 *
 * The digest of several chunks is known only when all of them are stored. That of a single chunk is known before, so a chunk that is
 * there already is not stored again. The write's plan decides whether a row names the new place; if none does, the place is given
 * back.
 */
import { digestMismatch } from '../model/attachment-errors';
import { badRequest, isDatabaseError } from '../model/errors';
import type { AttachmentEncoding } from '../model/types';
import type { BlobRow, DatabaseTables } from '../store/schema';
import type { Durability, Store } from '../store/store';
import { chunksOf, piecesOf } from './attachment-data';
import { type Bytes, digestText, portableBytes } from './bytes';
import { withEither } from './on-abort';

/** Content as it is or will be stored. */
export interface Content {
  /** Key of its row. */
  readonly blob: string;
  readonly digest: string;
  /** Number of bytes as stored. */
  readonly size: number;
  /** Number of bytes of the decoded content. */
  readonly length: number;
  /** Where this call stored it; undefined: it was there already, or it is empty. */
  place: string | undefined;
  /** Its bytes while they are not stored by this call, in case the stored ones are swept meanwhile. */
  chunk: Uint8Array | undefined;
  /** Whether a row names the place. */
  named: boolean;
  /** Place that the existing row names, to be replaced by the new one: its bytes are missing (one chunk) or unchecked (several). */
  replaces: string | undefined;
}

/** Data to be taken in. */
interface Incoming {
  readonly data: unknown;
  readonly encoding?: AttachmentEncoding | undefined;
  /** The digest that the sender claims, to be checked. */
  readonly digest?: string | undefined;
  readonly length?: number | undefined;
  /** Ends the reading of a stream. */
  readonly signal?: AbortSignal | undefined;
}

export interface ContentHost {
  readonly store: Store<DatabaseTables>;
  /** Places whose bytes this handle has seen: they need not be checked again. */
  readonly seen: Set<string>;
  readonly bytes?: Bytes | undefined;
  readonly durability: Durability | undefined;
  /** Aborted when sources are no longer waited for. */
  readonly ending: AbortSignal;
}

/** Most places remembered: enough for an import that is repeated. */
const SEEN_MAX = 4096;

/** Key of the row of content with this digest. The same bytes may be content as they are, and other content when decoded. */
export const blobKey = (digest: string, encoding: AttachmentEncoding | undefined): string =>
  encoding === undefined ? digest : `${digest};${encoding}`;

export const isEncoded = (blob: string): boolean => blob.endsWith(';gzip');

/** @throws DatabaseError for data that holds no bytes, or others than it claims; any error of the storage */
export function takeIn(host: ContentHost, id: string, incoming: Incoming): Promise<Content> {
  return withEither(host.ending, incoming.signal, (ending) => take(host, id, incoming, ending));
}

async function take(
  host: ContentHost,
  id: string,
  incoming: Incoming,
  ending: AbortSignal,
): Promise<Content> {
  const { bytes = portableBytes } = host;
  const taken = new Intake(bytes, incoming.encoding);
  const chunks = taken.watched(chunksOf(incoming.data, bytes, ending));
  const first = await chunks.next();
  const second = first.done ? first : await chunks.next();
  let place: string | undefined;
  if (!first.done && !second.done) {
    const { value: one } = first;
    const { value: two } = second;
    const rest = (async function* () {
      yield one;
      yield two;
      yield* chunks;
    })();
    try {
      place = await host.store.blobs.put(rest, host);
    } catch (error) {
      // If storing could not begin, nobody read `rest`, so nobody ended `chunks`. Not awaited: a source may stand still.
      chunks.return().catch(() => {});
      throw error;
    }
  }
  try {
    const chunk = first.done || place !== undefined ? undefined : first.value;
    const told = await taken.result(id, incoming);
    const content: Content = { ...told, place, chunk, named: false, replaces: undefined };
    const row = first.done ? undefined : await rowOf(host.store, content.blob);
    if (chunk !== undefined && !(row && (await holds(host, row, chunk)))) await putChunk(host, content);
    if (content.place !== undefined) content.replaces = row?.place;
    return content;
  } catch (error) {
    if (place !== undefined) await host.store.blobs.drop([place]).catch(() => {});
    throw error;
  }
}

/** Stores content that was left out because it was there already, or that is about to be written. */
export async function putChunk(host: ContentHost, content: Content): Promise<void> {
  if (content.chunk === undefined) return;
  content.place = await host.store.blobs.put([content.chunk], host);
  content.chunk = undefined;
}

export function sawPlace(seen: Set<string>, place: string): void {
  if (seen.size >= SEEN_MAX) seen.clear();
  seen.add(place);
}

async function rowOf(store: Store<DatabaseTables>, blob: string): Promise<BlobRow | undefined> {
  const queries = [{ from: 'blobs', keys: [blob] }] as const;
  const [[row]] = store.readNow(queries) ?? (await store.read(queries));
  return row;
}

/** Are the stored bytes still there? A write that relied on damaged bytes would be acknowledged, and its content lost. */
async function holds({ store, seen }: ContentHost, { place }: BlobRow, chunk: Uint8Array): Promise<boolean> {
  if (seen.has(place)) return true;
  try {
    const stored = await store.blobs.get(place, 0);
    const isSame = stored?.length === chunk.length && stored.every((byte, i) => byte === chunk[i]);
    if (isSame) sawPlace(seen, place);
    return isSame;
  } catch (error) {
    if (isDatabaseError(error) && error.name === 'corrupt') return false;
    throw error;
  }
}

/** Computes digest and lengths of the chunks that pass through. */
class Intake {
  readonly #bytes: Bytes;
  readonly #hasher;
  readonly #gunzip: GunzippedLength | undefined;
  #size = 0;

  constructor(bytes: Bytes, encoding: AttachmentEncoding | undefined) {
    this.#bytes = bytes;
    this.#hasher = bytes.hasher();
    this.#gunzip = encoding === undefined ? undefined : new GunzippedLength();
  }

  async *watched(chunks: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of chunks) {
      this.#hasher.update(chunk);
      this.#size += chunk.length;
      await this.#gunzip?.add(chunk);
      yield chunk;
    }
  }

  async result(id: string, said: Incoming): Promise<Pick<Content, 'blob' | 'digest' | 'size' | 'length'>> {
    const digest = digestText(this.#bytes, this.#hasher);
    const length = this.#gunzip === undefined ? this.#size : await this.#gunzip.end();
    if (said.digest !== undefined && said.digest !== digest) throw digestMismatch(id);
    if (said.length !== undefined && said.length !== length) {
      throw badRequest(`attachment ${said.length < length ? 'longer' : 'shorter'} than expected`);
    }
    const blob = blobKey(digest, said.encoding);
    return { blob, digest, size: this.#size, length };
  }
}

/** Counts the bytes that gzip data holds, by decoding it a piece at a time. */
class GunzippedLength {
  readonly #gunzip = new DecompressionStream('gzip');
  readonly #writer = this.#gunzip.writable.getWriter();
  readonly #counting = this.#count();

  constructor() {
    this.#counting.catch(() => {}); // `add` or `end` reports it
  }

  async add(chunk: Uint8Array): Promise<void> {
    await this.#writer.write(chunk as Uint8Array<ArrayBuffer>).catch(notGzip);
  }

  async end(): Promise<number> {
    this.#writer.close().catch(() => {}); // the reader reports the same
    return this.#counting.catch(notGzip);
  }

  async #count(): Promise<number> {
    let length = 0;
    for await (const piece of piecesOf(this.#gunzip.readable)) length += piece.length;
    return length;
  }
}

function notGzip(cause: unknown): never {
  throw badRequest('Attachment data is not gzip, as its encoding says', cause);
}
