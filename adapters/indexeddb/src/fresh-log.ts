/**
 * Makes Chromium begin a new log. Otherwise two ends of the browser may cost all that its origin has stored.
 *
 * LevelDB (156) goes on with the log that it finds. If its process was killed amid a write (a crash, a system that needs the memory), that
 * log ends with a part of a record. The next start skips the part and writes behind it, be it only what opening a database writes. The
 * start after that, also if the browser was closed in the meantime as it should be, finds the part in the midst of the log ("checksum
 * mismatch"), and throws the storage away. Nobody is told of a kill, so each context has a new log begun, which takes LevelDB some
 * 2 to 20 ms: it does so when a database is deleted.
 */
import { after, unref } from '@settledb/core';
import { platform } from './driver';
import { isChromium } from './one-at-a-time';
import { Tidying } from './tidying';

/** ms after the first opening: what is read first does not wait for this. */
const REST_MS = 200;

let isBegun = false;

/** To be called when a database was opened. It is done once, for all databases of the origin have one log. */
export function beginFreshLog(): void {
  if (isBegun || !isChromium()) return;
  isBegun = true;
  after(REST_MS, () => void new Tidying(platform).tidy(true), unref);
}
