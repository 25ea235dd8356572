/**
 * Opening and deleting the IndexedDB database, always with an outcome: an answer, or a clear error at the deadline (I10).
 *
 * An open request cannot be taken back; if it succeeds after the deadline, the connection is closed at once.
 */
import { after, type DatabaseError, inTime, ioError, notFound, STORAGE_LOST } from '@settledb/core';
import type { Blocked, DestroyOptions } from '@settledb/engine';
import type { Driver } from './driver';
import { isLostForGood, nameOf, storageError } from './failure';
import { createStores, FORMAT, PREFIX } from './schema';

/** More than a browser under load was ever seen to need; waiting longer helps nobody. */
export const OPEN_TIMEOUT_MS = 10_000;

/**
 * After this long without an answer the waiting caller is told. The browser reports nothing behind another tab's upgrade or deletion,
 * nor (Chromium) if the tab in the way stands still and cannot be asked.
 */
const SILENCE_MS = 1_000;

export interface OpenRequest {
  readonly driver: Driver;
  readonly name: string;
  readonly mustExist: boolean;
  readonly timeoutMs: number;
  /** For transactions: see watchdog.ts. */
  readonly answerTimeoutMs: number;
  /** The browser closed the connection by itself. */
  readonly terminated: () => void;
  /** Another context wants to delete (`null`) or upgrade the database and waits for this one to close. */
  readonly blocking: (newVersion: number | null) => void;
  /** The opening waits: reported once for each opening. */
  readonly blocked?: ((waiting: Blocked) => void) | undefined;
}

/**
 * @throws DatabaseError `not_found` when it must exist and does not; `io` when it is denied, blocked, without an answer until the
 *   deadline, or of a newer format
 */
export function openDatabase(request: OpenRequest): Promise<IDBDatabase> {
  const { name, timeoutMs } = request;
  return new Promise((resolve, reject) => {
    let over = false;
    let blocked = false;
    const tell = once(request.blocked);
    const attempt = (): void => {
      openOnce(request, () => {
        blocked = true;
        tell('upgrade');
      }).then(
        (db) => {
          if (over) db.close();
          else settle(() => resolve(db));
        },
        (error) => settle(() => reject(error)),
      );
    };
    const settle = (answer: () => void): void => {
      over = true;
      for (const stop of stops) stop();
      answer();
    };
    // Some releases of Safari 14 never answer the first open; a second one does (https://webkit.org/b/226547).
    const stops = [
      after(timeoutMs / 2, attempt),
      after(timeoutMs, () => settle(() => reject(silent(name, timeoutMs, blocked)))),
      after(Math.min(SILENCE_MS, timeoutMs / 2), () => tell('open')),
    ];
    attempt();
  });
}

/**
 * Resolves when the database is gone; also if there was none. A deletion cannot be taken back: one that is not done until the deadline is
 * done when who keeps the database open lets go, and until then nobody can open it.
 */
export async function deleteDatabase(
  driver: Driver,
  name: string,
  timeoutMs: number,
  { blocked: told, late }: DestroyOptions = {},
): Promise<void> {
  let blocked = false;
  // Not when the browser says so: WebKit (2.50) does of a connection that was closed just now, and 50 ms later the deletion is done.
  const stop = after(Math.min(SILENCE_MS, timeoutMs / 2), () => told?.('destroy'));
  try {
    const deleting = driver.deleteDB(PREFIX + name, {
      blocked() {
        blocked = true;
      },
    });
    await inTime(deleting, timeoutMs, () => {
      deleting.then(late, () => {});
      return silent(name, timeoutMs, blocked);
    });
  } catch (cause) {
    throw storageError(`Deleting database "${name}"`, cause);
  } finally {
    stop();
  }
}

function once(tell: ((waiting: Blocked) => void) | undefined): (waiting: Blocked) => void {
  let told = false;
  return (waiting) => {
    if (!told) tell?.(waiting);
    told = true;
  };
}

async function openOnce(request: OpenRequest, blocked: () => void, isAgain = false): Promise<IDBDatabase> {
  const { driver, name, mustExist } = request;
  let absent = false;
  let aborted: unknown;
  try {
    return await driver.openDB(PREFIX + name, FORMAT, {
      blocked,
      terminated: request.terminated,
      blocking: request.blocking,
      upgrade(fresh, oldVersion, upgrading) {
        upgrading.onabort = () => {
          aborted = upgrading.error; // the opening is rejected next, but only this error tells of a full disk
        };
        absent = oldVersion === 0 && mustExist;
        if (absent) upgrading.abort();
        else createStores(fresh, upgrading);
      },
    });
  } catch (cause) {
    if (absent) throw notFound('Database does not exist.');
    if (nameOf(cause) === 'VersionError') throw await ofNewerFormat(driver, name, cause);
    const why = aborted ?? cause;
    // A browser that removes the storage also aborts a running open (Chromium). A second open shows what is left.
    if (nameOf(why) === 'AbortError' && !isAgain) return openOnce(request, blocked, true);
    if (isLostForGood(why)) dispatchEvent(new Event(STORAGE_LOST));
    throw storageError(`Opening database "${name}" in IndexedDB`, why);
  }
}

async function ofNewerFormat(driver: Driver, name: string, cause: unknown): Promise<Error> {
  const db = await driver.openDB(PREFIX + name).catch(() => undefined);
  db?.close();
  return outdated(name, db?.version ?? 'unknown', cause);
}

/** Names both formats; nothing is changed. */
export function outdated(name: string, version: number | string, cause?: unknown): DatabaseError {
  const reason = `Database "${name}" is of format ${version}, this program reads format ${FORMAT}: update the program, or reload the page`;
  return ioError(reason, cause);
}

function silent(name: string, timeoutMs: number, blocked: boolean): Error {
  const who = blocked
    ? 'another tab or worker keeps it open and does not react'
    : 'the browser did not answer';
  return ioError(`Database "${name}" in IndexedDB: ${who} within ${timeoutMs} ms`);
}
