/**
 * A page that is put into the back/forward cache keeps its worker, and that the files it has open: no other tab could have the database.
 * The worker hears of it by an event like the page's own (`host.ts`). Refusing that ends the worker; the page makes another when it is back.
 */
let hears = false;

export function endWithPage(isOpen: () => boolean): void {
  if (hears || typeof addEventListener !== 'function') return;
  hears = true;
  addEventListener('pagehide', (event) => {
    if (event.persisted && isOpen()) event.preventDefault();
  });
}
