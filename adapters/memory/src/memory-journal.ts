/**
 * One handle of a database in memory: what a tab is to IndexedDB.
 *
 * It knows how many changes it has seen. It is alone when no other journal is open and it has seen all changes: another may
 * have committed and left.
 */
import { closed, type Durability, inMicrotask } from '@settledb/core';
import type {
  BlobJournal,
  Commit,
  Journal,
  JournalEvent,
  JournalState,
  Position,
  Rewrite,
} from '@settledb/engine';
import { memoryBlobs } from './memory-blobs';
import type { MemoryDatabase, Opened } from './memory-database';

export class MemoryJournal implements Journal, Opened {
  readonly shared = true;
  readonly transient = true;
  readonly blobs: BlobJournal;
  readonly #database: MemoryDatabase;
  readonly #listeners = new Set<(event: JournalEvent) => void>();
  #seen = 0;
  #closed = false;

  constructor(database: MemoryDatabase) {
    this.#database = database;
    this.blobs = memoryBlobs(database, () => this.#check());
    database.opened.add(this);
  }

  alone(): boolean {
    return this.#database.opened.size === 1 && this.#seen === this.#database.changes && !this.#closed;
  }

  async read(known?: Position): Promise<JournalState> {
    this.#check();
    return this.#read(known);
  }

  async append(
    commit: Commit,
    expected: Position,
    _durability: Durability,
  ): Promise<JournalState | undefined> {
    return this.appendNow(commit, expected) ? undefined : this.#read(expected);
  }

  appendNow(commit: Commit, expected: Position): boolean {
    this.#check();
    if (commit.n !== expected.n + 1) throw new TypeError(`commit ${commit.n} cannot follow ${expected.n}`);
    if (!this.#database.append(commit, expected)) return false;
    this.#seen = this.#database.changes;
    this.#hint();
    return true;
  }

  async rewrite(change: Rewrite, expected: Position): Promise<JournalState | undefined> {
    this.#check();
    const current = this.#seen === this.#database.changes;
    if (!this.#database.rewrite(change, expected)) return this.#read(expected);
    // Without a manifest only the epoch was compared: others may have committed since this journal last looked.
    if (current || change.manifest !== undefined) this.#seen = this.#database.changes;
    this.#hint();
    return undefined;
  }

  async load(ids: readonly number[]): Promise<(string | undefined)[]> {
    this.#check();
    return ids.map((id) => this.#database.load(id));
  }

  async blockIds(): Promise<number[]> {
    this.#check();
    return this.#database.blockIds();
  }

  async exclusively(work: () => Promise<void>): Promise<boolean> {
    this.#check();
    const database = this.#database;
    if (database.rewriting) return false;
    database.rewriting = true;
    try {
      await work();
      return true;
    } finally {
      database.rewriting = false;
    }
  }

  listen(listener: (event: JournalEvent) => void): () => void {
    const own = (event: JournalEvent): void => listener(event);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#database.opened.delete(this);
    this.#listeners.clear();
  }

  /** Called by the database to report what others did. Listeners hear it in a microtask, as from another context. */
  tell(event: JournalEvent): void {
    for (const listener of this.#listeners) {
      inMicrotask(() => {
        if (this.#listeners.has(listener)) listener(event);
      });
    }
  }

  #read(known?: Position): JournalState {
    this.#seen = this.#database.changes;
    return this.#database.read(known);
  }

  #hint(): void {
    for (const journal of this.#database.opened) if (journal !== this) journal.tell({ type: 'commit' });
  }

  #check(): void {
    if (this.#closed || this.#database.destroyed) throw closed();
  }
}
