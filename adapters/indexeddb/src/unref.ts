/**
 * Lets a Node process end while `waiting` waits. In unit tests IndexedDB is there (fake-indexeddb), and their runner ends when nothing
 * holds it; in browsers timers are numbers, and channels hold nothing.
 */
export function unref<T>(waiting: T): T {
  (waiting as { unref?: () => void }).unref?.();
  return waiting;
}
