/**
 * Running a map function: one document in, its rows out, in the order in which an index keeps them.
 *
 * A function that takes `(doc, emit)` is simply called. One that takes `(doc)` finds `emit` as a global while it
 * runs: so functions written for CouchDB and PouchDB work as they are, closures and all, and nothing is evaluated.
 */
import {
  compareKeys,
  type DocRow,
  type ExistingDoc,
  isLate,
  joinDoc,
  type Loose,
  losersOf,
  type MapFunction,
  toJson,
  toKey,
} from '@settledb/core';
import { fieldsRead, PartialDocs } from './reads';

/** One row that a document emitted: `toKey` of the key, JSON of the value (`null` is left out). */
export interface Emitted {
  readonly key: string;
  readonly value: string | undefined;
}

const NONE: readonly Emitted[] = [];

export type SourceDoc = ExistingDoc<Record<string, Loose>>;

/** Which rows to make. All others are counted all the same. */
export interface RowFilter {
  /** Called with the key as it is emitted, which is cheaper to test: false if the row is surely not wanted. */
  readonly key?: ((key: unknown) => boolean) | undefined;
  readonly row: (key: string, id: string) => boolean;
  /** Called with the rows of a document when the map has succeeded. */
  readonly made?: ((rows: readonly Emitted[]) => void) | undefined;
}

/** A map function made ready. It is given documents one after the other. */
export class Mapper {
  readonly #call: MapFunction;
  readonly #wanted: RowFilter | undefined;
  /** Set if the map reads only some fields. */
  readonly #partial: PartialDocs | undefined;
  #rows: Emitted[] | undefined;
  #id = '';
  /** Rows that all documents so far emitted, wanted or not. */
  emitted = 0;

  /** @param wanted which rows to make. Default: all */
  constructor(map: MapFunction, wanted?: RowFilter) {
    this.#wanted = wanted;
    const fields = fieldsRead(map);
    this.#partial = fields && new PartialDocs(fields);
    this.#call = map.length < 2 ? (doc, emit) => withGlobals({ emit }, () => map(doc, emit)) : map;
  }

  /** The document of a row read with {@link DOC_TEXTS}, or what the map sees of it. */
  docOf(row: DocRow): SourceDoc {
    return this.#partial?.of(row) ?? docOf(row);
  }

  /**
   * The rows of a document, by key and then by value. The document belongs to the map from now on.
   * @throws what the map throws, and 400 for a key or value that is not JSON: the document then has no rows
   */
  run(doc: SourceDoc): readonly Emitted[] {
    const rows: Emitted[] = [];
    const before = this.emitted;
    this.#rows = rows;
    this.#id = doc._id;
    try {
      isLate(this.#call(doc, this.#emit)); // Then only what it emits at once counts, and nobody hears what it comes to.
    } catch (error) {
      this.emitted = before;
      throw error;
    } finally {
      this.#rows = undefined; // What is emitted after this is ignored.
    }
    this.#wanted?.made?.(rows);
    return rows.length < 2 ? (rows.length === 0 ? NONE : rows) : rows.sort(compareRows);
  }

  readonly #emit = (key?: unknown, value?: unknown): void => {
    if (this.#rows === undefined) return;
    const wanted = this.#wanted;
    const text = wanted?.key?.(key) === false ? undefined : toKey(key);
    if (text !== undefined && (wanted === undefined || wanted.row(text, this.#id)))
      this.#rows.push({ key: text, value: valueText(value) });
    else if (mayNotBeJson(value)) toJson(value); // It throws in every range then, as in an index that is stored.
    this.emitted++; // A value that is not JSON makes no row, whether or not the map goes on.
  };
}

function compareRows(a: Emitted, b: Emitted): number {
  if (a.key !== b.key) return a.key < b.key ? -1 : 1;
  return compareKeys(parseValue(a.value), parseValue(b.value));
}

/** Nearly all values are known at once to be JSON. */
const mayNotBeJson = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null) || typeof value === 'function' || typeof value === 'bigint';

function valueText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined;
  const text = toJson(value);
  return text === 'null' ? undefined : text;
}

/** A value that is a plain text, as many are, is cut out: parsing takes ten times as long. A number is converted. */
export function parseValue(text: string | undefined): Loose {
  if (text === undefined) return null;
  const first = text.charCodeAt(0);
  if (first <= DIGIT_9 && first !== QUOTE) return Number(text); // It has no spaces.
  if (first !== QUOTE || text.includes('\\')) return JSON.parse(text);
  return text.slice(1, -1);
}

const QUOTE = 34;
const DIGIT_9 = 57;

/** Gives `names` to all code while `work` runs. */
export function withGlobals<T>(names: Record<string, unknown>, work: () => T): T {
  const globals = globalThis as Record<string, unknown>;
  const before = Object.keys(names).map((name) => Object.getOwnPropertyDescriptor(globals, name));
  Object.assign(globals, names);
  try {
    return work();
  } finally {
    for (const [i, name] of Object.keys(names).entries()) {
      const old = before[i];
      if (old === undefined) delete globals[name];
      else Object.defineProperty(globals, name, old);
    }
  }
}

/** The texts of a document's row that mapping needs. */
export const DOC_TEXTS = ['body', 'tree'] as const;

/** The document of a row read with {@link DOC_TEXTS}, as a map sees it: the winner, with `_conflicts` when there are any. */
export function docOf(row: DocRow): SourceDoc {
  const body = (row.body as string | undefined) ?? '{}';
  const losers = losersOf(row);
  return joinDoc(row.id, row.rev, false, body, losers && { _conflicts: losers });
}
