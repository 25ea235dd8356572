/**
 * Lets a Node process end while this waits. IndexedDB is there in unit tests (fake-indexeddb), whose runner ends when nothing holds
 * it; timers of browsers are numbers, and their channels hold nothing.
 */
export function unref<T>(waiting: T): T {
  (waiting as { unref?: () => void }).unref?.();
  return waiting;
}
