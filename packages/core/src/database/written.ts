/** The answer to a call with one edit, made from the outcome of the edit. */
import { DatabaseError } from '../model';
import type { Written } from '../model/types';
import type { Outcome } from './plan-edits';

/** @throws DatabaseError as the failure row describes it */
export function written([outcome]: readonly Outcome[]): Written {
  if ('error' in outcome!) throw new DatabaseError({ ...outcome, docId: outcome.id });
  return outcome!;
}
