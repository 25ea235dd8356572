/**
 * A value as an error tells of it: as JSON, where that is what was given. For NaN and Infinity JSON has `null`, for a function nothing, and
 * for a cycle or a bigint another error.
 */
export function show(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' && typeof value !== 'string') return String(value);
  try {
    return JSON.stringify(value);
  } catch {
    return 'an object that is no JSON';
  }
}
