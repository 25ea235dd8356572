/** How often something is asked again. */
import { badRequest } from '../model/errors';

/** Timers of platforms count in 32 bits: one that is asked for more goes off at once, again and again. */
const MOST_MS = 2 ** 31 - 1;

/** @throws bad_request unless it is a time from 1 ms up, or not given */
export function checkInterval(interval: unknown): void {
  if (interval === undefined || interval === null) return;
  if (Number.isSafeInteger(interval) && (interval as number) >= 1 && (interval as number) <= MOST_MS) return;
  throw badRequest(`interval must be a whole number of milliseconds from 1 up, not ${String(interval)}`);
}
