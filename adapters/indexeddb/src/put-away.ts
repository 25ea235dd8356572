/**
 * Transactions of a page, or of its worker, that is put into the back/forward cache of WebKit (2.50).
 *
 * It keeps the page with the transaction it has open, whose events never come there: until the page is back or thrown out, every other
 * context waits behind it (seen with nothing but IndexedDB in two pages, 3 times of 3; others throw such a page out). So it is undone
 * before. What was asked in it is asked again when the page is back, as of one that the browser aborted; one that is committed already
 * ends by itself.
 *
 * A worker is told by its page, with an event like the page's own (`host.ts`). There one thing more: WebKit sends the undoing only when
 * it has told the worker that the transaction began, which comes too late. Such an event is refused, and the worker ends.
 */
import { isWebKit } from './one-at-a-time';

/** Undone for it, and surely not done. */
export class PutAway extends Error {
  constructor() {
    super('The page was put away');
  }
}

interface Open {
  /** Says why it ends. */
  readonly blame: (why: PutAway) => void;
  /** Is it known to have begun in the storage? */
  hasBegun: boolean;
}

const open = new Map<IDBTransaction, Open>();
/** Known with the first transaction: nothing is touched before. */
let isNeeded: boolean | undefined;

/** To be called with each transaction begun. */
export function undoWhenPutAway(tx: IDBTransaction, blame: (why: PutAway) => void): void {
  isNeeded ??= begin();
  if (!isNeeded) return;
  const state = { blame, hasBegun: false };
  open.set(tx, state);
  const ended = (): void => void open.delete(tx);
  tx.addEventListener('complete', ended);
  tx.addEventListener('abort', ended);
  // The first answer to any of its requests: on its way down, because it does not bubble.
  const answered = (): void => {
    state.hasBegun = true;
  };
  tx.addEventListener('success', answered, { capture: true, once: true });
}

function begin(): boolean {
  if (!isWebKit()) return false;
  addEventListener('pagehide', (event) => {
    if (!event.persisted) return;
    // A page still hears of what has begun.
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
    // It is committed, or ended.
  }
}
