/** Errors of the system as errors of a database. */
import { DatabaseError, ioError, quotaExceeded } from '@settledb/core';
import { codeOf } from './files';

/** No room: the disk's, the user's quota's, the file size limit's. */
const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

export const isFull = (error: unknown): boolean => FULL.has(codeOf(error) ?? '');

/** What a failed call means: `quota_exceeded` for a full disk, `io` else, with the original as cause. `what` names the path. */
export function trouble(what: string, error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  if (isFull(error)) return quotaExceeded(error);
  const why = error instanceof Error ? error.message : String(error);
  return ioError(`${what}: ${why}`, error);
}
