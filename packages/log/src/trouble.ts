/** Translates errors of the system into errors of a database. */
import { badRequest, DatabaseError, ioError, quotaExceeded, whyOf } from '@settledb/core';
import { codeOf } from './files';

/** No room on the disk, in the user's quota, or within the file size limit. */
const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

export const isFull = (error: unknown): boolean => FULL.has(codeOf(error) ?? '');

/** No more files may be open, in this process or in all. The operation never began: it may be done later. */
const OUT_OF_FILES = new Set(['EMFILE', 'ENFILE']);

export function isOutOfFiles(error: unknown): boolean {
  const code = codeOf(error instanceof DatabaseError ? error.cause : error);
  return code !== undefined && OUT_OF_FILES.has(code);
}

/** The system, or a server, looked at the names and does not allow it; on Windows because another program has the file open. Nothing was done. */
const REFUSED = new Set(['EPERM', 'EACCES', 'EBUSY']);

export const isRefused = (error: unknown): boolean => REFUSED.has(codeOf(error) ?? '');

/** What was written goes where nobody finds it. */
export const notThere = (path: string): DatabaseError =>
  ioError(`${path} was removed while it was open, or renamed, or replaced`);

/** A path that the system cannot have: too long, or with a NUL in it. */
const NO_PATH = new Set(['ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE']);

/**
 * What a failed call means: `quota_exceeded` for a full disk, `bad_request` for an impossible name, otherwise `io`; with the original
 * error as cause. `what` names the path.
 */
export function trouble(what: string, error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  if (isFull(error)) return quotaExceeded(error);
  const reason = `${what}: ${whyOf(error)}`;
  return NO_PATH.has(codeOf(error) ?? '') ? badRequest(reason, error) : ioError(reason, error);
}
