/**
 * Content over a journal: gives places their names, and knows which of them writes of this context are about to name.
 */
import { type Blobs, type Durability, uuid } from '@settledb/core';
import type { Journal, Position } from './journal';

/** Writes of this context that may come in between while it sweeps, each time. What is left, the next compaction sweeps. */
const SWEEP_TRIES_MAX = 10;

export interface BlobHost {
  /** Fails when the store is of no more use. */
  check(): void;
  /** Up to where memory is. */
  position(): Position;
}

export class JournalBlobs implements Blobs {
  readonly #journal: Journal;
  readonly #host: BlobHost;
  /** Put, or being put, and not yet named by a row. */
  readonly #underWay = new Set<string>();

  constructor(journal: Journal, host: BlobHost) {
    this.#journal = journal;
    this.#host = host;
  }

  async put(
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: { readonly durability?: Durability | undefined } = {},
  ): Promise<string> {
    this.#host.check();
    const place = uuid();
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
    return this.#journal.blobs.get(place, index);
  }

  release(place: string): void {
    this.#underWay.delete(place);
  }

  async drop(places: readonly string[]): Promise<void> {
    for (const place of places) this.#underWay.delete(place);
    const some = places.filter((place) => place !== '');
    if (some.length > 0) await this.#journal.blobs.drop(some);
  }

  /**
   * What is dropped was listed, and is in no row of a moment after: then a commit that names it is refused. That nobody else is
   * there, and what is under way here, is looked at only to let their writes succeed.
   */
  async sweep(named: () => Promise<ReadonlySet<string>>): Promise<boolean> {
    for (let tries = 0; tries < SWEEP_TRIES_MAX; tries++) {
      this.#host.check();
      const places = await this.#journal.blobs.places();
      if (places.length === 0) return true;
      if (!this.#journal.alone()) return false;
      const underWay = new Set(this.#underWay);
      const position = this.#host.position();
      const inRows = await named();
      const unnamed = places.filter((place) => !underWay.has(place) && !inRows.has(place));
      if (unnamed.length === 0 || (await this.#journal.blobs.dropUnnamed(unnamed, position))) return true;
    }
    return false;
  }
}
