/**
 * Lets a Node process end while `waiting`, a timer or a channel, waits: a database must not keep it alive. In browsers timers are
 * numbers, and channels hold nothing.
 */
export function unref<T>(waiting: T): T {
  (waiting as { unref?: () => void }).unref?.();
  return waiting;
}
