/**
 * Files of other programs: CouchDB's `_all_docs?include_docs=true` and `_bulk_docs`, a bare list of documents, and those of
 * pouchdb-dump. They have no checksums; a file that is cut off is recognized by its JSON.
 */
import { badRequest, type DatabaseError, isLocalId, isObject } from '@settledb/core';
import { type AnyDoc, damaged, LINE_LIMIT, truncated } from './format';
import type { Writer } from './writer';

const BATCH = 500;

/** pouchdb-dump: a header, then lines of `{ docs }` and `{ seq }`. @returns the last seq */
export async function loadPouchDump(
  lines: AsyncIterable<readonly string[]>,
  writer: Writer,
): Promise<unknown> {
  let seq: unknown;
  for await (const batch of lines)
    for (const text of batch) {
      if (text.trim() === '') continue;
      const line = parsed(text);
      if (!isObject(line)) throw damaged('a line that is no object');
      if (Array.isArray(line.docs)) await writeDocs(line.docs, writer);
      else if (line.seq !== undefined) seq = line.seq;
    }
  return seq;
}

const notDump = (): DatabaseError => badRequest('This is no dump: no header, and no list of docs or rows');

/** @param line the first, which may be blank @throws bad_request for what is no JSON of these forms: a page, or a film, which is long */
export function checkBeginning(line: string): void {
  if (!/^\s*([[{]|$)/.test(line)) throw notDump();
}

/** One JSON text: a list of documents, or an object with the list `docs` or `rows`. */
export async function loadJson(text: AsyncIterable<string>, writer: Writer): Promise<void> {
  let batch: unknown[] = [];
  const list = new ListScanner();
  for await (const piece of text) {
    for (const element of list.elements(piece)) {
      const doc = documentOf(parsed(element), list.name);
      if (doc !== undefined) batch.push(doc);
      if (batch.length < BATCH) continue;
      await writeDocs(batch, writer);
      batch = [];
    }
  }
  await writeDocs(batch, writer);
  list.end();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw damaged('JSON that is malformed', error);
  }
}

function documentOf(element: unknown, list: string): unknown {
  if (list !== 'rows') return element;
  if (!isObject(element)) throw damaged('a row that is no object');
  // The row of a deleted document, or of a key without a document.
  if (element.doc === null || element.error === 'not_found') return undefined;
  if (element.error !== undefined) throw damaged(`a row says ${JSON.stringify(element.error)}`);
  if (element.doc === undefined) throw badRequest('These rows have no documents: ask with include_docs=true');
  return element.doc;
}

/** Documents with a revision keep it, the others become new ones. `_local` documents belong to the database they were in. */
async function writeDocs(docs: readonly unknown[], writer: Writer): Promise<void> {
  const own = docs.filter((doc) => isObject(doc) && !isLocalId(String(doc._id ?? ''))) as AnyDoc[];
  if (docs.some((doc) => !isObject(doc))) throw damaged('a document that is no object');
  await writer.revisions(own.filter(({ _rev }) => _rev !== undefined));
  await writer.edits(own.filter(({ _rev }) => _rev === undefined));
}

const LISTS = new Set(['docs', 'rows']);
/** Characters noted of a string outside of the list, which may be of any length: they tell those names from all others. */
const NAME_LENGTH = 5;

/** Finds the elements of the list in a JSON text that comes in pieces, without ever holding the whole text. */
class ListScanner {
  /** The name of the list that the elements come from; '' if the text itself is a list. */
  name = '';
  #depth = 0;
  /** Depth of the list's elements; undefined outside of the list. */
  #inside: number | undefined;
  #inString = false;
  #escaped = false;
  /** The beginning of the last string outside of the list: usually a key. */
  #key = '';
  #held = '';
  #found = false;

  *elements(piece: string): Generator<string> {
    let from = 0;
    for (let i = 0; i < piece.length; i++) {
      const char = piece.charCodeAt(i);
      if (this.#inString) {
        this.#readString(char);
        continue;
      }
      switch (char) {
        case QUOTE:
          this.#inString = true;
          if (this.#inside === undefined) this.#key = '';
          break;
        case OPEN_LIST:
        case OPEN_OBJECT:
          if (this.#opens(char)) from = i + 1;
          break;
        case CLOSE_LIST:
        case CLOSE_OBJECT:
          if (this.#closes()) yield* this.#take(piece.slice(from, i));
          break;
        case COMMA:
          if (this.#depth !== this.#inside) break;
          yield* this.#take(piece.slice(from, i));
          from = i + 1;
      }
    }
    if (this.#inside === undefined) return;
    this.#held += piece.slice(from);
    if (this.#held.length > LINE_LIMIT) throw damaged(`a document of more than ${LINE_LIMIT} characters`);
  }

  /** @throws corrupt if the text was incomplete, bad_request if it was of another kind */
  end(): void {
    if (this.#depth !== 0 || this.#inString) throw truncated();
    if (!this.#found) throw notDump();
  }

  #readString(char: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (char === BACKSLASH) this.#escaped = true;
    else if (char === QUOTE) this.#inString = false;
    if (this.#inside === undefined && this.#inString && this.#key.length < NAME_LENGTH)
      this.#key += String.fromCharCode(char);
  }

  /** @returns whether this is the list */
  #opens(char: number): boolean {
    this.#depth++;
    const isList = char === OPEN_LIST && this.#inside === undefined;
    const named = this.#depth === 2 && LISTS.has(this.#key);
    if (!isList || !(this.#depth === 1 || named)) return false;
    this.name = this.#depth === 1 ? '' : this.#key;
    this.#inside = this.#depth;
    this.#found = true;
    return true;
  }

  /** @returns whether this was the list */
  #closes(): boolean {
    this.#depth--;
    if (this.#inside === undefined || this.#depth >= this.#inside) return false;
    this.#inside = undefined;
    return true;
  }

  *#take(rest: string): Generator<string> {
    const text = (this.#held + rest).trim();
    this.#held = '';
    if (text !== '') yield text;
  }
}

const [QUOTE, BACKSLASH, COMMA] = [34, 92, 44];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];
