/** Lets at most one context at a time do something: by a Web Lock, or without locks by a flag that only this realm sees. */
import { storageError } from './failure';
import { acquireNow, lockManager } from './lock';

/** Names held in this realm without a lock. */
const flags = new Set<string>();

/** Runs `work` and answers true; answers false at once if it is being done elsewhere. Rejects as `work` does; `io`: no lock could be asked for. */
export async function runExclusively(name: string, work: () => Promise<void>): Promise<boolean> {
  const locks = lockManager();
  if (locks === undefined) return runFlagged(name, work);
  const hold = await acquireNow(locks, name).catch((cause) => {
    throw storageError(`Asking for the lock "${name}"`, cause);
  });
  if (hold === undefined) return false;
  try {
    await work();
    return true;
  } finally {
    await hold.release();
  }
}

async function runFlagged(name: string, work: () => Promise<void>): Promise<boolean> {
  if (flags.has(name)) return false;
  flags.add(name);
  try {
    await work();
    return true;
  } finally {
    flags.delete(name);
  }
}
