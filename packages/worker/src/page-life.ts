/**
 * A page that is put away: frozen in the background, or kept in the back/forward cache. Until it comes back, neither it nor
 * its dedicated workers run, and messages sent to it meanwhile may never arrive (seen in Chromium: messages of a port).
 */

/** Calls `away` before, and `back` after, each once. @returns a function that stops listening. Does nothing in workers */
export function onPutAway(away: () => void, back: () => void): () => void {
  if (typeof document === 'undefined') return () => {};
  // Chromium says both of a page that goes into the cache: `pagehide` and `freeze`, and later `resume` and `pageshow`.
  let isAway = false;
  const leave = (): void => {
    if (!isAway) away();
    isAway = true;
  };
  const enter = (): void => {
    if (isAway) back();
    isAway = false;
  };
  const hide = (event: PageTransitionEvent): void => {
    if (event.persisted) leave();
  };
  const show = (event: PageTransitionEvent): void => {
    if (event.persisted) enter();
  };
  document.addEventListener('freeze', leave);
  document.addEventListener('resume', enter);
  addEventListener('pagehide', hide);
  addEventListener('pageshow', show);
  return () => {
    document.removeEventListener('freeze', leave);
    document.removeEventListener('resume', enter);
    removeEventListener('pagehide', hide);
    removeEventListener('pageshow', show);
  };
}
