/**
 * Transactions of a page that is put into the back/forward cache of WebKit (2.50).
 *
 * It keeps the page with the transaction it has open, whose events never come there: until the page is back or thrown out, every other
 * context waits behind it (seen with nothing but IndexedDB in two pages, 3 times of 3; others throw such a page out). So it is undone
 * before. What was asked in it is asked again when the page is back, as of one that the browser aborted; one that is committed already
 * ends by itself.
 */
import { isWebKit } from './one-at-a-time';

/** Undone for it, and surely not done. */
export class PutAway extends Error {
  constructor() {
    super('The page was put away');
  }
}

/** And how to say to each why it ends. */
const open = new Map<IDBTransaction, (why: PutAway) => void>();
/** Known with the first transaction: nothing is touched before. */
let isNeeded: boolean | undefined;

/** To be called with each transaction begun. */
export function undoWhenPutAway(tx: IDBTransaction, blame: (why: PutAway) => void): void {
  isNeeded ??= begin();
  if (!isNeeded) return;
  open.set(tx, blame);
  const ended = (): void => void open.delete(tx);
  tx.addEventListener('complete', ended);
  tx.addEventListener('abort', ended);
}

function begin(): boolean {
  if (!('document' in globalThis) || !isWebKit()) return false;
  addEventListener('pagehide', ({ persisted }) => {
    if (persisted) for (const [tx, blame] of open) undo(tx, blame);
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
