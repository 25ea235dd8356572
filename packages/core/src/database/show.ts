/** Characters of a value that are shown: whoever reads the error sees what it is. A text of 5 MB would come back whole. */
const SHOWN_LENGTH = 500;

/**
 * A value as an error tells of it: as JSON, where that is what was given. For NaN and Infinity JSON has `null`, for a function nothing, and
 * for a cycle or a bigint another error. Its beginning, if that is long.
 */
export function show(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' && typeof value !== 'string') return String(value);
  try {
    const text = JSON.stringify(value);
    return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
  } catch {
    return 'an object that is no JSON';
  }
}
