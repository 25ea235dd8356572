/** What calls that have to wait were given: taken when the call is made, so what the caller makes of it meanwhile has no effect. */
import { SPLIT, splitDoc } from './split-doc';

/**
 * A document as it is now; the data of its attachments is read later. What would be refused stays as it is, and is refused when it is
 * written.
 */
export function asOfNow(given: unknown): unknown {
  try {
    const split = splitDoc(given);
    // In place: a copy of what was taken apart would take as long for each document as all else here.
    if (split.revisions !== undefined) split.revisions = askedNow(split.revisions);
    return { _id: split.id, _rev: split.rev, [SPLIT]: split };
  } catch {
    return given;
  }
}

/** The argument of `bulkDocs`, with its documents {@link asOfNow}. */
export function allAsOfNow(input: unknown): unknown {
  if (Array.isArray(input)) return Array.from(input, asOfNow);
  const { docs } = (input ?? {}) as { docs?: unknown };
  return Array.isArray(docs) ? { ...(input as object), docs: Array.from(docs, asOfNow) } : input;
}

/**
 * What a call was given: lists and plain objects anew, all else (patterns, dates, signals) as it is. What would be refused, as a cycle,
 * stays too, and is refused when it is read.
 */
export function askedNow<T>(given: T): T {
  try {
    return anew(given) as T;
  } catch {
    return given;
  }
}

/** @throws RangeError for cycles */
function anew(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value;
  if (Array.isArray(value)) return Array.from(value, anew);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  // With what is told by symbols within the package.
  const copy: Record<string, unknown> = { ...value };
  for (const name of Object.keys(copy)) copy[name] = anew(copy[name]);
  return copy;
}
