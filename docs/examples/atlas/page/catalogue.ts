/**
 * What the list shows: names of all documents in memory, filled once and kept current by the changes feed, wherever a change
 * comes from: this window, another tab, or a replication.
 */
import type { SettleDB } from 'settledb';
import { type Place, searchable } from './place';

export interface Entry {
  readonly id: string;
  readonly name: string;
  readonly detail: string;
  readonly flag: string;
  readonly words: string;
  readonly conflicts: number;
}

/** Changes applied before the list is drawn again: a burst is one drawing. */
const DRAW_EVERY_MS = 60;

export class Catalogue {
  readonly #entries = new Map<string, Entry>();
  readonly #onChange: (ids: ReadonlySet<string>) => void;
  #changed = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(onChange: (ids: ReadonlySet<string>) => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#entries.size;
  }

  async follow(db: SettleDB<Place>): Promise<void> {
    const { rows, update_seq } = await db.allDocs({ include_docs: true, conflicts: true, update_seq: true });
    for (const row of rows) if ('doc' in row && row.doc) this.#take(row.doc);
    this.#draw();
    const feed = db.changes({ since: update_seq ?? 0, live: true, include_docs: true, conflicts: true });
    for await (const change of feed) {
      if (change.deleted === true) this.#entries.delete(change.id);
      else if (change.doc) this.#take(change.doc);
      this.#changed.add(change.id);
      this.#timer ??= setTimeout(() => this.#draw(), DRAW_EVERY_MS);
    }
  }

  /** At most `limit` entries whose words contain all of `query`'s, by name. */
  find(query: string, limit: number): { entries: Entry[]; total: number } {
    const words = searchable(query)
      .split(/\s+/)
      .filter((word) => word !== '');
    const found = [...this.#entries.values()].filter((entry) =>
      words.every((word) => entry.words.includes(word)),
    );
    found.sort((a, b) => b.conflicts - a.conflicts || (a.words < b.words ? -1 : 1));
    return { entries: found.slice(0, limit), total: found.length };
  }

  #take(doc: Place & { _id: string; _conflicts?: readonly string[] }): void {
    if (doc._id.startsWith('_design/')) return;
    const detail =
      doc.type === 'city' ? (doc.country ?? '') : [doc.capital, doc.region].filter(Boolean).join(' · ');
    this.#entries.set(doc._id, {
      id: doc._id,
      name: doc.name ?? doc._id,
      detail,
      flag: doc.flag ?? (doc.type === 'city' ? '🏙️' : '📍'),
      words: searchable(`${doc.name ?? ''} ${detail} ${doc.notes ?? ''}`),
      conflicts: doc._conflicts?.length ?? 0,
    });
  }

  #draw(): void {
    this.#timer = undefined;
    const changed = this.#changed;
    this.#changed = new Set();
    this.#onChange(changed);
  }
}
