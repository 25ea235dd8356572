/**
 * The adapter that keeps databases in the origin's private file system (OPFS), by handles whose calls are synchronous. A database is a
 * directory, in `settledb`; in it is the same log as in Node (docs/file-format.md).
 *
 * One context at a time has a database open, and in it one journal: handles of a program share it by `location`.
 */
import { afterTimer, badRequest, locked, notFound, refusedHere, whyOf } from '@settledb/core';
import type { Adapter, Journal, OpenOptions } from '@settledb/engine';
import { generations, type Lock, LogJournal, openLog, trouble } from '@settledb/log';
import { Directories } from './directories';
import { coded, hasSyncHandles, nameOf } from './handles';
import { OpfsFiles } from './opfs-files';
import { HAND_OVER_MS, LOCKED, LOOK_AGAIN_MS, own } from './owner';

export interface OpfsOptions {
  /** Milliseconds to wait for another context that has the database open: 0 for not at all, `Infinity` for as long as it takes. Default 3,000. */
  readonly waitMs?: number;
  /** Stands in for `navigator.storage.getDirectory`. For tests. */
  readonly root?: () => Promise<FileSystemDirectoryHandle>;
}

/** Journals of this context by name, so that `destroy` tells them, whichever adapter object opened them. */
const open = new Map<string, LogJournal>();

/**
 * Makes an adapter for dedicated workers, where alone the browser has such files (Chromium 108, Firefox 111, Safari 16.4 or later). With
 * durability `strict` a write is on the disk when it is answered; with `relaxed` the system has it: it outlives the browser, not a loss
 * of power.
 *
 * `open` and `destroy` reject `bad_request` in other contexts, and `locked` while another tab or worker has the database open; they wait for
 * it for `waitMs`. `open` rejects `corrupt` when the log is damaged, and `io` when a newer version wrote it.
 */
export function opfs({ waitMs = HAND_OVER_MS, root }: OpfsOptions = {}): Adapter {
  if (typeof waitMs !== 'number' || !(waitMs >= 0))
    throw badRequest('waitMs must be a number of milliseconds');
  const directories = new Directories(root);
  return {
    name: 'opfs',
    location: (name) => `opfs:${name}`,
    open: (name, options) =>
      inPlace(name, root === undefined, async () => {
        const release = await own(name, waitMs);
        try {
          const directory = await directories.get(name, options?.mustExist !== true);
          return await openJournal(name, directory, waitMs, release, options);
        } catch (error) {
          release();
          throw nameOf(error) === 'NotFoundError' ? notFound() : error;
        }
      }),
    destroy: (name) =>
      inPlace(name, root === undefined, async () => {
        await open.get(name)?.abandon();
        const release = await own(name, waitMs);
        try {
          await whenFree(waitMs, async () => {
            // Of cleared data the handles are left, by which Chromium takes the files for open.
            await directories.get(name, false);
            await directories.remove(name);
          });
        } catch (error) {
          if (nameOf(error) !== 'NotFoundError') throw error;
        } finally {
          release();
        }
      }),
  };
}

async function openJournal(
  name: string,
  directory: FileSystemDirectoryHandle,
  waitMs: number,
  release: () => void,
  options: OpenOptions | undefined,
): Promise<Journal> {
  const folder = `opfs:${name}`;
  const files = await whenFree(waitMs, () => OpfsFiles.open(directory, folder));
  try {
    if (options?.mustExist === true && generations(files, folder).length === 0) throw notFound();
    const lock = lockOf(files, release);
    const log = await openLog(files, folder, lock);
    files.begin();
    const journal = new LogJournal(files, folder, lock, log, (closed) => {
      if (open.get(name) === closed) open.delete(name);
    });
    open.set(name, journal);
    files.onGone = () => void journal.abandon({ type: 'destroyed', evicted: true });
    return journal;
  } catch (error) {
    await files.end(false);
    throw error;
  }
}

/** Whether power was lost is not known: an owner that did not say that it ended may have been stopped by that. */
function lockOf(files: OpfsFiles, release: () => void): Lock {
  const { leftOpen } = files;
  const end = (isClean: boolean): Promise<void> => files.end(isClean).finally(release);
  return {
    leftOpen,
    lostPower: leftOpen,
    isHeld: () => true,
    clear: () => {},
    release: () => end(true),
    forsake: () => end(false),
  };
}

/** Handles of a context that has ended are free a moment after its lock. */
async function whenFree<T>(waitMs: number, work: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + waitMs; ; ) {
    try {
      return await work();
    } catch (error) {
      if (!isTaken(error)) throw error;
      if (performance.now() > end) throw locked(LOCKED);
    }
    await afterTimer(LOOK_AGAIN_MS);
  }
}

const isTaken = (error: unknown): boolean =>
  nameOf(error) === 'NoModificationAllowedError' || (error as { code?: string } | null)?.code === 'EBUSY';

async function inPlace<T>(name: string, isReal: boolean, work: () => Promise<T>): Promise<T> {
  if (isReal && !hasSyncHandles())
    throw badRequest(
      'the adapter opfs needs files that browsers have in dedicated workers only (Safari from 16.4 on): see host() of settledb/worker',
    );
  try {
    return await work();
  } catch (error) {
    const path = `opfs:${name}`;
    // Also where Firefox has a private window.
    if (nameOf(error) === 'SecurityError') throw refusedHere(`${path}: ${whyOf(error)}`, error);
    throw trouble(path, coded(error));
  }
}
