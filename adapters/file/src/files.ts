/**
 * The few calls by which the file adapter touches a disk. Tests pass their own, to fail the n-th call or to simulate a loss of power.
 *
 * Calls that only make or name files are synchronous: they are rare, and nothing can come between two of them. Small data moves by
 * synchronous calls (a promise costs more than the call), large data by asynchronous ones.
 */
import * as fs from 'node:fs';
import { dirname } from 'node:path';

/** `r` read, `r+` read and write, `w+` make or empty, `wx` make, fail if it exists. */
export type OpenFlag = 'r' | 'r+' | 'w+' | 'wx';

export interface FileState {
  readonly size: number;
  /** When anything in it, or about it, last changed: ms, in ticks of the file system's clock. No program can set it. */
  readonly changed: number;
}

export interface Files {
  open(path: string, flag: OpenFlag): number;
  close(fd: number): void;
  /** As the system's calls, it may move fewer bytes than asked. `length` bytes of `data` from `offset`. */
  writeSync(fd: number, data: Uint8Array, offset: number, length: number, position: number): number;
  write(fd: number, data: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  readSync(fd: number, data: Uint8Array, offset: number, length: number, position: number): number;
  read(fd: number, data: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  /** Resolves when the file's bytes and length are on the disk. */
  sync(fd: number): Promise<void>;
  truncate(fd: number, length: number): void;
  stat(fd: number): FileState;
  /** False if somebody removed the file, or renamed or replaced it or a folder it is in. */
  isAt(fd: number, path: string): boolean;
  rename(from: string, to: string): void;
  unlink(path: string): void;
  /** As `unlink`, for files that may be large: freeing their room keeps the system busy, some 100 ms per GB. */
  unlinkLarge(path: string): Promise<void>;
  /** Names in a folder; an empty list if there is no such folder. */
  list(folder: string): string[];
  /** Makes a folder with its parents; no error if it exists. Answers the first folder that it made. */
  makeFolder(folder: string): string | undefined;
  removeFolder(folder: string): void;
  /**
   * Resolves when the names in a folder are on the disk. `change`, to a name in it, is made when only the sync is left to do: if no
   * more files may be open, it is not made.
   */
  syncFolder(folder: string, change?: () => void): Promise<void>;
}

export type Reads = Pick<Files, 'read' | 'readSync'>;

/** The disk itself. */
export const nodeFiles: Files = {
  open: (path, flag) => fs.openSync(path, flag),
  close: (fd) => fs.closeSync(fd),
  writeSync: (fd, data, offset, length, position) => fs.writeSync(fd, data, offset, length, position),
  write: (fd, data, offset, length, position) =>
    settle((done) => fs.write(fd, data, offset, length, position, done)),
  readSync: (fd, data, offset, length, position) => fs.readSync(fd, data, offset, length, position),
  read: (fd, data, offset, length, position) =>
    settle((done) => fs.read(fd, data, offset, length, position, done)),
  sync: (fd) => settle((done) => fs.fdatasync(fd, done)),
  truncate: (fd, length) => fs.ftruncateSync(fd, length),
  stat(fd) {
    const { size, ctimeMs } = fs.fstatSync(fd);
    return { size, changed: ctimeMs };
  },
  isAt(fd, path) {
    const open = fs.fstatSync(fd);
    if (open.nlink === 0) return false;
    const named = statOf(path);
    if (typeof named !== 'object') return named === 'unknown';
    if (named.ino === open.ino && named.dev === open.dev) return true;
    // Some network file systems give a file a new number when it is looked up by name: it is the same file if it looks the same.
    return named.size === open.size && named.ctimeMs === open.ctimeMs;
  },
  rename: (from, to) => fs.renameSync(from, to),
  unlink: (path) => fs.unlinkSync(path),
  unlinkLarge: (path) => settle((done) => fs.unlink(path, done)),
  list(folder) {
    try {
      return fs.readdirSync(folder);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  },
  makeFolder(folder) {
    // Not by `recursive`: Node retries for ever if the system answers ENOENT, as it does below /proc.
    const missing: string[] = [];
    for (let each = folder; !fs.existsSync(each) && each !== dirname(each); each = dirname(each))
      missing.unshift(each);
    for (const each of missing) {
      try {
        fs.mkdirSync(each);
      } catch (error) {
        // If another process made it meanwhile, that is fine.
        if (codeOf(error) !== 'EEXIST') throw error;
      }
    }
    return missing[0];
  },
  removeFolder: (folder) => fs.rmdirSync(folder),
  async syncFolder(folder, change) {
    // Windows cannot open a folder; NTFS keeps names in its own log.
    if (process.platform === 'win32') return change?.();
    const fd = fs.openSync(folder, 'r');
    try {
      change?.();
      await settle<void>((done) => fs.fsync(fd, done));
    } catch (error) {
      // Some network file systems have no such call for folders; names in them are as durable as their server makes them.
      if (!NOT_FOR_FOLDERS.includes(codeOf(error))) throw error;
    } finally {
      fs.closeSync(fd);
    }
  },
};

/** A folder that may no longer be looked into may still hold the file. */
function statOf(path: string): fs.Stats | 'unknown' | undefined {
  try {
    return fs.statSync(path);
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? undefined : 'unknown';
  }
}

const NOT_FOR_FOLDERS: readonly unknown[] = ['EINVAL', 'ENOTSUP'];

/** The system's code for what went wrong (`ENOSPC`), if there is one. */
export function codeOf(error: unknown): string | undefined {
  return (error as { code?: string } | null)?.code;
}

/**
 * Closes a file without throwing. What was read has been checked, and what was written is not trusted before it is synced. An error
 * thrown here would hide what happened before, and prevent what is to follow.
 */
export function closeQuietly(files: Files, fd: number): void {
  try {
    files.close(fd);
  } catch {
    // The system has released the descriptor all the same.
  }
}

function settle<T>(call: (done: (error: Error | null, value?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, value) => (error === null ? resolve(value as T) : reject(error)));
  });
}
