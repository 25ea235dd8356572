/**
 * The private file system of an origin, in memory: it can fail, lose power, and lose the context that has files open. Over the disk of
 * the file adapter's tests; the system's errors come as a browser's.
 */
import { vi } from 'vitest';
import type { SyncHandle } from '../../adapters/opfs/src/handles';
import { Disk } from '../file/disk';

// Node's own Web Locks (from 24.5 on) would outlast the contexts that end here. Without locks the files have one owner, too.
vi.stubGlobal('navigator', undefined);

const ERRORS: Record<string, string> = { ENOENT: 'NotFoundError', ENOSPC: 'QuotaExceededError' };

export class FakeOpfs {
  readonly disk = new Disk();
  readonly #folders = new Set(['/']);
  /** Files that a context has open. */
  readonly #held = new Map<string, number>();
  /** How it refuses to open a file that is open: WebKit says that the handle's state is invalid. */
  taken = 'NoModificationAllowedError';
  /** What opening a file waits for. */
  beforeOpening = (_path: string): Promise<void> | undefined => undefined;

  readonly root = async (): Promise<FileSystemDirectoryHandle> => this.#directory('/');

  /** The context ends; what it wrote is there. */
  kill(): void {
    this.#held.clear();
    this.disk.kill();
  }

  powerLoss(chance: () => number): void {
    this.#held.clear();
    this.disk.powerLoss(chance);
  }

  paths(): string[] {
    return [...this.#folders].flatMap((folder) => this.#files(folder));
  }

  /** The browser takes all files away; handles go on with what nobody finds. */
  evict(): void {
    for (const file of this.paths()) this.disk.unlink(file);
    this.#folders.clear();
    this.#folders.add('/');
    this.#held.clear();
  }

  get openFiles(): number {
    return this.#held.size;
  }

  #directory(path: string): FileSystemDirectoryHandle {
    const at = (name: string): string => `${path === '/' ? '' : path}/${name}`;
    const directory = {
      kind: 'directory',
      getDirectoryHandle: async (name: string, { create = false } = {}) => {
        if (!this.#folders.has(path) || (!create && !this.#folders.has(at(name))))
          throw failed('NotFoundError');
        this.#folders.add(at(name));
        return this.#directory(at(name));
      },
      getFileHandle: async (name: string, { create = false } = {}) => {
        if (!this.#folders.has(path)) throw failed('NotFoundError');
        if (!this.disk.list(path).includes(name)) {
          if (!create) throw failed('NotFoundError');
          this.disk.close(this.disk.make(at(name)));
        }
        const createSyncAccessHandle = async (): Promise<SyncHandle> => {
          await this.beforeOpening(at(name));
          return this.#handle(at(name));
        };
        return { kind: 'file', createSyncAccessHandle };
      },
      removeEntry: async (name: string, { recursive = false } = {}) => {
        const inner = [...this.#folders].filter(
          (each) => each === at(name) || each.startsWith(`${at(name)}/`),
        );
        const files =
          recursive && inner.length > 0 ? inner.flatMap((folder) => this.#files(folder)) : [at(name)];
        if (files.some((each) => this.#held.has(each))) throw failed('NoModificationAllowedError');
        for (const file of files) call(() => this.disk.unlink(file));
        for (const folder of inner) this.#folders.delete(folder);
      },
      keys: async function* (this: void) {
        yield* names();
      },
    };
    const names = (): string[] => this.disk.list(path);
    return directory as unknown as FileSystemDirectoryHandle;
  }

  #files(folder: string): string[] {
    return this.disk.list(folder).map((name) => `${folder}/${name}`);
  }

  #handle(path: string): SyncHandle {
    if (this.#held.has(path)) throw failed(this.taken);
    const fd = call(() => this.disk.open(path, 'r+'));
    this.#held.set(path, fd);
    const { disk } = this;
    return {
      read: (into, { at }) => call(() => disk.readSync(fd, into, 0, into.length, at)),
      write: (from, { at }) => call(() => disk.writeSync(fd, from, 0, from.length, at)),
      truncate: (bytes) => call(() => disk.truncate(fd, bytes)),
      getSize: () => call(() => disk.stat(fd).size),
      flush: () =>
        call(() => {
          disk.flush(fd);
          disk.keepName(path);
        }),
      close: () => {
        if (this.#held.get(path) !== fd) return;
        this.#held.delete(path);
        disk.close(fd);
      },
    };
  }
}

const failed = (name: string): DOMException => new DOMException(`${name}: injected`, name);

function call<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    const name = ERRORS[(error as { code?: string }).code ?? ''];
    throw name === undefined ? error : failed(name);
  }
}
