/** Gives the turn to everybody else in the event loop. */
import { afterTimer } from './timers';

interface Scheduling {
  readonly setImmediate?: (work: () => void) => unknown;
  readonly MessageChannel?: new () => MessageChannel;
}

/** Taken once: in a test that replaces these by its own clock, and does not advance it, calls are answered all the same. */
const { setImmediate, MessageChannel: Channel } = globalThis as Scheduling;

/**
 * Resolves in a later task, after everything that was waiting had its turn. It is sooner than a timer, which browsers delay by 4 ms
 * and, in hidden pages, by a second. Not by `scheduler.yield`: in Chromium timers and messages then wait as long as anybody yields.
 */
export function nextTask(): Promise<void> {
  // For Node, where a channel costs 0.1 ms.
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
