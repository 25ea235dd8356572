/**
 * Documents' JSON as it stands in the text of a request: what arrived as `JSON.stringify` writes it need not be written again, which
 * saves a fifth of what a bulk write costs (`docs/decisions/0019-requests.md`).
 *
 * Each text is compared, from its first character to its last, with the value that was parsed from it. A document with spaces, a key
 * twice, keys that JavaScript puts in another order, `1.0` or an unnecessary escape does not match and is written anew: equal content has one
 * text, and one revision.
 */

/** Depth of nested lists and objects; deeper ones are left to `JSON.stringify`, which does not recurse. */
const DEPTH_MAX = 64;

const NOWHERE = -1;
const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const LIST_BEGINS = 91;
const LIST_ENDS = 93;
const OBJECT_BEGINS = 123;
const OBJECT_ENDS = 125;

const DOCS_BEGIN = '"docs":[';

/**
 * The JSON of the first of `docs`, as many as stand in `text` one after the other as `JSON.stringify` writes them.
 *
 * @param text JSON of an object with a list `docs`
 */
export function textsOf(docs: readonly object[], text: string): string[] {
  const texts: string[] = [];
  const json = new Json(text);
  let at = text.indexOf(DOCS_BEGIN) + DOCS_BEGIN.length;
  for (const doc of docs) {
    const end = json.endOf(doc, at, DEPTH_MAX);
    if (end === NOWHERE) break;
    texts.push(text.slice(at, end));
    at = end + 1;
  }
  return texts;
}

/** Finds where values end in a text. {@link NOWHERE}: the text is not what `JSON.stringify` makes of them. */
class Json {
  readonly #text: string;
  readonly #hasNoEscapes: boolean;

  constructor(text: string) {
    this.#text = text;
    this.#hasNoEscapes = !text.includes('\\');
  }

  endOf(value: unknown, at: number, depth: number): number {
    if (typeof value === 'string') return this.#endOfString(value, at);
    // The number in the text may be longer, like `1.0` for `1`: then what must follow it is not found.
    if (typeof value !== 'object' || value === null) return this.#endOfWord(String(value), at);
    if (depth === 0) return NOWHERE;
    return Array.isArray(value)
      ? this.#endOfList(value, at, depth)
      : this.#endOfObject(value as Record<string, unknown>, at, depth);
  }

  /** Compares a slice: `startsWith` goes from character to character, and takes thirty times as long for 180. */
  #endOfWord(word: string, at: number): number {
    const end = at + word.length;
    return this.#text.slice(at, end) === word ? end : NOWHERE;
  }

  /**
   * Between two quotes, only the string itself can stand if it has no backslash and no quote: characters that need an escape have
   * one. A quote in it would end a string in the text, which might belong to another document than the one looked for.
   */
  #endOfString(value: string, at: number): number {
    const end = at + value.length + 1;
    const isPlain =
      this.#is(QUOTE, at) &&
      this.#is(QUOTE, end) &&
      this.#text.slice(at + 1, end) === value &&
      (this.#hasNoEscapes || !(value.includes('\\') || value.includes('"')));
    return isPlain ? end + 1 : this.#hasNoEscapes ? NOWHERE : this.#endOfWord(JSON.stringify(value), at);
  }

  #endOfList(values: readonly unknown[], at: number, depth: number): number {
    let before = LIST_BEGINS;
    let next = at;
    for (let i = 0; i < values.length; i++) {
      if (!this.#is(before, next)) return NOWHERE;
      next = this.endOf(values[i], next + 1, depth - 1);
      if (next === NOWHERE) return NOWHERE;
      before = COMMA;
    }
    if (values.length === 0) return this.#endOfWord('[]', at);
    return this.#is(LIST_ENDS, next) ? next + 1 : NOWHERE;
  }

  #endOfObject(fields: Record<string, unknown>, at: number, depth: number): number {
    let before = OBJECT_BEGINS;
    let next = at;
    for (const key in fields) {
      if (!this.#is(before, next)) return NOWHERE;
      next = this.#endOfString(key, next + 1);
      if (next === NOWHERE || !this.#is(COLON, next)) return NOWHERE;
      next = this.endOf(fields[key], next + 1, depth - 1);
      if (next === NOWHERE) return NOWHERE;
      before = COMMA;
    }
    if (before === OBJECT_BEGINS) return this.#endOfWord('{}', at);
    return this.#is(OBJECT_ENDS, next) ? next + 1 : NOWHERE;
  }

  #is(character: number, at: number): boolean {
    return this.#text.charCodeAt(at) === character;
  }
}
