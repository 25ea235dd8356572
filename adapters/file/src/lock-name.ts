/**
 * The name of an owner's lock, on its way to the disk: by it the next owner knows that power was lost. Writers wait for it, readers
 * need not.
 */
import type { Files } from './files';
import { isOutOfFiles, trouble } from './trouble';

export class LockName {
  readonly #files: Files;
  readonly #folder: string;
  readonly #lost: (error: unknown) => Error;
  #isSynced = false;
  #syncing: Promise<void> | undefined;

  /** `lost` is told of a sync that failed, and answers what those who wait for it are told. */
  constructor(files: Files, folder: string, lost: (error: unknown) => Error) {
    this.#files = files;
    this.#folder = folder;
    this.#lost = lost;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** One serves all who ask meanwhile. May be asked again where it rejects with what `lost` was not told of. */
  sync(): Promise<void> {
    this.#syncing ??= this.#sync();
    return this.#syncing;
  }

  /** Resolves when no sync is under way. */
  async settled(): Promise<void> {
    await this.#syncing?.catch(() => {});
  }

  async #sync(): Promise<void> {
    try {
      await this.#files.syncFolder(this.#folder);
      this.#isSynced = true;
    } catch (error) {
      // Where no more files may be open it was not begun: the next writer tries again.
      throw isOutOfFiles(error) ? trouble(this.#folder, error) : this.#lost(error);
    } finally {
      this.#syncing = undefined;
    }
  }
}
