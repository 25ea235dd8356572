/**
 * Blobs on their way. WebKit (2.50) loses one that is sent to another process (a page's, from a shared worker or over a BroadcastChannel)
 * if the sender's own is collected before the receiver has its own: who reads it is then refused with `NotFoundError`. A call keeps its
 * arguments until it is answered, but nobody says that an answer has come. So the sender keeps it for a while.
 */
import { unref } from '@settledb/core';

/** ms that a receiver may be busy with something else. It holds the same Blobs itself after that. */
const KEPT_MS = 10_000;

const kept = new Set<readonly unknown[]>();

/** @param sent operations that may hold Blobs */
export function keepForAWhile(sent: readonly unknown[]): void {
  kept.add(sent);
  unref(setTimeout(() => kept.delete(sent), KEPT_MS));
}
