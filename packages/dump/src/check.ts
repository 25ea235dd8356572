/** What is refused before anything is read or written. */

/** @throws TypeError naming what must be a function and is none */
export function checkFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw new TypeError(`${name} must be a function`);
}

/** @throws TypeError: found with the first section, it would end a load that has begun */
export function checkProgress({ on_progress }: { readonly on_progress?: unknown }): void {
  if (on_progress != null) checkFunction('on_progress', on_progress);
}

/** @throws TypeError for what is no URL, or is relative where there is no page that it could be relative to */
export function checkUrl(url: unknown): URL {
  const text = typeof url === 'string' ? url : (url as { readonly href?: unknown } | null | undefined)?.href;
  try {
    if (typeof text === 'string') return new URL(text, globalThis.location?.href);
  } catch {
    // Said below.
  }
  throw new TypeError(
    `A snapshot is loaded from the URL of its manifest, not from ${text === undefined ? typeof url : JSON.stringify(text)}`,
  );
}
