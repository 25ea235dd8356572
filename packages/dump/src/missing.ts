/** The error of a database for what it does not have, whichever program made the database. */
import { isObject } from './format';

export const isMissing = (error: unknown): boolean => isObject(error) && error.status === 404;

/** For `catch`: undefined for that error. @throws any other */
export function unlessMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
