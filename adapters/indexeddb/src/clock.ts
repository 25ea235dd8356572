/**
 * `performance.now()`, which takes 1.1 µs in Firefox: half of all that a read from memory takes. So its last answer is repeated as
 * long as `Date.now()` (0.05 µs) shows that no ms has passed. But dates can be set back, or made to stand still, so it is not repeated
 * often.
 */

/** How often an answer is repeated: enough to spread the cost, and few enough to notice soon that time stands still. */
const REPEATS_MAX = 64;

/** @returns ms that only rise. Late by a ms, or by what the browser rounds dates to: 100 ms at most */
export function clock(): () => number {
  let now = 0;
  let date = Number.NaN;
  let repeats = 0;
  return () => {
    const before = date;
    date = Date.now();
    if (date === before && repeats < REPEATS_MAX) repeats++;
    else {
      now = performance.now();
      repeats = 0;
    }
    return now;
  };
}
