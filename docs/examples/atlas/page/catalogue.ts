/**
 * What the list and the map show: names of all documents in memory, filled once and kept current by the changes feed, wherever a
 * change comes from: this window, another tab, or a replication.
 */
import type { SettleDB } from 'settledb';
import { codeOf, type Place, positionOf, searchable } from './place';

export type Kind = Place['type'];

export interface Entry {
  readonly id: string;
  readonly kind: Kind;
  readonly name: string;
  readonly detail: string;
  /** Two letters, or a sign. */
  readonly code: string;
  readonly words: string;
  readonly conflicts: number;
  /** Latitude and longitude. */
  readonly position: readonly [number, number] | undefined;
}

/** Changes applied before anything is drawn again: a burst is one drawing. */
const DRAW_EVERY_MS = 60;

export class Catalogue {
  onChange: (ids: ReadonlySet<string>) => void = () => {};
  readonly #entries = new Map<string, Entry>();
  #sorted: Entry[] | undefined;
  #changed = new Set<string>();
  #drawing = false;

  get size(): number {
    return this.#entries.size;
  }

  get(id: string): Entry | undefined {
    return this.#entries.get(id);
  }

  /** Conflicts first, then by name. */
  all(): readonly Entry[] {
    this.#sorted ??= [...this.#entries.values()].sort(
      (a, b) => b.conflicts - a.conflicts || (a.words < b.words ? -1 : 1),
    );
    return this.#sorted;
  }

  /** Entries of that kind whose words contain all of `query`'s. */
  find(query: string, kind: Kind | undefined): readonly Entry[] {
    const words = searchable(query)
      .split(/\s+/)
      .filter((word) => word !== '');
    if (words.length === 0 && kind === undefined) return this.all();
    return this.all().filter(
      (entry) =>
        (kind === undefined || entry.kind === kind) && words.every((word) => entry.words.includes(word)),
    );
  }

  count(kind: Kind): number {
    let count = 0;
    for (const entry of this.#entries.values()) if (entry.kind === kind) count++;
    return count;
  }

  async follow(db: SettleDB<Place>): Promise<void> {
    const { rows, update_seq } = await db.allDocs({ include_docs: true, conflicts: true, update_seq: true });
    this.#sorted = undefined;
    for (const { doc } of rows) this.#take(doc);
    this.#draw();
    const feed = db.changes({ since: update_seq ?? 0, live: true, include_docs: true, conflicts: true });
    for await (const change of feed) {
      this.#sorted = undefined;
      if (change.deleted === true) this.#entries.delete(change.id);
      else if (change.doc) this.#take(change.doc);
      this.#changed.add(change.id);
      if (this.#drawing) continue;
      this.#drawing = true;
      setTimeout(() => this.#draw(), DRAW_EVERY_MS);
    }
  }

  #take(doc: Place & { _id: string; _conflicts?: readonly string[] }): void {
    if (doc._id.startsWith('_design/')) return;
    const detail =
      doc.type === 'city' ? (doc.country ?? '') : [doc.capital, doc.region].filter(Boolean).join(' · ');
    this.#entries.set(doc._id, {
      id: doc._id,
      kind: doc.type,
      name: doc.name ?? doc._id,
      detail,
      code: codeOf(doc),
      words: searchable(`${doc.name ?? ''} ${detail} ${doc.notes ?? ''}`),
      conflicts: doc._conflicts?.length ?? 0,
      position: positionOf(doc),
    });
  }

  #draw(): void {
    this.#drawing = false;
    const changed = this.#changed;
    this.#changed = new Set();
    this.onChange(changed);
  }
}
