/**
 * Long work in slices, so that a page draws and answers between them. Whoever works asks {@link Slices.pause} often and awaits
 * what it gives.
 */

/** ms at a time. With a commit after it, a slice stays below 16 ms, one frame. */
const SLICE_MS = 6;

export class Slices {
  #began = performance.now();

  /** A promise to wait for when it is time for others, else undefined. */
  pause(): Promise<void> | undefined {
    return performance.now() - this.#began < SLICE_MS ? undefined : this.next();
  }

  /** Goes on in a later task. */
  async next(): Promise<void> {
    await nextTask();
    this.#began = performance.now();
  }
}

interface Scheduling {
  readonly scheduler?: { yield?(): Promise<void> };
  readonly setImmediate?: (work: () => void) => unknown;
}

/** Resolves in a later task, sooner than a timer, which browsers hold back for 4 ms and, in hidden pages, for a second. */
function nextTask(): Promise<void> {
  const { scheduler, setImmediate } = globalThis as Scheduling;
  if (typeof scheduler?.yield === 'function') return scheduler.yield();
  // Node: a channel costs 0.1 ms there.
  if (typeof setImmediate === 'function') return new Promise((resolve) => setImmediate(resolve));
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
