/**
 * A page that is put away: frozen in the background, or kept in the back/forward cache. Until it comes back, neither it nor
 * its dedicated workers run, and messages sent to it meanwhile may never arrive (seen in Chromium: messages of a port).
 */

/** Calls `away` before, and `back` after. @returns a function that stops listening. Does nothing in workers */
export function onPutAway(away: () => void, back: () => void): () => void {
  if (typeof document === 'undefined') return () => {};
  const hide = (event: PageTransitionEvent): void => {
    if (event.persisted) away();
  };
  const show = (event: PageTransitionEvent): void => {
    if (event.persisted) back();
  };
  document.addEventListener('freeze', away);
  document.addEventListener('resume', back);
  addEventListener('pagehide', hide);
  addEventListener('pageshow', show);
  return () => {
    document.removeEventListener('freeze', away);
    document.removeEventListener('resume', back);
    removeEventListener('pagehide', hide);
    removeEventListener('pageshow', show);
  };
}
