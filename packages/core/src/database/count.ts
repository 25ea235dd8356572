/** Options that are counts, for local and remote databases. */
import { badRequest } from '../model/errors';
import { show } from './show';

/** Whether the value is a whole number that is not negative. */
export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;

/** @throws bad_request unless the value is a count, or not given */
export function checkCount(name: string, value: unknown): void {
  if (value === undefined || isCount(value)) return;
  throw badRequest(`${name} must be a whole number that is not negative, not ${show(value)}`);
}
