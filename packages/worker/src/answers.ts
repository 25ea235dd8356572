/**
 * Answers on their way to the page: long lists in parts, so that no task of the page takes a long one apart at once; what an
 * answer owns (bytes, streams) handed over rather than copied.
 */
import { PART } from './wire';

/** Members of an answer that may be long lists. */
const LISTS = ['rows', 'results', 'docs', 'indexes'] as const;

export interface AnswerParts {
  readonly value: unknown;
  /** Sent before `value`, where it is long. */
  readonly parts: readonly (readonly unknown[])[];
  /** Where they belong: a member of the value, or `''` for itself. */
  readonly list?: string;
}

export function inParts(value: unknown): AnswerParts {
  if (Array.isArray(value)) {
    return value.length > PART ? { value: [], parts: split(value), list: '' } : { value, parts: [] };
  }
  if (typeof value !== 'object' || value === null) return { value, parts: [] };
  for (const list of LISTS) {
    const items = (value as Record<string, unknown>)[list];
    if (!Array.isArray(items) || items.length <= PART) continue;
    return { value: { ...value, [list]: [] }, parts: split(items), list };
  }
  return { value, parts: [] };
}

/** What {@link inParts} was given. */
export function whole(
  value: unknown,
  parts: readonly (readonly unknown[])[],
  list: string | undefined,
): unknown {
  if (list === undefined) return value;
  const items = parts.flat();
  return list === '' ? items : { ...(value as object), [list]: items };
}

function split(items: readonly unknown[]): unknown[][] {
  const parts: unknown[][] = [];
  for (let at = 0; at < items.length; at += PART) parts.push(items.slice(at, at + PART));
  return parts;
}

/** Deep enough for `rows[].doc._attachments[].data` and `results[].docs[].ok._attachments[].data`. */
const DEPTH = 9;

/** The buffers and streams in a value that its receiver may have as its own. */
export function transferables(value: unknown): Transferable[] {
  const found = new Set<Transferable>();
  collect(value, found, DEPTH);
  return [...found];
}

function collect(value: unknown, found: Set<Transferable>, depth: number): void {
  if (typeof value !== 'object' || value === null || depth === 0) return;
  if (value instanceof ArrayBuffer) found.add(value);
  else if (ArrayBuffer.isView(value)) {
    // A view of a part is copied: the rest of the buffer may be somebody's.
    if (value.buffer instanceof ArrayBuffer && value.byteLength === value.buffer.byteLength)
      found.add(value.buffer);
  } else if (typeof ReadableStream !== 'undefined' && value instanceof ReadableStream) {
    found.add(value as unknown as Transferable);
  } else if (Array.isArray(value)) for (const each of value) collect(each, found, depth - 1);
  else if (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null)
    for (const each of Object.values(value)) collect(each, found, depth - 1);
}
