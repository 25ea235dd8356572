/**
 * A page that is put away: frozen in the background, or kept in the back/forward cache. Until it comes back, neither it nor
 * its dedicated workers run, and messages sent to it meanwhile may never arrive (seen in Chromium: messages of a port).
 */

/**
 * Calls `away` before, and `back` after, each once; and `still` in between, where the browser says that the page will now stand still:
 * programs that save when their page is hidden have done so by then. @returns a function that stops listening. Does nothing in workers
 */
export function onPutAway(away: () => void, still: () => void, back: () => void): () => void {
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
  // Added while the event is on its way to the document, it is called after the listeners of programs.
  const last = (): void => document.addEventListener('freeze', still, { once: true });
  document.addEventListener('freeze', leave);
  addEventListener('freeze', last, true);
  document.addEventListener('resume', enter);
  addEventListener('pagehide', hide);
  addEventListener('pageshow', enter);
  return () => {
    document.removeEventListener('freeze', leave);
    removeEventListener('freeze', last, true);
    document.removeEventListener('resume', enter);
    removeEventListener('pagehide', hide);
    removeEventListener('pageshow', enter);
  };
}

/** Calls `going` when the page is left for good. @returns a function that stops listening. Does nothing in workers */
export function onGoing(going: () => void): () => void {
  if (typeof document === 'undefined') return () => {};
  const hide = ({ persisted }: PageTransitionEvent): void => {
    if (!persisted) going();
  };
  addEventListener('pagehide', hide);
  return () => removeEventListener('pagehide', hide);
}
