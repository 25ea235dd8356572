/**
 * Which fields of a document a map reads, where its source says it beyond doubt: it then gets a document of these alone, found in
 * the JSON (`text-fields.ts`), as most maps emit one field or two. To make the whole of it, and to collect it, is half of a build.
 *
 *   (doc, emit) => emit(doc.score, doc.title)                      score, title
 *   function (doc) { if (doc.type === 'post') emit(doc._id); }     type
 *   ({ score }, emit) => …                                         cannot be told
 *   (doc, emit) => emit(doc.score, doc)                            cannot be told
 *
 * The source is not parsed. It is enough that, wherever the name of the parameter stands as a word (be it in a text or a comment, be
 * it a name of something else), a dot and a plain name follow: then the map has no way to see more of the document than these.
 */
import type { DocRow, ExistingDoc, Loose, MapFunction } from '@settledb/core';
import { isPlainName, isUnescaped, textField, UNTOLD } from './text-fields';

/** Each takes a tenth of what the whole document takes. */
const FIELDS_MAX = 4;
/** Documents in a row that had to be made whole: fields are lists and objects then, and looking for them is in vain. */
const IN_VAIN_MAX = 16;
/** Longer functions are not looked through. */
const SOURCE_MAX = 10_000;
const LAST_ASCII = '\u007f';

/** Of functions in the place of others: theirs. */
const originals = new WeakMap<MapFunction, MapFunction>();

/** `map` does nothing with documents but to hand them to `original`. */
export function standsFor(map: MapFunction, original: MapFunction): MapFunction {
  originals.set(map, original);
  return map;
}

/** What functions say of themselves, unless they say otherwise. Pages that evaluate nothing may lack `Function`. */
const { toString: sourceOf } = standsFor;

/** The names of the fields that `map` reads, those of `_id` and `_rev` aside; `undefined`: it may read any. */
export function fieldsRead(map: MapFunction): readonly string[] | undefined {
  const source = sourceOf.call(originals.get(map) ?? map);
  // A name may be written otherwise by escapes.
  if (source.length > SOURCE_MAX || source.includes('\\u')) return undefined;
  const words = source.match(/[\w$]+|[^\s\w$]/g) as string[]; // There are some in any source.
  const parameter = parameterOf(words);
  if (parameter === undefined) return undefined;
  const { name } = parameter;
  const fields = new Set<string>();
  for (let i = parameter.at + 1; i < words.length; i++) {
    if (words[i] === 'arguments' || words[i] === 'eval') return undefined;
    if (words[i] !== name) continue;
    const field = words[i + 2] as string;
    const next = words[i + 3] ?? '';
    // What comes behind it may belong to the name, where it is none of these letters.
    if (words[i + 1] !== '.' || next > LAST_ASCII || isCalled(words, i + 3)) return undefined;
    if (field === '_id' || field === '_rev') continue;
    // What all objects have, as `hasOwnProperty`, sees the object.
    if (!isPlainName(field) || field in Object.prototype) return undefined;
    fields.add(field);
  }
  return fields.size > FIELDS_MAX ? undefined : [...fields];
}

/**
 * Whether what ends before a place is called there, or may be: `doc.a()`, `(doc.a)()`, `doc.a?.()`, `doc.a``, or one of these behind a
 * comment. The function, which the map must have put there, has the whole document as `this`.
 */
function isCalled(words: readonly string[], place: number): boolean {
  let at = place;
  while (words[at] === ')') at++;
  if (words[at] === '?' && words[at + 1] === '.') at += 2;
  const [next, second] = words.slice(at, at + 2);
  return next === '(' || next === '`' || (next === '/' && (second === '/' || second === '*'));
}

/** The first one: of `doc => …`, `(doc) => …`, `function name(doc) …` and `name(doc) { … }`. */
function parameterOf(words: readonly string[]): { readonly name: string; readonly at: number } | undefined {
  const open = words.indexOf('(');
  const isBare = words[1] === '=' && words[2] === '>';
  const before = words.slice(0, open).filter((word) => word !== 'function');
  const called = before.join(' ');
  // No plain name, as in `'(x)'(doc) { … }` and `[(x)](doc) { … }`: that may have the parenthesis.
  if (!isBare && (open < 0 || called === 'async' || !/^[\w$]*$/.test(called))) return undefined;
  const at = isBare ? 0 : open + 1;
  const name = words[at];
  const next = words[at + 1];
  if (name === undefined || !/^[a-z_$][\w$]*$/i.test(name)) return undefined;
  return isBare || next === ',' || next === ')' ? { name, at } : undefined;
}

/** Makes documents of some fields. */
export class PartialDocs {
  readonly #names: readonly string[];
  readonly #sought: readonly string[];
  #inVain = 0;

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#sought = names.map((name) => `${name}"`);
  }

  /** `undefined`: it has to be made whole. */
  of({ id, rev, body = '{}' }: DocRow): ExistingDoc<Record<string, Loose>> | undefined {
    const text = body as string;
    if (this.#inVain >= IN_VAIN_MAX || !isUnescaped(text)) return undefined;
    const doc: ExistingDoc<Record<string, Loose>> = { _id: id, _rev: rev };
    for (let i = 0; i < this.#sought.length; i++) {
      const value = textField(text, this.#sought[i]!);
      if (value === UNTOLD) {
        this.#inVain++;
        return undefined;
      }
      if (value !== undefined) doc[this.#names[i]!] = value;
    }
    this.#inVain = 0;
    return doc;
  }
}
