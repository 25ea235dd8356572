/**
 * Bytes on their way in: hashed, and put where content lies, before the write that refers to them.
 *
 * The digest of much is known only when all of it has been put; of little (one chunk) before, and what is there already is not
 * put again. Whether a row names the place that was taken, the plan of the write decides; what it does not name is given back.
 */
import { badRequest, digestMismatch, isDatabaseError } from '../model/errors';
import type { AttachmentEncoding } from '../model/types';
import type { BlobRow, DatabaseTables } from '../store/schema';
import type { Durability, Store } from '../store/store';
import { chunksOf } from './attachment-data';
import { type Bytes, digestText, portableBytes } from './bytes';
import { withEither } from './on-abort';

/** Content as it is or will be stored. */
export interface Content {
  /** Key of its row. */
  readonly blob: string;
  readonly digest: string;
  /** Bytes stored. */
  readonly size: number;
  /** Bytes of the content, decoded. */
  readonly length: number;
  /** Where this call put it; undefined: it was there already, or there is nothing of it. */
  place: string | undefined;
  /** Kept while it was not put, in case that what was there is swept meanwhile. */
  chunk: Uint8Array | undefined;
  /** A row names the place. */
  named: boolean;
  /** Where these bytes should be, and (much) were not looked for or (little) are not: the new place stands in for it. */
  replaces: string | undefined;
}

/** What comes in. */
export interface Incoming {
  readonly data: unknown;
  readonly encoding?: AttachmentEncoding | undefined;
  /** What the sender says of it, to be held against it. */
  readonly digest?: string | undefined;
  readonly length?: number | undefined;
  /** Ends the reading of a stream. */
  readonly signal?: AbortSignal | undefined;
}

export interface ContentHost {
  readonly store: Store<DatabaseTables>;
  /** Places whose bytes were seen by this handle: they need not be looked at again. */
  readonly seen: Set<string>;
  readonly bytes?: Bytes | undefined;
  readonly durability: Durability | undefined;
  /** Aborted when no source is waited for any more. */
  readonly ending: AbortSignal;
}

/** Places remembered at most: those of an import that repeats itself. */
const SEEN_MAX = 4096;

/** Key of the row of content with this digest. The same bytes may be one content as they are, and another when decoded. */
export const blobKey = (digest: string, encoding: AttachmentEncoding | undefined): string =>
  encoding === undefined ? digest : `${digest};${encoding}`;

export const isEncoded = (blob: string): boolean => blob.endsWith(';gzip');

/** @throws DatabaseError for data that holds no bytes, or other ones than it says; what the storage fails with */
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
      // Where storing could not begin nobody has read of `rest`, and so nobody ended it. Not awaited: a source may stand still.
      chunks.return().catch(() => {});
      throw error;
    }
  }
  try {
    const content = await taken.result(id, incoming);
    content.place = place;
    if (!first.done && second.done) {
      content.chunk = first.value;
      const row = await rowOf(host.store, content.blob);
      if (row === undefined || !(await holds(host, row, first.value))) await putChunk(host, content);
      content.replaces = content.place === undefined ? undefined : row?.place;
    } else if (place !== undefined) content.replaces = (await rowOf(host.store, content.blob))?.place;
    return content;
  } catch (error) {
    if (place !== undefined) await host.store.blobs.drop([place]).catch(() => {});
    throw error;
  }
}

/** Puts content that was not put because it was there already, or is about to be. */
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

/** Is what was stored still there? A write that relies on damaged bytes would be acknowledged, and lost. */
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

/** Digest and lengths of chunks that go by. */
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

  async result(id: string, said: Incoming): Promise<Content> {
    const digest = digestText(this.#bytes, this.#hasher);
    const length = this.#gunzip === undefined ? this.#size : await this.#gunzip.end();
    if (said.digest !== undefined && said.digest !== digest) throw digestMismatch(id);
    if (said.length !== undefined && said.length !== length) {
      throw badRequest(`attachment ${said.length < length ? 'longer' : 'shorter'} than expected`);
    }
    const blob = blobKey(digest, said.encoding);
    return {
      blob,
      digest,
      size: this.#size,
      length,
      place: undefined,
      chunk: undefined,
      named: false,
      replaces: undefined,
    };
  }
}

/** How many bytes gzip holds: one must decode it to know, a piece at a time. */
class GunzippedLength {
  readonly #gunzip = new DecompressionStream('gzip');
  readonly #writer = this.#gunzip.writable.getWriter();
  readonly #counting = this.#count();

  constructor() {
    this.#counting.catch(() => {}); // told by `add` or `end`
  }

  async add(chunk: Uint8Array): Promise<void> {
    await this.#writer.write(chunk as Uint8Array<ArrayBuffer>).catch(notGzip);
  }

  async end(): Promise<number> {
    this.#writer.close().catch(() => {}); // the reader is told the same
    return this.#counting.catch(notGzip);
  }

  async #count(): Promise<number> {
    const reader = this.#gunzip.readable.getReader();
    let length = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return length;
      length += value.length;
    }
  }
}

function notGzip(cause: unknown): never {
  throw badRequest('Attachment data is not gzip, as its encoding says', cause);
}
