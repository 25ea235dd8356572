/** The files of one database as a log wants them, over handles that this context alone has. */
import { type FileState, type Files, join, LOOK_MS } from '@settledb/log';
import { type SyncHandle, tried, written } from './handles';
import { LargeFiles } from './large-files';
import { NAMES } from './names';
import { type NumberedFile, NumberedFiles } from './numbered-files';

const BLOBS = 'log.blobs/';
/** Contents that are not in packs: opened when they are wanted. */
const LARGE = /^log\.blobs\/[0-9a-f]{32}$/;
const PLACES = 'log.places';

/** What a descriptor stands for: a file by number, or a large content by name. */
interface Opened {
  readonly handle: SyncHandle;
  readonly file: NumberedFile | string;
}

export class OpfsFiles implements Files {
  /** Called when the files are no longer there. */
  onGone: () => void = () => {};
  readonly #folder: string;
  readonly #numbered: NumberedFiles;
  readonly #large: LargeFiles;
  readonly #open = new Map<number, Opened>();
  #fd = 0;
  #looking: ReturnType<typeof setTimeout> | undefined;

  /**
   * Opens what there is in `directory`.
   * @param folder stands for it in paths
   * @throws NoModificationAllowedError, or EBUSY, while another context has it open
   */
  static async open(directory: FileSystemDirectoryHandle, folder: string): Promise<OpfsFiles> {
    const numbered = await NumberedFiles.open(directory, join(folder, NAMES));
    try {
      const large = new LargeFiles(directory, () => numbered.isThere());
      await numbered.openAll();
      // What it did not bring to the disk is to be brought there.
      if (numbered.state.open) await large.look();
      return new OpfsFiles(folder, numbered, large);
    } catch (error) {
      numbered.closeAll();
      throw error;
    }
  }

  private constructor(folder: string, numbered: NumberedFiles, large: LargeFiles) {
    this.#folder = folder;
    this.#numbered = numbered;
    this.#large = large;
  }

  /** Whether the last owner did not say that it ended. */
  get leftOpen(): boolean {
    return this.#numbered.state.open;
  }

  /** Says that this context has the database open: on the disk once the folder is synced, which a writer waits for. */
  begin(): void {
    this.#numbered.state.open = true;
    tried(() => this.#numbered.state.write());
  }

  /** Closes everything, unless it is gone. @param isClean whether all that was written is on the disk */
  async end(isClean: boolean): Promise<void> {
    clearTimeout(this.#looking);
    const numbered = this.#numbered;
    await Promise.all([numbered.settled(), this.#large.settled()]);
    if (!(await numbered.isThere())) return;
    this.#large.closeAll();
    try {
      if (isClean) {
        numbered.state.open = false;
        numbered.state.write();
        numbered.state.flush();
      }
    } catch {
      // The next owner takes it for left open, and reads the log.
    } finally {
      numbered.closeAll();
    }
  }

  open(path: string): number {
    return this.#enter(this.#numbered.get(this.#nameOf(path)));
  }

  async openLater(path: string): Promise<number> {
    const name = this.#nameOf(path);
    if (!LARGE.test(name)) return this.open(path);
    this.#lookSoon();
    return this.#descriptor({ handle: await this.#large.open(last(name)), file: last(name) });
  }

  async make(path: string): Promise<number> {
    const name = this.#nameOf(path);
    this.#lookSoon();
    if (!LARGE.test(name)) return this.#enter(await this.#numbered.make(name));
    return this.#descriptor({ handle: await this.#large.make(last(name)), file: last(name) });
  }

  close(fd: number): void {
    const { file } = this.#opened(fd);
    this.#open.delete(fd);
    if (typeof file === 'string') this.#large.leave(file);
    else this.#numbered.leave(file);
  }

  writeSync(fd: number, data: Uint8Array, offset: number, length: number, position: number): number {
    this.#lookSoon();
    const from = data.subarray(offset, offset + length);
    return written(this.#opened(fd).handle, from, position);
  }

  async write(...call: Parameters<Files['write']>): Promise<number> {
    return this.writeSync(...call);
  }

  readSync(fd: number, data: Uint8Array, offset: number, length: number, position: number): number {
    const into = data.subarray(offset, offset + length);
    return tried(() => this.#opened(fd).handle.read(into, { at: position }));
  }

  async read(...call: Parameters<Files['read']>): Promise<number> {
    return this.readSync(...call);
  }

  async sync(fd: number): Promise<void> {
    tried(() => this.#opened(fd).handle.flush());
  }

  truncate(fd: number, length: number): void {
    tried(() => this.#opened(fd).handle.truncate(length));
  }

  /** Nobody else can change a file, so its length tells whether it is as it was left: a note is always younger than its log. */
  stat(fd: number): FileState {
    const { handle, file } = this.#opened(fd);
    const isNote = typeof file !== 'string' && file.name === PLACES;
    return { size: tried(() => handle.getSize()), changed: isNote ? 1 : 0 };
  }

  isAt(fd: number, path: string): boolean {
    const { file } = this.#opened(fd);
    return typeof file !== 'string' && file.name === this.#nameOf(path);
  }

  rename(from: string, to: string): void {
    this.#numbered.rename(this.#nameOf(from), this.#nameOf(to));
  }

  unlink(path: string): void {
    const name = this.#nameOf(path);
    if (LARGE.test(name)) this.#large.remove(last(name));
    else this.#numbered.remove(name);
  }

  async unlinkLarge(path: string): Promise<void> {
    this.unlink(path);
  }

  /** Other files are known anyway. */
  async prepareList(folder: string): Promise<void> {
    if (folder !== this.#folder) await this.#large.look();
  }

  list(folder: string): string[] {
    const { names } = this.#numbered;
    if (folder === this.#folder) return names.filter((name) => !name.includes('/'));
    return [...names.filter((name) => name.startsWith(BLOBS)).map(last), ...this.#large.names];
  }

  makeFolder(): undefined {
    return undefined;
  }

  removeFolder(): void {}

  async syncFolder(_folder: string, change?: () => void): Promise<void> {
    change?.();
    tried(() => this.#numbered.state.flush());
  }

  /** After whatever shows that the files are in use. */
  #lookSoon(): void {
    this.#looking ??= setTimeout(() => void this.#look(), LOOK_MS);
  }

  async #look(): Promise<void> {
    this.#looking = undefined;
    if (!(await this.#numbered.isThere())) this.onGone();
  }

  #nameOf(path: string): string {
    return path.slice(this.#folder.length + 1);
  }

  #enter(file: NumberedFile): number {
    file.users++;
    return this.#descriptor({ handle: file.handle, file });
  }

  #descriptor(opened: Opened): number {
    this.#open.set(++this.#fd, opened);
    return this.#fd;
  }

  #opened(fd: number): Opened {
    const opened = this.#open.get(fd);
    if (opened === undefined) throw Object.assign(new Error('EBADF: the file is closed'), { code: 'EBADF' });
    return opened;
  }
}

const last = (name: string): string => name.slice(name.lastIndexOf('/') + 1);
