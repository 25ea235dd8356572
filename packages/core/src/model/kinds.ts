/** What a value is that came from elsewhere. */

/** A plain JSON object: not `null`, not a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A list of strings. */
export function isTexts(value: unknown): value is string[] {
  if (!Array.isArray(value)) return false;
  // `every` would pass over a hole, which is no string.
  for (const item of value) if (typeof item !== 'string') return false;
  return true;
}

/**
 * A promise of any kind. Not by `instanceof`: where a library has put its own in place of the platform's (zone.js), that of an async
 * function is no instance.
 */
export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function';
