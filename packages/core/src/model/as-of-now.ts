/** Documents of writes that have to wait: taken when the call is made, so what the caller makes of them meanwhile has no effect. */
import { plainDoc, SPLIT, splitDoc } from './document';
import { isLocalId } from './ids';

/**
 * A document as it is now; the data of its attachments is read later. What would be refused stays as it is, and is refused when it is
 * written.
 */
export function asOfNow(given: unknown): unknown {
  try {
    const doc = plainDoc(given);
    const { _id, _rev } = doc as { _id?: unknown; _rev?: unknown };
    // The revisions of local documents are none that other documents may have.
    const isLocal = typeof _id === 'string' && isLocalId(_id);
    const split = splitDoc(isLocal ? { ...(doc as object), _rev: undefined } : doc);
    return { _id: split.id, _rev: isLocal ? _rev : split.rev, [SPLIT]: split };
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
