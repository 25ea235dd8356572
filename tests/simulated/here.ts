/**
 * The platform that a test of it runs on: the browser's own, or in Node that of a simulated tab. What passes on both shows that the simulated one
 * behaves as browsers do.
 */
import { afterAll } from 'vitest';
import { Browser } from './platform/browser';
import { World } from './platform/world';

export interface Platform {
  readonly indexedDB: IDBFactory;
  readonly IDBKeyRange: typeof IDBKeyRange;
  readonly BroadcastChannel: typeof BroadcastChannel;
  readonly locks: LockManager;
}

/** A test file's. */
export function platformHere(): Platform {
  if ('indexedDB' in globalThis) return { indexedDB, IDBKeyRange, BroadcastChannel, locks: navigator.locks };
  const world = new World(Math.floor(Math.random() * 2 ** 31));
  const { globals } = new Browser(world).open();
  afterAll(world.goOn());
  const { locks } = globals.navigator as Navigator;
  return { ...(globals as unknown as Platform), locks };
}

/** Resolves with the event; rejects with the error of a request that fails first. */
export function heard<Type extends string>(target: EventTarget, type: Type): Promise<Event> {
  return new Promise((resolve, reject) => {
    target.addEventListener(type, resolve);
    if (type !== 'error' && type !== 'abort')
      target.addEventListener('error', () => reject((target as Partial<IDBRequest>).error ?? type));
  });
}
