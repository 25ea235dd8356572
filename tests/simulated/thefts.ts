/**
 * Locks are taken by force only from tabs that could not let go: that stood still, or whose channel the browser had ended. Whoever hears that
 * another has come, or is told that its page is put away, lets go by itself.
 */
import type { Browser } from './platform/browser';
import type { Tab } from './platform/tab';

/** Who waits for a lock takes it after a second; what is said before that takes a while to be heard, and to be done. */
const HEARD_MS = 1_500;

export function watchThefts({ locks, world }: Browser): void {
  const isDeaf = (tab: Tab): boolean => tab.isDead || world.now - tab.deafUntil < HEARD_MS;
  locks.stolen = (from, by, sinceMs) => {
    if (from.isToldToGo(sinceMs) || !(isDeaf(from) || isDeaf(by)))
      world.wrong(`${by.name} takes the lock of ${from.name} by force, which was to let go of it`);
  };
}
