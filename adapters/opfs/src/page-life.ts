/**
 * A page that is put into the back/forward cache keeps its worker, and that the files it has open, or is just opening: no other tab could
 * have the database. The worker hears of it by an event like the page's own (`host.ts`). Refusing that ends the worker; the page makes
 * another when it is back.
 */
let hears = false;

export function endWithPage(isNeeded: () => boolean): void {
  if (hears || typeof addEventListener !== 'function') return;
  hears = true;
  addEventListener('pagehide', (event) => {
    if (event.persisted && isNeeded()) event.preventDefault();
  });
}
