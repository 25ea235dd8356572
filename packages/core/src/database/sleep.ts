/** Waiting for a time, which may end early. */
import { onAbort } from './on-abort';
import { onReturn } from './return';

/**
 * Waits `ms`. Ends early, without an error, when `signal` is aborted and, if it `wakes`, when the network or the page is back: the
 * listeners for that exist only while it waits.
 */
export function sleep(ms: number, signal: AbortSignal | undefined, { wakes = false } = {}): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      for (const leave of leaves) leave?.();
      resolve();
    };
    const timer = setTimeout(end, ms);
    const leaves = [signal && onAbort(signal, end), wakes ? onReturn(end) : undefined];
  });
}
