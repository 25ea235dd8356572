/**
 * The adapter that keeps databases in files (Node). A database is a folder; its name is the folder's path.
 *
 * One process at a time has a database open, and in it one journal: handles of a program share it by `location`.
 */
import { notFound } from '@settledb/core';
import type { Adapter, Journal } from '@settledb/engine';
import {
  BlobFiles,
  generations,
  type Lock,
  type Log,
  LogJournal,
  openLog,
  removeFolderIfEmpty,
  removeLogs,
  trouble,
} from '@settledb/log';
import { checkFolder, hasTraces, inFolder } from './folder';
import { takeLock } from './lock';
import { type NodeFiles, nodeFiles } from './node-files';
import { onNode } from './node-platform';
import { realPath } from './real-path';

export interface FileOptions {
  /** How to reach the disk, for tests that make calls fail. Default: Node's `fs`. */
  readonly files?: NodeFiles;
}

/** Journals of this process by location, so that `destroy` tells them, whichever adapter object opened them. */
const open = new Map<string, LogJournal>();

/**
 * Makes an adapter whose databases are folders, made with their parents as needed; relative paths count from the working
 * directory. With durability `strict` a write is on the disk when it is answered; with `relaxed` the system has it: it
 * outlives the process, not a loss of power.
 *
 * `open` rejects `locked` while another process (or another journal of this one) has the folder, `corrupt` when the log is
 * damaged, `bad_request` when the folder has other files and no database, and `io` when the folder cannot be written to or a newer
 * version wrote it. A log that was closed and that nobody touched since is not read again to look for damage: what rotted there is
 * `corrupt` when it is read.
 *
 * If somebody removes the files of an open database, it is lost; if somebody renames or replaces them, or takes its lock away, it cannot go
 * on: a `strict` write then rejects `io`, a `relaxed` one at the latest 100 ms after, and so does every later one.
 */
export function file(options: FileOptions = {}): Adapter {
  const files = options.files ?? nodeFiles;
  onNode();
  return {
    name: 'file',
    location: (name) => `file:${realPath(name)}`,
    resolve: realPath,
    async open(name, openOptions) {
      const folder = realPath(name);
      try {
        const missing = openOptions?.mustExist === true && generations(files, folder).length === 0;
        if (missing) throw notFound();
        checkFolder(files, folder);
        return await inFolder(files, folder, () => openFolder(files, folder));
      } catch (error) {
        throw trouble(folder, error);
      }
    },
    async destroy(name) {
      const folder = realPath(name);
      try {
        await destroyFolder(files, folder);
      } catch (error) {
        throw trouble(folder, error);
      }
    },
  };
}

async function openFolder(files: NodeFiles, folder: string): Promise<Journal> {
  const lock = await takeLock(files, folder);
  try {
    const log = await openLog(files, folder, lock);
    const journal = await journalOf(files, folder, lock, log);
    lock.clear();
    open.set(folder, journal);
    return journal;
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** If it fails it closes the log: when files are short, repeated failing opens must not keep one more open each time. */
async function journalOf(files: NodeFiles, folder: string, lock: Lock, log: Log): Promise<LogJournal> {
  try {
    return new LogJournal(files, folder, lock, log, (closed) => {
      if (open.get(folder) === closed) open.delete(folder);
    });
  } catch (error) {
    await log.close().catch(() => {});
    throw error;
  }
}

async function destroyFolder(files: NodeFiles, folder: string): Promise<void> {
  await open.get(folder)?.abandon();
  if (!hasTraces(files, folder)) return;
  const lock = await takeLock(files, folder);
  try {
    removeLogs(files, folder);
    // After a loss of power a log that came back must find its contents.
    await files.syncFolder(folder);
    BlobFiles.remove(files, folder);
    lock.clear();
  } finally {
    lock.release();
    await removeEmptied(files, folder);
  }
}

/** Also after a failure: an empty folder has no trace of a database, so nobody would remove it later. */
async function removeEmptied(files: NodeFiles, folder: string): Promise<void> {
  try {
    await files.syncFolder(folder);
  } finally {
    removeFolderIfEmpty(files, folder);
  }
}
