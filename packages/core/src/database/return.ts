/**
 * Tells when somebody comes back: the network to the page, or a person. A worker does not notice this itself, so its pages tell it,
 * by calling {@link tellReturn} there. Listeners exist only while somebody wants to know.
 */

/** A page hidden for less time keeps its connections. */
const HIDDEN_MS = 30_000;

/** @param isLong away for so long that connections may have died unnoticed */
type OnReturn = (isLong: boolean) => void;

interface Listening {
  addEventListener(type: string, listener: () => void): void;
  removeEventListener(type: string, listener: () => void): void;
}
type Page = Partial<Listening> & { readonly visibilityState?: string };

/** Calls `back` when this context is online again, and whenever its page, if it has one, is shown again. @returns the way to stop */
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

/** As {@link onPageReturn}; also when a page that this context serves reports a return. */
export function onReturn(back: OnReturn): () => void {
  const leave = onPageReturn(back);
  const listener: OnReturn = (isLong) => back(isLong);
  listeners.add(listener);
  return () => {
    leave();
    listeners.delete(listener);
  };
}

/** Reports that a page served here is back. */
export function tellReturn(isLong: boolean): void {
  for (const listener of [...listeners]) listener(isLong);
}
