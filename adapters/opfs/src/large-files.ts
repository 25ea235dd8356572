/**
 * Contents in files of their own, which are opened when they are wanted: a handle kept open for each would cost the browser a descriptor.
 * A file can have one handle only, so those who want it at the same time share it.
 */
import { coded, nameOf, notFoundAt, openHandle, type SyncHandle, triedLater } from './handles';

/** Within the database's directory. */
const FOLDER = 'blobs';

interface Shared {
  readonly opening: Promise<SyncHandle>;
  /** Once it is open. */
  handle?: SyncHandle;
  users: number;
  /** To be removed when nobody has it open. */
  isGone: boolean;
}

export class LargeFiles {
  readonly #directory: FileSystemDirectoryHandle;
  #folder: Promise<FileSystemDirectoryHandle> | undefined;
  readonly #names = new Set<string>();
  readonly #open = new Map<string, Shared>();
  readonly #removing = new Set<Promise<unknown>>();

  constructor(directory: FileSystemDirectoryHandle) {
    this.#directory = directory;
  }

  /** Finds what earlier openings made. */
  async look(): Promise<void> {
    try {
      this.#folder = this.#directory.getDirectoryHandle(FOLDER);
      const names = (await this.#folder) as unknown as { keys(): AsyncIterable<string> };
      for await (const name of names.keys()) this.#names.add(name);
    } catch (error) {
      this.#folder = undefined;
      if (nameOf(error) !== 'NotFoundError') throw error;
    }
  }

  get names(): Iterable<string> {
    return this.#names;
  }

  async make(name: string): Promise<SyncHandle> {
    const handle = await this.#enter(name, true);
    this.#names.add(name);
    try {
      handle.truncate(0);
      return handle;
    } catch (error) {
      this.leave(name);
      throw coded(error);
    }
  }

  /** To be left ({@link leave}). */
  async open(name: string): Promise<SyncHandle> {
    if (!this.#names.has(name)) throw notFoundAt(name);
    return this.#enter(name, false);
  }

  leave(name: string): void {
    const shared = this.#open.get(name);
    if (shared === undefined || --shared.users > 0) return;
    this.#open.delete(name);
    shared.handle?.close();
    if (shared.isGone) this.#keep(this.#removeNow(name));
  }

  /** What cannot be removed is found by a later sweep: it is no error. */
  remove(name: string): void {
    if (!this.#names.delete(name)) throw notFoundAt(name);
    const shared = this.#open.get(name);
    if (shared === undefined) this.#keep(this.#removeNow(name));
    else shared.isGone = true;
  }

  /** Resolves when no removal is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#removing);
  }

  /** Closes what is open. */
  closeAll(): void {
    for (const { handle } of this.#open.values()) handle?.close();
    this.#open.clear();
  }

  async #enter(name: string, create: boolean): Promise<SyncHandle> {
    let shared = this.#open.get(name);
    if (shared === undefined) {
      shared = { opening: this.#handle(name, create), users: 0, isGone: false };
      this.#open.set(name, shared);
    }
    shared.users++;
    try {
      shared.handle = await shared.opening;
      return shared.handle;
    } catch (error) {
      if (--shared.users === 0 && this.#open.get(name) === shared) this.#open.delete(name);
      throw error;
    }
  }

  #handle(name: string, create: boolean): Promise<SyncHandle> {
    return triedLater(async () => {
      this.#folder ??= this.#directory.getDirectoryHandle(FOLDER, { create: true });
      return openHandle(await this.#folder, name, create);
    });
  }

  async #removeNow(name: string): Promise<void> {
    await (await this.#folder)?.removeEntry(name);
  }

  #keep(work: Promise<unknown>): void {
    const settled = work
      .catch(() => {})
      .then(() => {
        this.#removing.delete(settled);
      });
    this.#removing.add(settled);
  }
}
