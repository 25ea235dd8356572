/** The answer to a call with one edit, made from the outcome of the edit. */
import { DatabaseError } from '../model';
import type { WriteFailure, Written } from '../model/types';
import type { Outcome } from './plan-edits';

/** The answer to a call with one edit. @throws DatabaseError as the failure row describes it */
export function written([outcome]: readonly Outcome[]): Written {
  if ('error' in outcome!) throw errorOf(outcome);
  return outcome!;
}

/** The error that a failure row describes. */
function errorOf({ id, status, name, message, reason }: WriteFailure): DatabaseError {
  return new DatabaseError({ status, name, message, reason, docId: id });
}
