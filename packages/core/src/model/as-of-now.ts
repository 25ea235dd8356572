/** Documents of writes that have to wait: taken when the call is made, so what the caller makes of them meanwhile has no effect. */
import { SPLIT, splitDoc } from './document';

/**
 * A document as it is now; the data of its attachments is read later. What would be refused stays as it is, and is refused when it is
 * written.
 */
export function asOfNow(given: unknown): unknown {
  try {
    const split = splitDoc(given);
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
