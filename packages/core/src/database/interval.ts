/** How often something is polled. */
import { badRequest } from '../model/errors';
import { show } from './show';

/** Platform timers count in 32 bits: a longer one fires at once, again and again. */
const MOST_MS = 2 ** 31 - 1;

/** @throws bad_request unless the value is a time of at least 1 ms, or not given */
export function checkInterval(interval: unknown): void {
  if (interval === undefined || interval === null) return;
  if (Number.isSafeInteger(interval) && (interval as number) >= 1 && (interval as number) <= MOST_MS) return;
  throw badRequest(`interval must be a whole number of milliseconds from 1 up, not ${show(interval)}`);
}
