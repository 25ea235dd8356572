/**
 * Takes what nobody catches for the time of a test: in Node from the process, in a page from its window.
 */

/**
 * A listener's exception may be reported as an uncaught one, as an event target does. The test runner would count that as
 * its own failure, so this takes it while the test runs; that it is reported is no promise.
 */
export function takeThrownErrors(): { restore: () => void } {
  const scope = globalThis as {
    process?: {
      listeners(event: string): ((error: unknown) => void)[];
      on(event: string, listener: (error: unknown) => void): void;
      off(event: string, listener: (error: unknown) => void): void;
    };
    addEventListener?: (event: string, listener: (event: Event) => void, options?: unknown) => void;
    removeEventListener?: (event: string, listener: (event: Event) => void, options?: unknown) => void;
  };
  const names = ['uncaughtException', 'unhandledRejection'];
  const quiet = (): void => {};
  const node = typeof scope.process?.listeners === 'function' ? scope.process : undefined;
  const before = names.map((name) => node?.listeners(name) ?? []);
  for (const [index, name] of names.entries()) {
    for (const listener of before[index]!) node?.off(name, listener);
    node?.on(name, quiet);
  }
  const swallow = (event: Event): void => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  scope.addEventListener?.('error', swallow, true);
  scope.addEventListener?.('unhandledrejection', swallow, true);
  return {
    restore: () => {
      for (const [index, name] of names.entries()) {
        node?.off(name, quiet);
        for (const listener of before[index]!) node?.on(name, listener);
      }
      scope.removeEventListener?.('error', swallow, true);
      scope.removeEventListener?.('unhandledrejection', swallow, true);
    },
  };
}
