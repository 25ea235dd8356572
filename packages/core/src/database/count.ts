/** Options that are counts, for local and remote databases. */
import { badRequest } from '../model/errors';
import { show } from './show';

/** @throws bad_request unless the value is a count, or not given */
export function checkCount(name: string, value: unknown): void {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0)) return;
  throw badRequest(`${name} must be a whole number that is not negative, not ${show(value)}`);
}
