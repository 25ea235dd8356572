/** What the platform says nobody handled, for tests that provoke it. Takes the place of the test runner's own listeners. */

type Kind = 'unhandledRejection' | 'uncaughtException';

/** Rejections that nobody handled while `act` ran and what it had begun went on: up to one that is made to come after all. */
export async function unhandledBy(act: () => unknown): Promise<unknown[]> {
  const seen: unknown[] = [];
  let last!: () => void;
  const marked = new Promise<void>((resolve) => {
    last = resolve;
  });
  const stop = listen('unhandledRejection', (reason) => {
    if (reason === 'marker') last();
    else seen.push(reason);
  });
  await act();
  setTimeout(() => void Promise.reject('marker'));
  await marked;
  stop();
  return seen;
}

/** The first `count` exceptions that nobody caught. */
export function uncaught(count: number): { readonly seen: Promise<unknown[]>; readonly stop: () => void } {
  const errors: unknown[] = [];
  let stop = (): void => {};
  const seen = new Promise<unknown[]>((resolve) => {
    stop = listen('uncaughtException', (error) => {
      errors.push(error);
      if (errors.length === count) resolve(errors);
    });
  });
  return { seen, stop };
}

function listen(kind: Kind, tell: (value: unknown) => void): () => void {
  if (typeof document === 'undefined') {
    const others = process.listeners(kind as 'uncaughtException');
    process.removeAllListeners(kind).on(kind as 'uncaughtException', tell);
    return () => {
      process.off(kind, tell);
      for (const other of others) process.on(kind as 'uncaughtException', other);
    };
  }
  const name = kind === 'uncaughtException' ? 'error' : 'unhandledrejection';
  const onPage = (event: Event): void => {
    event.preventDefault();
    event.stopImmediatePropagation();
    tell((event as ErrorEvent).error ?? (event as PromiseRejectionEvent).reason);
  };
  globalThis.addEventListener(name, onPage, true);
  return () => globalThis.removeEventListener(name, onPage, true);
}
