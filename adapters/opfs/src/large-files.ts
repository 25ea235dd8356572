/**
 * Contents in files of their own, which are opened when they are wanted: a handle kept open for each would cost the browser a descriptor.
 * A file can have one handle only, so those who want it at the same time share it.
 */
import { coded, nameOf, openHandle, type SyncHandle, triedLater } from './handles';
import { UnderWay } from './under-way';

/** Within the database's directory. */
const FOLDER = 'blobs';

interface Shared {
  readonly opening: Promise<SyncHandle>;
  /** Once it is open. */
  handle?: SyncHandle;
  users: number;
  /** Resolves when it is closed. Whoever wants it then opens it anew. */
  closing?: Promise<void>;
  /** To be removed when nobody has it open. */
  isGone: boolean;
}

export class LargeFiles {
  readonly #directory: FileSystemDirectoryHandle;
  readonly #isThere: () => Promise<boolean>;
  #folder: Promise<FileSystemDirectoryHandle> | undefined;
  /** Those made here, and once it was looked for them, all. */
  readonly #names = new Set<string>();
  readonly #open = new Map<string, Shared>();
  /** Closings and removals under way. */
  readonly #ending = new UnderWay();

  /** @param isThere whether handles may be closed */
  constructor(directory: FileSystemDirectoryHandle, isThere: () => Promise<boolean>) {
    this.#directory = directory;
    this.#isThere = isThere;
  }

  /** Finds what earlier openings made. Takes some 0.1 ms for each. */
  async look(): Promise<void> {
    // What was removed, and is being removed, is no longer there.
    await this.settled();
    try {
      const folder = (await this.#in(false)) as unknown as { keys(): AsyncIterable<string> };
      for await (const name of folder.keys()) this.#names.add(name);
    } catch (error) {
      if (nameOf(error) !== 'NotFoundError') throw coded(error);
    }
  }

  get names(): Iterable<string> {
    return this.#names;
  }

  /** An empty one, to be left. */
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

  /** To be left ({@link leave}). @throws ENOENT */
  open(name: string): Promise<SyncHandle> {
    return this.#enter(name, false);
  }

  leave(name: string): void {
    const shared = this.#open.get(name);
    if (shared === undefined || --shared.users > 0) return;
    shared.closing = this.#close(name, shared);
    this.#ending.add(shared.closing);
  }

  /** What is not there, or cannot be removed, is no error: a later sweep finds it. */
  remove(name: string): void {
    this.#names.delete(name);
    const shared = this.#open.get(name);
    if (shared === undefined) this.#ending.add(this.#removeNow(name));
    else shared.isGone = true;
  }

  /** Resolves when nothing is being closed or removed. */
  settled(): Promise<void> {
    return this.#ending.settled();
  }

  /** Closes what is still open. What is only being opened is closed when it is left. */
  closeAll(): void {
    for (const [name, { handle }] of this.#open) {
      if (handle === undefined) continue;
      handle.close();
      this.#open.delete(name);
    }
  }

  async #enter(name: string, create: boolean): Promise<SyncHandle> {
    let shared = this.#open.get(name);
    for (; shared?.closing !== undefined; shared = this.#open.get(name)) await shared.closing;
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
    return triedLater(async () => openHandle(await this.#in(create), name, create));
  }

  #in(create: boolean): Promise<FileSystemDirectoryHandle> {
    this.#folder ??= this.#directory.getDirectoryHandle(FOLDER, { create }).catch((error) => {
      this.#folder = undefined;
      throw error;
    });
    return this.#folder;
  }

  async #close(name: string, shared: Shared): Promise<void> {
    try {
      if (await this.#isThere()) shared.handle?.close();
    } finally {
      this.#open.delete(name);
    }
    if (shared.isGone) await this.#removeNow(name);
  }

  async #removeNow(name: string): Promise<void> {
    await (await this.#in(false)).removeEntry(name);
  }
}
