/** What is refused before anything is read or written. */

/** @throws TypeError naming what must be a function and is none */
export function checkFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw new TypeError(`${name} must be a function`);
}

/** @throws TypeError: found with the first section, it would end a load that has begun */
export function checkProgress({ on_progress }: { readonly on_progress?: unknown }): void {
  if (on_progress != null) checkFunction('on_progress', on_progress);
}
