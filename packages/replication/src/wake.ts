/**
 * When the world may have changed under open connections: the network is back, the page is looked at again, the machine was
 * asleep. Listeners exist only while somebody wants to know.
 */

/** A page hidden for less keeps its connections. */
const HIDDEN_MS = 30_000;
/** Between two looks at the clock. */
const LOOK_MS = 30_000;
/** So much more than {@link LOOK_MS} between two looks, and the machine was asleep. Timers of hidden pages are late by a minute. */
const SLEPT_MS = 90_000;

interface Listening {
  addEventListener(type: string, listener: () => void): void;
  removeEventListener(type: string, listener: () => void): void;
}
type Page = Partial<Listening> & { readonly visibilityState?: string };

/** Calls `back` when the browser is online again, and whenever the page is looked at again. @returns the way to stop that */
export function onReturn(back: (how: 'online' | 'visible') => void): () => void {
  const realm = globalThis as Partial<Listening> & { readonly document?: Page };
  const page = realm.document;
  const onOnline = (): void => back('online');
  const onVisibility = (): void => {
    if (page?.visibilityState === 'visible') back('visible');
  };
  realm.addEventListener?.('online', onOnline);
  page?.addEventListener?.('visibilitychange', onVisibility);
  return () => {
    realm.removeEventListener?.('online', onOnline);
    page?.removeEventListener?.('visibilitychange', onVisibility);
  };
}

/**
 * Calls `wake` when connections that were open may be dead without anybody having been told: online again, visible after a
 * while, awake after sleep. @returns the way to stop that
 */
export function onWake(wake: () => void): () => void {
  const page = (globalThis as { readonly document?: Page }).document;
  let hiddenAt = Date.now();
  const onHide = (): void => {
    if (page?.visibilityState === 'hidden') hiddenAt = Date.now();
  };
  page?.addEventListener?.('visibilitychange', onHide);
  const leave = onReturn((how) => {
    if (how === 'online' || Date.now() - hiddenAt >= HIDDEN_MS) wake();
  });
  let looked = Date.now();
  const timer = setInterval(() => {
    const slept = Date.now() - looked > LOOK_MS + SLEPT_MS;
    looked = Date.now();
    if (slept) wake();
  }, LOOK_MS) as ReturnType<typeof setInterval> & { unref?: () => void };
  // A process has nothing to do but this: it may end.
  timer.unref?.();
  return () => {
    clearInterval(timer);
    page?.removeEventListener?.('visibilitychange', onHide);
    leave();
  };
}
