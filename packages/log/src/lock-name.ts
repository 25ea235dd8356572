/**
 * Brings the name of an owner's lock to the disk: by that name the next owner learns that power was lost. Writers wait for it, readers
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

  /** `lost` is told of a failed sync, and answers what is reported to those who wait for it. */
  constructor(files: Files, folder: string, lost: (error: unknown) => Error) {
    this.#files = files;
    this.#folder = folder;
    this.#lost = lost;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** One sync serves all who ask meanwhile. It may be asked for again after a rejection that was not reported to `lost`. */
  sync(): Promise<void> {
    this.#syncing ??= this.#sync();
    return this.#syncing;
  }

  /** Resolves when no sync is running. */
  async settled(): Promise<void> {
    await this.#syncing?.catch(() => {});
  }

  async #sync(): Promise<void> {
    try {
      await this.#files.syncFolder(this.#folder);
      this.#isSynced = true;
    } catch (error) {
      // If no more files may be open the sync never began: the next writer tries again.
      throw isOutOfFiles(error) ? trouble(this.#folder, error) : this.#lost(error);
    } finally {
      this.#syncing = undefined;
    }
  }
}
