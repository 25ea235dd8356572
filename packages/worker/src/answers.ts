/**
 * Answers on their way to the page: long lists go in parts, so that no task of the page parses a long one at once; bytes and
 * streams of an answer are handed over rather than copied.
 */
import type { BulkDocsRow } from '@settledb/core';
import { isPlain, isWhole } from './arguments-kinds';
import { PART } from './wire';

/** Members of an answer that may be long lists. */
const LISTS = ['rows', 'results', 'docs', 'indexes'] as const;

interface TextRow {
  readonly id: string;
  readonly value: { readonly rev: string };
  /** JSON. */
  readonly doc: string;
}

/** Whether it is an answer of `allDocs` to `askForTexts` that has texts. Those of a remote database have none. */
export const hasTexts = (answer: unknown): answer is { rows: unknown[] } =>
  (answer as { rows?: Partial<TextRow>[] }).rows?.some(({ doc }) => typeof doc === 'string') ?? false;

/**
 * Rows of such an answer as a whole message: only the document where it says all of its row, and any other row in a list. Joined in
 * one step: text put together in several steps is copied once more when it is sent, which is half of what sending costs.
 * @param more JSON of a further operation
 */
export function messageOf(id: number, rows: readonly unknown[], more?: string): string {
  const texts = (rows as readonly TextRow[]).map((row) =>
    typeof row.doc === 'string' ? row.doc : JSON.stringify([row]),
  );
  texts[0] = `[["docs",${id},[${texts[0] ?? ''}`;
  texts[texts.length - 1] += more === undefined ? ']]]' : `]],${more}]`;
  return texts.join();
}

/** The rows that {@link messageOf} was given. */
export function rowsOf(items: readonly unknown[]): unknown[] {
  return items.map((item) => {
    if (Array.isArray(item)) return item[0] as unknown;
    const doc = item as { _id: string; _rev: string };
    return { id: doc._id, key: doc._id, value: { rev: doc._rev }, doc };
  });
}

/**
 * Rows of `bulkDocs`: id and revision of each written document in sequence, and other rows as they are. This costs half as much to
 * make and to parse as the rows themselves.
 */
export function flatRows(rows: readonly BulkDocsRow[]): unknown[] {
  const flat: unknown[] = [];
  for (const row of rows) {
    if ('error' in row) flat.push(row);
    else flat.push(row.id, row.rev);
  }
  return flat;
}

/** The rows that {@link flatRows} was given. */
export function writtenRows(flat: readonly unknown[]): unknown[] {
  const rows: unknown[] = [];
  for (let at = 0; at < flat.length; at++) {
    const id = flat[at];
    rows.push(typeof id === 'string' ? { ok: true, id, rev: flat[++at] } : id);
  }
  return rows;
}

/** Verbs whose answers are plain JSON: see `Message`. For lists of documents, JSON gains nothing over the clone. */
const JSON_VERBS = new Set([
  ...['put', 'post', 'remove', 'bulkDocs', 'get', 'info', 'id', 'revsDiff'],
  ...['putAttachment', 'removeAttachment', 'purge', 'compact'],
]);

export function isJsonAnswer(verb: string, [, options]: readonly unknown[]): boolean {
  // Base64 is faster to copy than to go through as JSON; and with `binary` there is none.
  const more = options as
    | { readonly attachments?: unknown; readonly atts_since?: unknown }
    | null
    | undefined;
  return JSON_VERBS.has(verb) && (verb !== 'get' || !(more?.attachments || more?.atts_since));
}

interface AnswerParts {
  readonly value: unknown;
  /** Sent before `value`, if it is long. */
  readonly parts: readonly (readonly unknown[])[];
  /** Where they belong: a member of the value, or `''` for the value itself. */
  readonly list?: string;
}

/**
 * @param most items that are sent with the answer itself; more come in parts
 * @param length characters of documents' texts that end a part
 */
export function inParts(value: unknown, most = PART, length = Number.POSITIVE_INFINITY): AnswerParts {
  if (Array.isArray(value)) {
    return value.length > most ? { value: [], parts: split(value, length), list: '' } : { value, parts: [] };
  }
  if (typeof value !== 'object' || value === null) return { value, parts: [] };
  for (const list of LISTS) {
    const items = (value as Record<string, unknown>)[list];
    if (!Array.isArray(items) || items.length <= most) continue;
    return { value: { ...value, [list]: [] }, parts: split(items, length), list };
  }
  return { value, parts: [] };
}

/** The value that {@link inParts} was given. */
export function whole(
  value: unknown,
  parts: readonly (readonly unknown[])[] | undefined,
  list: string | undefined,
): unknown {
  if (list === undefined) return value;
  const items = parts?.length === 1 ? parts[0]! : (parts?.flat() ?? []);
  return list === '' ? items : { ...(value as object), [list]: items };
}

function split(items: readonly unknown[], length: number): unknown[][] {
  const parts: unknown[][] = [];
  let from = 0;
  let left = length;
  for (let at = 0; at < items.length; at++) {
    const { doc } = (items[at] ?? {}) as Partial<TextRow>;
    if (typeof doc === 'string') left -= doc.length;
    if (at - from + 1 < PART && left > 0) continue;
    parts.push(items.slice(from, at + 1));
    from = at + 1;
    left = length;
  }
  if (from < items.length) parts.push(items.slice(from));
  return parts;
}

/** Deep enough for `rows[].doc._attachments[].data` and `results[].docs[].ok._attachments[].data`. */
const DEPTH = 9;

/** The buffers and streams in a value that can be handed over to its receiver. */
export function transferables(value: unknown): Transferable[] {
  const found = new Set<Transferable>();
  collect(value, found, DEPTH);
  return [...found];
}

function collect(value: unknown, found: Set<Transferable>, depth: number): void {
  if (typeof value !== 'object' || value === null || depth === 0) return;
  if (value instanceof ArrayBuffer) found.add(value);
  else if (ArrayBuffer.isView(value)) {
    // A view of a part is copied: the rest of the buffer may be in use.
    if (isWhole(value)) found.add(value.buffer as ArrayBuffer);
  } else if (typeof ReadableStream !== 'undefined' && value instanceof ReadableStream) {
    found.add(value as unknown as Transferable);
  } else if (Array.isArray(value)) for (const each of value) collect(each, found, depth - 1);
  else if (isPlain(value)) for (const each of Object.values(value)) collect(each, found, depth - 1);
}
