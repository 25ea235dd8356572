/**
 * The logs, notes and packs of one database, all kept open, under numbers (`names.ts`): so a log opens, renames and removes them at
 * once.
 */
import { corrupt } from '@settledb/core';
import { coded, nameOf, notFoundAt, openHandle, type SyncHandle, tried, triedLater } from './handles';
import { NAMES, Names } from './names';
import { UnderWay } from './under-way';

export interface NumberedFile {
  readonly handle: SyncHandle;
  readonly number: number;
  /** `undefined` once it was removed, or another took its place. */
  name: string | undefined;
  /** Those who have it open: it is removed after the last. */
  users: number;
}

/** A log that counts; not one that is being written. */
const LOG = /^log\.\d+$/;

export class NumberedFiles {
  readonly state: Names;
  readonly #directory: FileSystemDirectoryHandle;
  readonly #path: string;
  readonly #namesHandle: SyncHandle;
  readonly #files = new Map<string, NumberedFile>();
  readonly #removing = new UnderWay();

  /** @throws NoModificationAllowedError, or EBUSY, while another context has them open */
  static async open(directory: FileSystemDirectoryHandle, path: string): Promise<NumberedFiles> {
    const handle = await triedLater(() => openHandle(directory, NAMES, true));
    try {
      return new NumberedFiles(directory, handle, path);
    } catch (error) {
      handle.close();
      throw error;
    }
  }

  private constructor(directory: FileSystemDirectoryHandle, handle: SyncHandle, path: string) {
    this.#directory = directory;
    this.#path = path;
    this.#namesHandle = handle;
    this.state = tried(() => Names.read(handle, path));
  }

  get names(): readonly string[] {
    return [...this.#files.keys()];
  }

  /** Opens all that have names. */
  async openAll(): Promise<void> {
    const missing: string[] = [];
    const opening = [...this.state.numbers].map(async ([name, number]) => {
      try {
        const handle = await openHandle(this.#directory, this.#stored(number));
        this.#files.set(name, { handle, name, number, users: 0 });
      } catch (error) {
        if (nameOf(error) !== 'NotFoundError') throw coded(error);
        // A removal that came to the disk before the name's.
        this.state.numbers.delete(name);
        missing.push(name);
      }
    });
    const marking = triedLater(() => this.#directory.getFileHandle(this.#mark, { create: true }));
    // Those that were opened meanwhile can then be closed.
    await Promise.allSettled([...opening, marking]);
    await Promise.all([...opening, marking]);
    if (missing.some(isLog) && !this.names.some(isLog))
      throw corrupt(`${this.#path}: the file of ${missing.find(isLog)} is missing. Nothing was changed`);
    if (this.state.open) await this.#sweep();
  }

  /** @throws ENOENT */
  get(name: string): NumberedFile {
    const file = this.#files.get(name);
    if (file === undefined) throw notFoundAt(name);
    return file;
  }

  /** An empty file of this name. */
  async make(name: string): Promise<NumberedFile> {
    const known = this.#files.get(name);
    if (known !== undefined) {
      tried(() => known.handle.truncate(0));
      return known;
    }
    const number = this.state.newNumber();
    const handle = await this.#make(number);
    const file: NumberedFile = { handle, name, number, users: 0 };
    try {
      handle.truncate(0); // a number that was taken before a loss of power
      this.#name(file, name);
      return file;
    } catch (error) {
      this.#unname(name);
      this.#forget(file);
      throw coded(error);
    }
  }

  /** On the disk when it returns: what another file had by the new name is gone then. */
  rename(from: string, to: string): void {
    const file = this.get(from);
    const replaced = this.#files.get(to);
    this.#unname(from);
    try {
      this.#name(file, to);
      tried(() => this.state.flush());
    } catch (error) {
      // Which of the two the disk has is not known. Who asked for it writes no more to the one, and removes the other.
      this.#keep(file, from);
      if (replaced === undefined) this.#unname(to);
      else this.#keep(replaced, to);
      throw error;
    }
    if (replaced !== undefined) this.#forget(replaced);
  }

  remove(name: string): void {
    const file = this.get(name);
    this.#unname(name);
    try {
      tried(() => this.state.write());
    } catch (error) {
      this.#keep(file, name); // what the disk may have a name for is not removed
      throw error;
    }
    this.#forget(file);
  }

  /** One who had it open has it no more. */
  leave(file: NumberedFile): void {
    file.users--;
    this.#discardIfGone(file);
  }

  /**
   * Handles outlive the files that a browser, or a user who clears the site's data, takes away. Only asking tells, and in Chromium (156)
   * one that is closed then never returns.
   */
  async isThere(): Promise<boolean> {
    try {
      await this.#directory.getFileHandle(this.#mark);
      return true;
    } catch (error) {
      return nameOf(error) !== 'NotFoundError';
    }
  }

  /** Resolves when no removal is under way. */
  settled(): Promise<void> {
    return this.#removing.settled();
  }

  closeAll(): void {
    for (const { handle } of this.#files.values()) handle.close();
    this.#files.clear();
    this.#namesHandle.close();
  }

  /**
   * An empty file that tells this database from one that another context made anew in its place, who in Chromium (156) sees no lock of
   * those from before the clearing.
   */
  get #mark(): string {
    return `id-${this.state.id}`;
  }

  #stored(number: number): string {
    const { id } = this.state;
    return id === '' ? `f${number}` : `f${number}-${id}`;
  }

  async #make(number: number): Promise<SyncHandle> {
    try {
      return await triedLater(() => openHandle(this.#directory, this.#stored(number), true));
    } catch (error) {
      await this.#directory.removeEntry(this.#stored(number)).catch(() => {});
      throw error;
    }
  }

  #keep(file: NumberedFile, name: string): void {
    file.name = name;
    this.state.numbers.set(name, file.number);
    this.#files.set(name, file);
  }

  #name(file: NumberedFile, name: string): void {
    this.#keep(file, name);
    tried(() => this.state.write());
  }

  #unname(name: string): void {
    this.#files.delete(name);
    this.state.numbers.delete(name);
  }

  #forget(file: NumberedFile): void {
    file.name = undefined;
    this.#discardIfGone(file);
  }

  #discardIfGone(file: NumberedFile): void {
    if (file.name !== undefined || file.users > 0) return;
    // What cannot be removed is removed by an opening after a crash: it is no error.
    this.#removing.add(this.#discard(file));
  }

  async #discard({ handle, number }: NumberedFile): Promise<void> {
    if (!(await this.isThere())) return;
    handle.close();
    await this.#directory.removeEntry(this.#stored(number));
  }

  /** Removes files that no name is left for, or that never got one. Awaited, as their numbers may be given again. */
  async #sweep(): Promise<void> {
    const known = new Set([...this.state.numbers.values()].map((number) => this.#stored(number)));
    const left: string[] = [];
    const names = this.#directory as unknown as { keys(): AsyncIterable<string> };
    // One of the first builds that met a newer database made its own beside that one's files, which stay.
    const ours = this.state.id === '' ? /^f\d+$/ : /^f\d+-/;
    for await (const name of names.keys()) if (ours.test(name) && !known.has(name)) left.push(name);
    await Promise.allSettled(left.map((name) => this.#directory.removeEntry(name)));
  }
}

const isLog = (name: string): boolean => LOG.test(name);
