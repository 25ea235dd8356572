/**
 * One owner per database: a Web Lock, which ends with the context that holds it, however that ends. By its name workers know that the one
 * they elected keeps files (packages/worker/src/election.ts).
 */
import { after, locked } from '@settledb/core';
import { endWithPage } from './page-life';

/**
 * ms to wait for the owner: a tab that is closed or reloaded, or a worker that another one follows, gives its files back a moment later.
 */
export const HAND_OVER_MS = 3_000;
/** ms between two looks whether files of an owner that has ended are free. */
export const LOOK_AGAIN_MS = 20;

export const LOCKED =
  'another tab or worker has the database open: one context at a time can. host() of settledb/worker lets all tabs use one';

/** One for each database that this context has, or waits for. */
const wanted = new Set<object>();

/** @returns what releases it. @throws DatabaseError `locked` if nobody gives it back in time */
export async function own(name: string, waitMs: number): Promise<() => void> {
  endWithPage(() => wanted.size > 0);
  const one = {};
  wanted.add(one);
  try {
    const release = await granted(name, waitMs);
    return () => {
      wanted.delete(one);
      release();
    };
  } catch (error) {
    wanted.delete(one);
    throw error;
  }
}

async function granted(name: string, waitMs: number): Promise<() => void> {
  // Without locks the files still have one owner; that it has ended is only noticed later.
  const { locks } = (globalThis as { navigator?: { locks?: LockManager | null } }).navigator ?? {};
  if (!locks) return () => {};
  const given = new AbortController();
  const stop = waitMs > 0 ? after(waitMs, () => given.abort()) : undefined;
  const how = waitMs > 0 ? { signal: given.signal } : { ifAvailable: true };
  try {
    return await new Promise((resolve, reject) => {
      const told = (lock: Lock | null): Promise<void> | undefined => {
        if (lock !== null) return new Promise((release) => resolve(release));
        reject(locked(LOCKED));
        return undefined;
      };
      locks.request(`settledb:opfs:${name}`, how, told).catch(reject);
    });
  } catch (cause) {
    throw given.signal.aborted ? locked(LOCKED) : cause;
  } finally {
    stop?.();
  }
}
