/**
 * When somebody comes back: the network to the page, or a person. A worker hears nothing of its pages, so they tell it, by
 * {@link tellReturn} there. Listeners exist only while somebody wants to know.
 */

/** A page hidden for less keeps its connections. */
const HIDDEN_MS = 30_000;

/** @param isLong away for so long that connections may have died without anybody having been told */
export type OnReturn = (isLong: boolean) => void;

interface Listening {
  addEventListener(type: string, listener: () => void): void;
  removeEventListener(type: string, listener: () => void): void;
}
type Page = Partial<Listening> & { readonly visibilityState?: string };

/** Calls `back` when this context is online again, and whenever its page, if it has one, is looked at again. @returns the way to stop that */
export function onPageReturn(back: OnReturn): () => void {
  const realm = globalThis as Partial<Listening> & { readonly document?: Page };
  const page = realm.document;
  let hiddenAt = Date.now();
  const onOnline = (): void => back(true);
  const onVisibility = (): void => {
    if (page?.visibilityState === 'visible') back(Date.now() - hiddenAt >= HIDDEN_MS);
    else hiddenAt = Date.now();
  };
  realm.addEventListener?.('online', onOnline);
  page?.addEventListener?.('visibilitychange', onVisibility);
  return () => {
    realm.removeEventListener?.('online', onOnline);
    page?.removeEventListener?.('visibilitychange', onVisibility);
  };
}

const listeners = new Set<OnReturn>();

/** As {@link onPageReturn}, and when a page that this context serves has told so. */
export function onReturn(back: OnReturn): () => void {
  const leave = onPageReturn(back);
  const listener: OnReturn = (isLong) => back(isLong);
  listeners.add(listener);
  return () => {
    leave();
    listeners.delete(listener);
  };
}

/** A page that is served here is back. */
export function tellReturn(isLong: boolean): void {
  for (const listener of [...listeners]) listener(isLong);
}
