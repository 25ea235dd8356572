/**
 * Which contexts are alive: each holds a Web Lock as long as it lives, and whoever wants to know of its end waits for that lock. The
 * browser releases the lock however the context ends: closed, crashed, terminated, stopped by the browser.
 *
 * Without Web Locks (pages without https) there is no such notice: a context that answers nothing counts as gone (`pulse.ts`).
 */
import { requestLock } from './locks';
import type { Endpoint } from './wire';

export interface Held {
  /** The name, once the lock is held. `undefined` if there are no locks. */
  readonly name: Promise<string | undefined>;
  release(): void;
}

// Where a page is imitated (happy-dom), `locks` may be `null`.
const locks = (): LockManager | undefined =>
  (globalThis.navigator as { locks?: LockManager | null } | undefined)?.locks ?? undefined;

/** Holds the lock `name` until released. */
export function hold(name: string): Held {
  const manager = locks();
  if (manager === undefined) return { name: Promise.resolve(undefined), release: () => {} };
  let release!: () => void;
  const over = new Promise<void>((resolve) => {
    release = resolve;
  });
  const held = new Promise<string | undefined>((resolve) => {
    const told = (): Promise<void> => {
      resolve(name);
      return over;
    };
    // Refused along with storage: a context of opaque origin.
    requestLock(manager, name, {}, told).catch(() => resolve(undefined));
  });
  return { name: held, release };
}

/** Calls `gone` when the holder of `name`, who was seen to hold it, is no more. @returns a function that stops waiting */
export function whenReleased(name: string, gone: () => void): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  const granted = (): void => {
    if (!signal.aborted) gone();
  };
  const manager = locks();
  if (manager !== undefined) requestLock(manager, name, { mode: 'shared', signal }, granted).catch(() => {});
  return () => stop.abort();
}

/**
 * The same, for a holder that was not seen yet. If nobody is seen to hold the lock, the locks say nothing: when Chromium clears the data
 * of an origin that has pages or workers open, whatever comes later has locks of its own (156). Then the end of `port` tells, where
 * ports have that event (Chromium 156 has none), or its silence.
 *
 * @param port whose other end the holder has
 * @param looked called when it is known whether the holder is seen
 */
export function whenGone(
  name: string,
  gone: () => void,
  port: Endpoint,
  looked?: (isSeen: boolean) => void,
): () => void {
  let isOver = false;
  let stop = (): void => {
    isOver = true;
  };
  const look = (lock: Lock | null): void => {
    if (isOver) return;
    looked?.(lock === null);
    if (lock === null) stop = whenReleased(name, gone);
    else port.addEventListener('close', () => isOver || gone());
  };
  const manager = locks();
  if (manager !== undefined)
    requestLock(manager, name, { mode: 'shared', ifAvailable: true }, look).catch(() => {});
  return () => stop();
}
