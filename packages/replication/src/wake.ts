/**
 * Tells when the world may have changed under open connections: the network is back, the page is visible again, the machine was
 * asleep. Listeners exist only while somebody wants to know.
 */
import { onReturn, unref } from '@settledb/core';

/** Between two looks at the clock. */
const LOOK_MS = 30_000;
/** If so much more than {@link LOOK_MS} passes between looks, the machine was asleep. Timers of hidden pages are late by a minute. */
const SLEPT_MS = 90_000;

/**
 * Calls `wake` when open connections may be dead without notice: online again, visible after a
 * while, awake after sleep. @returns a function that stops this
 */
export function onWake(wake: () => void): () => void {
  const leave = onReturn((isLong) => {
    if (isLong) wake();
  });
  let looked = Date.now();
  const timer = setInterval(() => {
    const slept = Date.now() - looked > LOOK_MS + SLEPT_MS;
    looked = Date.now();
    if (slept) wake();
  }, LOOK_MS);
  unref(timer);
  return () => {
    clearInterval(timer);
    leave();
  };
}
