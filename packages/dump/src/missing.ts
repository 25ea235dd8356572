/** What a database answers that has not what it is asked for: whoever made the database, and the error. */
import { isObject } from './format';

export const isMissing = (error: unknown): boolean => isObject(error) && error.status === 404;

/** For `catch`: undefined in place of that answer. @throws any other */
export function unlessMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
