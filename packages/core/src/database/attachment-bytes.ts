/**
 * The content of attachments: its bytes, and the rows that say where they are.
 *
 * Rows and bytes are read at different moments. If the document is changed and the database compacted in between, the bytes a row
 * refers to may be swept before they are read: the call then begins again, and finds what is there now.
 */
import { corrupt } from '../model/errors';
import type { BinaryData, Stub } from '../model/types';
import type { BlobRow, DatabaseTables } from '../store/schema';
import { CHUNK_BYTES, type Store } from '../store/store';
import { isEncoded } from './attachment-content';
import { through } from './attachment-data';
import { bothKeys, type Stubs } from './attachment-set';
import { type Bytes, portableBytes } from './bytes';
import { RecentBlobs } from './recent-blobs';

/** How often a call begins again because its content was swept. Each time somebody must have compacted. */
const TRIES_MAX = 20;

export interface AttachmentSource {
  readonly store: Store<DatabaseTables>;
  /** Default: the code that runs on every platform. */
  readonly bytes?: Bytes | undefined;
  /** Places whose bytes were read, except those that turn out to be damaged. */
  readonly seen?: Set<string> | undefined;
  /** Recently read content of this database; filled here. */
  recent?: RecentBlobs | undefined;
  /** What was last parsed for its attachments; filled here. */
  parsed?: { readonly body: string; readonly stubs: Stubs | undefined } | undefined;
}

/** What was to be read is no longer there. */
export class Swept extends Error {
  override readonly name = 'Swept';
}

/** Calls `work` again until nothing that it reads is swept meanwhile. */
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

export async function rowsOf({ store }: AttachmentSource, stubs: readonly Stub[]): Promise<BlobRow[]> {
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

export async function loadData(source: AttachmentSource, row: BlobRow, type: string): Promise<BinaryData> {
  source.recent ??= new RecentBlobs();
  const kept = source.recent.get(row, type);
  if (kept !== undefined) return kept;
  const data = (source.bytes ?? portableBytes).toData(await load(source, row), type);
  source.recent.keep(row, type, data);
  return data;
}

export async function load(source: AttachmentSource, row: BlobRow): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  if (row.size <= CHUNK_BYTES && row.size > 0 && !isEncoded(row.blob)) {
    // The shortest way, which nearly all attachments take.
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
export async function* storedBytes(
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
 * A chunk is not there: its content was stored again elsewhere, or swept since its row was read, or lost by the storage.
 * @returns where the same bytes are now
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

export async function* gunzipped(stored: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
  yield* through(new DecompressionStream('gzip'), stored);
}
