/**
 * Databases that this realm has asked a server to delete. The server answers after it has ended the feeds on them, so a live feed may
 * hear that its database is missing before whoever deletes it hears that it is gone.
 */
import { afterTimer } from '@settledb/core';

const underWay = new Map<string | undefined, Set<Promise<unknown>>>();

/** @param address of the database that `deletion` is about */
export async function destroying(address: string | undefined, deletion: Promise<unknown>): Promise<void> {
  const deletions = underWay.get(address) ?? new Set();
  underWay.set(address, deletions.add(deletion));
  try {
    await deletion;
  } finally {
    deletions.delete(deletion);
    if (deletions.size === 0) underWay.delete(address);
  }
}

/** Resolves when nobody here is deleting that database any more, and who hears of it in the same turn has done what follows from it. */
export async function settledDestruction(address: string | undefined): Promise<void> {
  const deletions = underWay.get(address);
  if (deletions === undefined) return;
  await Promise.allSettled(deletions);
  await afterTimer(0);
}
