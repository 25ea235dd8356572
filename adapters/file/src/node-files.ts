/** The disk, through Node's `fs`. */
import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { codeOf, type Files, type OpenFlag } from '@settledb/log';

/** What a lock needs besides. */
export interface NodeFiles extends Files {
  /** `wx`: makes the file, and fails if it exists. */
  open(path: string, flag: OpenFlag | 'wx'): number;
}

/** The disk itself. */
export const nodeFiles: NodeFiles = {
  open: (path, flag) => fs.openSync(path, flag),
  openLater: (path, flag) => fs.openSync(path, flag),
  make: (path) => fs.openSync(path, 'w+'),
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
      await settle<void>((done) => fs.fsync(fd, done)).catch((error) => {
        // Some network file systems have no such call for folders; names in them are as durable as their server makes them.
        if (!NOT_FOR_FOLDERS.includes(codeOf(error))) throw error;
      });
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

function settle<T>(call: (done: (error: Error | null, value?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, value) => (error === null ? resolve(value as T) : reject(error)));
  });
}
