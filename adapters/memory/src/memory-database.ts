/**
 * What one database in memory holds, and the journals open on it. The maps are the storage: they outlive every journal.
 *
 * Every method runs in one turn of the event loop, so no commit can come between a check and what depends on it.
 */
import { contentGone } from '@settledb/core';
import {
  BLOCKS_PER_COMMIT,
  type Commit,
  type CommitRead,
  type JournalEvent,
  type JournalState,
  type Position,
  type Rewrite,
} from '@settledb/engine';

/** What a database tells the journals open on it. */
export interface Opened {
  tell(event: JournalEvent): void;
}

export class MemoryDatabase {
  readonly opened = new Set<Opened>();
  destroyed = false;
  /** Whether a rewriter is at work. */
  rewriting = false;
  /** How often anything was committed or rewritten: a journal that has seen this many changes has seen all. */
  changes = 0;

  #epoch = 0;
  #n = 0;
  #manifest: { readonly text: string; readonly through: number } | undefined;
  readonly #commits = new Map<number, CommitRead>();
  /** Segments and pages. Tails are in the commits. */
  readonly #blocks = new Map<number, string>();
  /** Chunks of content by place. */
  readonly blobs = new Map<string, readonly Uint8Array[]>();

  read(known?: Position): JournalState {
    const current = known !== undefined && known.epoch === this.#epoch;
    const commits: CommitRead[] = [];
    for (let n = (current ? known.n : (this.#manifest?.through ?? 0)) + 1; n <= this.#n; n++) {
      const commit = this.#commits.get(n);
      if (commit !== undefined) commits.push({ n, head: commit.head, tail: commit.tail });
    }
    return { epoch: this.#epoch, manifest: current ? undefined : this.#manifest, commits };
  }

  isAt({ epoch, n }: Position): boolean {
    return epoch === this.#epoch && n === this.#n;
  }

  /** Returns false, having done nothing, if the database is not at `expected`. */
  append(commit: Commit, expected: Position): boolean {
    if (!this.isAt(expected)) return false;
    const { n, segments, places = [], contents = [] } = commit;
    if (!places.every((place) => this.blobs.has(place))) throw contentGone();
    for (const { place, bytes } of contents) this.blobs.set(place, [new Uint8Array(bytes)]);
    // Another handle may never ask for the head, which is then never made. Segments can be dropped before their commit.
    this.#commits.set(
      n,
      segments.length + contents.length === 0 ? commit : { n, head: commit.head, tail: commit.tail },
    );
    for (const { id, text } of segments) this.#blocks.set(id, text);
    this.#n = n;
    this.changes++;
    return true;
  }

  /** As `append`. Without a manifest only the epoch must match. */
  rewrite(change: Rewrite, expected: Position): boolean {
    const { put = [], drop = [], manifest } = change;
    if (expected.epoch !== this.#epoch) return false;
    if (manifest !== undefined) {
      if (expected.n !== this.#n) return false;
      this.#manifest = { text: manifest.text, through: manifest.through };
      this.#epoch++;
    }
    for (const { id, text } of put) this.#blocks.set(id, text);
    for (const id of drop) this.#drop(id);
    this.changes++;
    return true;
  }

  load(id: number): string | undefined {
    return this.#blocks.get(id) ?? (this.#commits.get(id / BLOCKS_PER_COMMIT)?.tail || undefined);
  }

  blockIds(): number[] {
    const ids = [...this.#blocks.keys()];
    for (const { n, tail } of this.#commits.values()) if (tail !== '') ids.push(n * BLOCKS_PER_COMMIT);
    return ids;
  }

  /** Tells every open journal, and leaves them without a database. */
  destroy(): void {
    this.destroyed = true;
    for (const journal of this.opened) journal.tell({ type: 'destroyed' });
    this.opened.clear();
    this.#commits.clear();
    this.#blocks.clear();
    this.blobs.clear();
  }

  #drop(id: number): void {
    if (this.#blocks.delete(id)) return;
    const n = id / BLOCKS_PER_COMMIT;
    // A commit that the manifest does not cover has yet to be read, so it stays whoever asks to drop it.
    if (n <= (this.#manifest?.through ?? 0)) this.#commits.delete(n);
  }
}
