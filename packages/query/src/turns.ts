/**
 * Whose turn it is to map: contexts that index the same database take turns, batch by batch, so that no document is mapped
 * twice. This is only a courtesy: what keeps an index right is that commits are planned against its state.
 */
import { Turns } from '@settledb/core';

/** Of this realm, by database. */
const turns = new Turns();

/**
 * How long to wait for another tab's turn, which takes some 250 ms. A tab that is frozen, or whose map hangs, must not stop all others.
 * Its lock is then taken by force: else each turn to come would wait as long.
 */
const WAIT_MS = 5_000;

/**
 * Does `work` when nothing else in this realm takes a turn; nor in another, unless `alone`.
 *
 * @param id of the database, the same in every context
 * @param alone no other context has the database open, as far as known
 */
export function inTurn<T>(id: string, alone: boolean, work: () => Promise<T>): Promise<T> {
  return turns.take(id, () => (alone ? work() : amongTabs(id, work)));
}

async function amongTabs<T>(id: string, work: () => Promise<T>): Promise<T> {
  const locks = globalThis.navigator?.locks as LockManager | null | undefined;
  if (!locks) return work();
  const patience = new AbortController();
  let timer: ReturnType<typeof setTimeout>;
  let working: Promise<T> | undefined;
  const begin = (): Promise<T> => {
    clearTimeout(timer);
    working ??= work();
    return working;
  };
  const name = `settledb:${id}:index`;
  await new Promise<void>((resolve) => {
    const goOn = (): void => resolve();
    timer = setTimeout(() => {
      patience.abort();
      locks.request(name, { steal: true }, begin).catch(goOn);
      goOn(); // not every lock manager heeds that
    }, WAIT_MS);
    locks.request(name, { signal: patience.signal }, begin).then(goOn, goOn);
  });
  return begin(); // It has begun, unless no lock can be had here; and goes on if the lock was taken by force.
}
