/**
 * Turns the platform's exceptions into a database's errors. They are told apart by name alone: newer browsers have made some of them
 * separate classes (QuotaExceededError), and a bundle may meet exceptions of another realm.
 */
import {
  corrupt,
  type DatabaseError,
  ioError,
  isDatabaseError,
  quotaExceeded,
  refusedHere,
} from '@settledb/core';

/**
 * @param what the operation that failed, as the start of a sentence: `Opening database "notes"`
 * @returns `quota_exceeded` for a full disk, `corrupt` for a value that is lost, a DatabaseError or a TypeError (wrong use) as it is, and `io` with the cause's name for all else
 */
export function storageError(what: string, cause: unknown): DatabaseError | TypeError {
  if (isDatabaseError(cause) || cause instanceof TypeError) return cause;
  if (isFull(cause) || cause instanceof NotTaken) return quotaExceeded(cause);
  const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  const failed = `${what} failed: ${text}`;
  // Chromium, of a value that it kept in a file which is gone (pieces.ts): for good, so nobody should ask for it again.
  if (nameOf(cause) === 'NotReadableError') return corrupt(failed, cause);
  return nameOf(cause) === 'SecurityError' ? refusedHere(failed, cause) : ioError(failed, cause);
}

/**
 * The error of an aborted write in WebKit, which says of a full disk that a record could not be stored or deleted, or nothing at all
 * if the commit failed (2.50). It says the same of an app that is being suspended: so the write is looked for and tried again.
 */
export class NotTaken extends Error {
  constructor(cause: unknown) {
    super(`The storage did not take the write${cause ? `: ${(cause as Error).message}` : ''}`, { cause });
  }
}

/** @param cause of an aborted write in WebKit; other failures have other errors */
export const isUnsaid = (cause: unknown): boolean =>
  !cause || (nameOf(cause) === 'UnknownError' && /record/.test((cause as Error).message));

/** WebKit refuses this context its storage from now on (2.50): what it says whenever a database is opened after its storage process ended. */
export const isLostForGood = (cause: unknown): boolean =>
  nameOf(cause) === 'UnknownError' && /server lost/.test((cause as Error).message);

/** The browser says that the storage is full. */
export const isFull = (cause: unknown): boolean => nameOf(cause) === 'QuotaExceededError';

/** True when the storage has definitely refused: the transaction was not done, and repeating it would not help. */
export function isRefusal(cause: unknown): boolean {
  if (isDatabaseError(cause) || cause instanceof TypeError) return true;
  return ['QuotaExceededError', 'DataError', 'DataCloneError', 'NotFoundError'].includes(nameOf(cause));
}

export function nameOf(cause: unknown): string {
  return (cause as { name?: unknown } | null | undefined)?.name?.toString() ?? '';
}
