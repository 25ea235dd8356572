/**
 * Content over a journal: gives places their names, and knows which places the writes of this context are about to name.
 */
import { type Blobs, type Durability, uuid } from '@settledb/core';
import type { Commit, Journal, Position } from './journal';

/** How often writes of this context may interrupt a sweep. What is then left is swept by the next compaction. */
const SWEEP_TRIES_MAX = 10;

/** Most bytes of small contents that are held back for their commits; further ones are put at once. */
const STAGED_BYTES = 8 * 1024 * 1024;
/** Bytes of small contents kept in memory: what a page shows again and again. */
const CACHED_BYTES = 8 * 1024 * 1024;
/** Larger content is not kept: a few would push out all others. */
const CACHED_MAX = 256 * 1024;
/** Most contents kept, however small: each takes some 350 bytes beside its own. */
export const CACHED_COUNT = 16 * 1024;

export interface BlobLimits {
  /** Most bytes of content held back for commits. Default {@link STAGED_BYTES}; 0: none. */
  readonly stagedBytes?: number | undefined;
  /** Most bytes of content kept in memory. Default {@link CACHED_BYTES}. */
  readonly cachedBytes?: number | undefined;
}

interface BlobHost {
  /** Throws when the store can no longer be used. */
  check(): void;
  /** The position of the state in memory. */
  position(): Position;
}

export class JournalBlobs implements Blobs {
  readonly #journal: Journal;
  readonly #host: BlobHost;
  /** Places that are put, or being put, and that no row names yet. */
  readonly #underWay = new Set<string>();
  /** Contents of one chunk, to be put with the commit that names them: that saves a transaction, and a leftover. */
  readonly #staged = new Map<string, Uint8Array>();
  #room: number;
  /** Whole contents by place, the least recently used first. A place never holds other bytes. */
  readonly #cache = new Map<string, Uint8Array>();
  #cachedBytes = 0;
  readonly #cacheLimit: number;

  constructor(journal: Journal, host: BlobHost, limits: BlobLimits) {
    this.#journal = journal;
    this.#host = host;
    this.#room = limits.stagedBytes ?? STAGED_BYTES;
    this.#cacheLimit = limits.cachedBytes ?? CACHED_BYTES;
  }

  async put(
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: { readonly durability?: Durability | undefined } = {},
  ): Promise<string> {
    this.#host.check();
    const only = (chunks as Uint8Array[]).length === 1 ? (chunks as Uint8Array[])[0] : undefined;
    const place = (only && this.#journal.blobs.placeFor?.(only.length)) || uuid();
    if (only && only.length <= this.#room) {
      this.#room -= only.length;
      this.#staged.set(place, only);
      return place;
    }
    this.#underWay.add(place);
    try {
      await this.#journal.blobs.put(place, chunks, options.durability ?? 'relaxed');
    } catch (error) {
      this.#underWay.delete(place);
      throw error;
    }
    return place;
  }

  async get(place: string, index: number): Promise<Uint8Array | undefined> {
    this.#host.check();
    if (index > 0) return this.#journal.blobs.get(place, index);
    const known = this.#staged.get(place) ?? this.#cache.get(place);
    const chunk = known ?? (await this.#journal.blobs.get(place, 0));
    if (chunk !== undefined) this.#keep(place, chunk);
    // A reader may do with the bytes what it likes.
    return chunk && this.#cache.has(place) ? new Uint8Array(chunk) : chunk;
  }

  #keep(place: string, chunk: Uint8Array): void {
    if (chunk.length > CACHED_MAX) return;
    this.#forget(place);
    this.#cache.set(place, ownBytes(chunk));
    this.#cachedBytes += chunk.length;
    for (const oldest of this.#cache.keys()) {
      if (this.#cachedBytes <= this.#cacheLimit && this.#cache.size <= CACHED_COUNT) return;
      this.#forget(oldest);
    }
  }

  #forget(place: string): void {
    this.#cachedBytes -= this.#cache.get(place)?.length ?? 0;
    this.#cache.delete(place);
  }

  /** `commit`, the first to name `places`, in the form for the journal. */
  naming({ n, head, tail, segments }: Commit, places: readonly string[]): Commit {
    const commit = { n, head, tail, segments }; // each by name: a head made on demand is not spread
    const contents = places.flatMap((place) => {
      const bytes = this.#staged.get(place);
      return bytes === undefined ? [] : { place, bytes };
    });
    if (contents.length === 0) return { ...commit, places };
    const put = places.filter((place) => !this.#staged.has(place));
    return put.length === 0 ? { ...commit, contents } : { ...commit, places: put, contents };
  }

  release(place: string): void {
    this.#underWay.delete(place);
    const bytes = this.#staged.get(place);
    if (bytes !== undefined) this.#keep(place, bytes); // what was just written is read next
    this.#unstage(place);
  }

  async drop(places: readonly string[]): Promise<void> {
    const put = places.filter((place) => place !== '' && !this.#unstage(place));
    for (const place of put) {
      this.#underWay.delete(place);
      this.#forget(place);
    }
    if (put.length > 0) await this.#journal.blobs.drop(put);
  }

  #unstage(place: string): boolean {
    const bytes = this.#staged.get(place);
    this.#room += bytes?.length ?? 0;
    return this.#staged.delete(place);
  }

  /**
   * A dropped place was listed first, and then found to be in no row: a commit that names it afterwards is refused. Sweeping only
   * while alone, and sparing what is under way here, only lets such writes succeed.
   */
  async sweep(named: () => Promise<ReadonlySet<string>>): Promise<boolean> {
    for (let tries = 0; tries < SWEEP_TRIES_MAX; tries++) {
      this.#host.check();
      const places = await this.#journal.blobs.places();
      if (places.length === 0) return true;
      if (!this.#journal.alone()) return false;
      // Staged contents too: the file journal puts them before their commit.
      const underWay = new Set([...this.#underWay, ...this.#staged.keys()]);
      const position = this.#host.position();
      const inRows = await named();
      const unnamed = places.filter((place) => !underWay.has(place) && !inRows.has(place));
      if (unnamed.length === 0 || (await this.#journal.blobs.dropUnnamed(unnamed, position))) return true;
    }
    return false;
  }
}

/** Bytes that keep little else in memory: Node cuts small ones out of blocks of 8 KB, and each would keep its block. */
const ownBytes = (bytes: Uint8Array): Uint8Array =>
  bytes.length * 2 > bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
