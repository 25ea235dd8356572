/**
 * Transactions of a page, or of its worker, that is put into the back/forward cache of WebKit (2.50).
 *
 * WebKit keeps the page with its open transaction, whose events never arrive there: until the page is back or thrown out, every other
 * context waits behind it (seen with nothing but IndexedDB in two pages, 3 times of 3; other browsers throw such a page out). So the
 * transaction is undone before. Its requests are made again when the page is back, as for one that the browser aborted; a transaction
 * that is committed already ends by itself.
 *
 * A worker is told by its page, with an event like the page's own (`host.ts`). There is one difference: WebKit sends the abort only
 * after it has told the worker that the transaction began, which comes too late. In that case the event is refused, and the worker
 * ends.
 */
import { isWebKit } from './one-at-a-time';

/** The transaction was undone for this reason, and surely not done. */
export class PutAway extends Error {
  constructor() {
    super('The page was put away');
  }
}

interface Open {
  /** Gives the reason why it ends. */
  readonly blame: (why: PutAway) => void;
  /** Whether it is known to have begun in the storage. */
  hasBegun: boolean;
}

const open = new Map<IDBTransaction, Open>();
/** Determined at the first transaction: nothing is touched before. */
let isNeeded: boolean | undefined;

/** To be called for each transaction that is begun. */
export function undoWhenPutAway(tx: IDBTransaction, blame: (why: PutAway) => void): void {
  isNeeded ??= begin();
  if (!isNeeded) return;
  const state = { blame, hasBegun: false };
  open.set(tx, state);
  const ended = (): void => void open.delete(tx);
  tx.addEventListener('complete', ended);
  tx.addEventListener('abort', ended);
  // The first answer to any of its requests; captured on its way down, because success events do not bubble.
  const answered = (): void => {
    state.hasBegun = true;
  };
  tx.addEventListener('success', answered, { capture: true, once: true });
}

function begin(): boolean {
  if (!isWebKit()) return false;
  addEventListener('pagehide', (event) => {
    if (!event.persisted) return;
    // A page still hears which transactions have begun, a worker does not.
    if (!('document' in globalThis) && [...open.values()].some(({ hasBegun }) => !hasBegun))
      event.preventDefault();
    for (const [tx, { blame }] of open) undo(tx, blame);
  });
  return true;
}

function undo(tx: IDBTransaction, blame: (why: PutAway) => void): void {
  try {
    tx.abort();
    blame(new PutAway());
  } catch {
    // It is committed, or has ended.
  }
}
