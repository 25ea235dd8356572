/** A turn of the event loop for all others. */

interface Scheduling {
  readonly setImmediate?: (work: () => void) => unknown;
  readonly MessageChannel?: new () => MessageChannel;
}

/** Taken once: a test that puts a clock of its own in their place, and does not move it on, waits for its calls all the same. */
const { setImmediate, MessageChannel: Channel } = globalThis as Scheduling;
const { setTimeout } = globalThis;

/**
 * Resolves in a later task, when all that waited before had its turn; sooner than a timer, which browsers hold back for 4 ms and, in hidden
 * pages, for a second. Not by `scheduler.yield`: in Chromium timers and messages then wait as long as anybody yields.
 */
export function nextTask(): Promise<void> {
  // Node: a channel costs 0.1 ms there.
  if (typeof setImmediate === 'function') return new Promise((resolve) => setImmediate(resolve));
  if (Channel === undefined) return afterTimer(0); // jsdom
  return new Promise((resolve) => {
    const { port1, port2 } = new Channel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

/** For waits that are the database's own: by the clock of the platform, whatever stands in its place by then. */
export function afterTimer(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
