/**
 * The platform that a test of it runs on: the browser's own, or in Node that of a simulated tab. What passes on both shows that the simulated one
 * behaves as browsers do.
 */
import { afterAll, afterEach } from 'vitest';
import { Browser } from './platform/browser';
import { World } from './platform/world';

export interface Platform {
  readonly indexedDB: IDBFactory;
  readonly IDBKeyRange: typeof IDBKeyRange;
  readonly BroadcastChannel: typeof BroadcastChannel;
  readonly locks: LockManager;
}

/** A test file's. A failure in a simulated tab tells its seed, which `SEED=… npx vitest …` runs again. */
export function platformHere(): Platform {
  if ('indexedDB' in globalThis) return { indexedDB, IDBKeyRange, BroadcastChannel, locks: navigator.locks };
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
  const world = new World(seed);
  afterEach(({ task }) => {
    for (const error of task.result?.errors ?? []) error.message = `SEED=${seed}: ${error.message}`;
  });
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
