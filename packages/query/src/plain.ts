/** Which values are JSON, and come back the same. */
import type { Loose } from '@settledb/core';

/** Nothing deeper is kept; and an object that contains itself has no end. */
const NESTING_MAX = 1_000;

export function isJson(value: Loose, depth = 0): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null)
    return value === null || typeof value === 'string' || typeof value === 'boolean';
  if (depth > NESTING_MAX) return false;
  const isEach = (each: Loose): boolean => isJson(each, depth + 1);
  // `every` would skip holes.
  if (Array.isArray(value)) return !value.includes(undefined) && value.every(isEach);
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(value));
  return isPlain && Object.values(value).every(isEach);
}
