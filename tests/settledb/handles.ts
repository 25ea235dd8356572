/** Handles under test: their names, their events, and a gate that holds one up. */
import type { SettleDB } from '../../packages/settledb/src/entry.browser';

/** A name that no other handle has. */
export const name = (): string => `handle-${Math.random()}`;

export const event = (db: SettleDB, type: 'created' | 'closed' | 'destroyed'): Promise<unknown> =>
  new Promise((resolve) => db.once(type, resolve));

export function gate(): { promise: Promise<void>; go: () => void } {
  let go!: () => void;
  const promise = new Promise<void>((resolve) => {
    go = resolve;
  });
  return { promise, go };
}
