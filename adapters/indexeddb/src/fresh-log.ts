/**
 * Makes Chromium begin a new log. Otherwise two ends of the browser may cost all that its origin has stored.
 *
 * LevelDB (156) goes on with the log that it finds. If its process was killed amid a write (a crash, a system that needs the memory), that
 * log ends with a part of a record. The next start skips the part and writes behind it, be it only what opening a database writes. The
 * start after that, also if the browser was closed in the meantime as it should be, finds the part in the midst of the log ("checksum
 * mismatch"), and throws the storage away. Nobody is told of a kill, so each context has a new log begun, which takes LevelDB some
 * 2 to 20 ms: it does so when a database is deleted.
 *
 * A disk that is full to the last byte leaves a part of a record, too. Chromium then closes the storage, and goes on with its log when
 * there is room and a database is opened again.
 */
import { after, unref } from '@settledb/core';
import { platform } from './driver';
import { isChromium } from './one-at-a-time';
import { Tidying } from './tidying';

/** ms after a database was opened: what is read first does not wait for this. */
const REST_MS = 200;
/** … after one that failed: without room on the disk it makes Chromium close the storage, which is opened again at once. */
const FAILED_REST_MS = 5_000;

const tidying = new Tidying(platform);
let isBegun = false;
let isComing = false;
let rest = REST_MS;

/** To be called when a connection was given up: the browser may have closed the storage, and whichever opens it next goes on with its log. */
export function doubtLog(): void {
  isBegun = false;
}

/** To be called when a database was opened. It is done once as long as there is no doubt, for all databases of the origin have one log. */
export function beginFreshLog(): void {
  if (isComing || isBegun || !isChromium()) return;
  isBegun = true;
  isComing = true;
  after(rest, () => void begin(), unref);
}

async function begin(): Promise<void> {
  isComing = false;
  rest = (await tidying.tidy(true)) ? REST_MS : FAILED_REST_MS;
}
