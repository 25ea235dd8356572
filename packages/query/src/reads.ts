/**
 * Which fields of a document a map reads, if its source says so beyond doubt: the map then gets a document with only these, found in
 * the JSON (`text-fields.ts`), as most maps emit one field or two. Making and collecting the whole document is half of a build.
 *
 *   (doc, emit) => emit(doc.score, doc.title)                      score, title
 *   function (doc) { if (doc.type === 'post') emit(doc._id); }     type
 *   ({ score }, emit) => …                                         cannot be told
 *   (doc, emit) => emit(doc.score, doc)                            cannot be told
 *
 * The source is not parsed. It is enough if, wherever the name of the parameter stands as a word (even in a text or a comment, or
 * as a name of something else), a dot and a plain name follow: then the map has no way to see more of the document than these fields.
 */
import type { DocRow, ExistingDoc, Loose, MapFunction } from '@settledb/core';
import { isPlainName, isUnescaped, textField, UNTOLD } from './text-fields';

/** Each field takes a tenth of the time that the whole document takes. */
const FIELDS_MAX = 4;
/** Documents in a row that had to be made whole: their fields are then lists and objects, and further searches are in vain. */
const IN_VAIN_MAX = 16;
/** Longer functions are not searched. */
const SOURCE_MAX = 10_000;
const LAST_ASCII = '\u007f';

/** For functions that stand for others: the original. */
const originals = new WeakMap<MapFunction, MapFunction>();

/** Says that `map` only passes documents on to `original`. */
export function standsFor(map: MapFunction, original: MapFunction): MapFunction {
  originals.set(map, original);
  return map;
}

/** The source of functions, unless they override `toString`. Pages that evaluate nothing may lack `Function`. */
const { toString: sourceOf } = standsFor;

/** The names of the fields that `map` reads, those of `_id` and `_rev` aside; `undefined`: it may read any. */
export function fieldsRead(map: MapFunction): readonly string[] | undefined {
  const source = sourceOf.call(originals.get(map) ?? map);
  // Escapes may spell a name in another way.
  if (source.length > SOURCE_MAX || source.includes('\\u')) return undefined;
  const words = source.match(/[\w$]+|[^\s\w$]/g) as string[]; // Any source has some.
  const parameter = parameterOf(words);
  if (parameter === undefined) return undefined;
  const { name } = parameter;
  const fields = new Set<string>();
  for (let i = parameter.at + 1; i < words.length; i++) {
    if (words[i] === 'arguments' || words[i] === 'eval') return undefined;
    if (words[i] !== name) continue;
    const field = words[i + 2] as string;
    const next = words[i + 3] ?? '';
    // Characters after the name may belong to it, if they are not ASCII letters.
    if (words[i + 1] !== '.' || next > LAST_ASCII || isCalled(words, i + 3)) return undefined;
    if (field === '_id' || field === '_rev') continue;
    // Members of all objects, like `hasOwnProperty`, give access to the whole object.
    if (!isPlainName(field) || field in Object.prototype) return undefined;
    fields.add(field);
  }
  return fields.size > FIELDS_MAX ? undefined : [...fields];
}

/**
 * Whether the expression that ends before `place` is called there, or may be: `doc.a()`, `(doc.a)()`, `doc.a?.()`, `doc.a``, or one of
 * these after a comment. The function, which the map itself must have put there, gets the whole document as `this`.
 */
function isCalled(words: readonly string[], place: number): boolean {
  let at = place;
  while (words[at] === ')') at++;
  if (words[at] === '?' && words[at + 1] === '.') at += 2;
  const [next, second] = words.slice(at, at + 2);
  return next === '(' || next === '`' || (next === '/' && (second === '/' || second === '*'));
}

/** The first parameter: of `doc => …`, `(doc) => …`, `function name(doc) …` and `name(doc) { … }`. */
function parameterOf(words: readonly string[]): { readonly name: string; readonly at: number } | undefined {
  const open = words.indexOf('(');
  const isBare = words[1] === '=' && words[2] === '>';
  const before = words.slice(0, open).filter((word) => word !== 'function');
  const called = before.join(' ');
  // Not a plain name, as in `'(x)'(doc) { … }` and `[(x)](doc) { … }`: the parenthesis may belong to it.
  if (!isBare && (open < 0 || called === 'async' || !/^[\w$]*$/.test(called))) return undefined;
  const at = isBare ? 0 : open + 1;
  const name = words[at];
  const next = words[at + 1];
  if (name === undefined || !/^[a-z_$][\w$]*$/i.test(name)) return undefined;
  return isBare || next === ',' || next === ')' ? { name, at } : undefined;
}

/** Makes documents with only some fields. */
export class PartialDocs {
  readonly #names: readonly string[];
  readonly #sought: readonly string[];
  #inVain = 0;

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#sought = names.map((name) => `${name}"`);
  }

  /** `undefined`: the document has to be made whole. */
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
