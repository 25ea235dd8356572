/** Answers of calls with one edit, of what each edit came to. */
import { DatabaseError } from '../model';
import type { WriteFailure, Written } from '../model/types';
import type { Outcome } from './plan-edits';

/** The answer of a call with one edit. @throws DatabaseError what the row of a failure says */
export function written([outcome]: readonly Outcome[]): Written {
  if ('error' in outcome!) throw errorOf(outcome);
  return outcome!;
}

/** The error that a failure row of one document stands for. */
function errorOf({ id, status, name, message, reason }: WriteFailure): DatabaseError {
  return new DatabaseError({ status, name, message, reason, docId: id });
}
