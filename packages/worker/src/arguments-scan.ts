/** Finds in a call's options what cannot be cloned: signals, handles of databases, functions. */
import { badRequest, type DatabaseError, isSignal } from '@settledb/core';
import { isBinary, isObject, isPlain, withOwnJson } from './arguments-kinds';
import type { Patch, Path } from './wire';

const NAMED = Symbol.for('settledb.named');

/**
 * Stands for a function that was given to the host under this name (`host({ functions: { name } })`), wherever a filter, a map or a
 * reduce function is expected.
 */
export function named(name: string): (...args: unknown[]) => never {
  const stand = (): never => {
    throw new TypeError(`The function '${name}' is in the worker`);
  };
  return Object.assign(stand, { [NAMED]: name });
}

/** What encoding needs to know of the page. */
export interface Encoding {
  /** Whether functions may cross as their source. */
  readonly functions: 'refuse' | 'source';
  /** The number of a handle of this page. */
  handleOf(value: object): number | undefined;
}

/** Takes out of options what cannot be cloned, and notes where it stood. */
export class Scan {
  readonly #encoding: Encoding;
  readonly #patches: Patch[] = [];
  readonly #signals: AbortSignal[] = [];

  constructor(encoding: Encoding) {
    this.#encoding = encoding;
  }

  get found(): { patches?: readonly Patch[]; signals: readonly AbortSignal[] } {
    return this.#patches.length === 0
      ? { signals: this.#signals }
      : { patches: this.#patches, signals: this.#signals };
  }

  clean(value: unknown, path: Path, depth: number): unknown {
    if (typeof value === 'function') return this.#function(value as (...args: never[]) => unknown, path);
    if (!isObject(value) || isBinary(value)) return value;
    // A list as an argument may hold options, as for `queries`; lists further in are long, and hold keys or documents.
    if (Array.isArray(value))
      return path.length > 1
        ? withOwnJson(value)
        : value.map((each, at) => this.clean(each, [...path, at], depth - 1));
    if (isSignal(value)) return this.#signal(value, path);
    const handle = this.#encoding.handleOf(value);
    if (handle !== undefined) return this.#note([path, 'handle', handle]);
    if (depth === 0 || !isPlain(value)) return withOwnJson(value);
    const clean: [string, unknown][] = [];
    for (const [key, each] of Object.entries(value)) {
      clean.push([
        key,
        typeof each === 'object' || typeof each === 'function'
          ? this.clean(each, [...path, key], depth - 1)
          : each,
      ]);
    }
    return Object.fromEntries(clean);
  }

  #signal(signal: AbortSignal, path: Path): undefined {
    this.#signals.push(signal);
    return this.#note([path, 'signal']);
  }

  #function(value: ((...args: never[]) => unknown) & { [NAMED]?: string }, path: Path): unknown {
    const name = value[NAMED];
    if (name !== undefined) return this.#note([path, 'named', name]);
    if (this.#encoding.functions !== 'source') throw cannotCross(path);
    return this.#note([path, 'source', Function.prototype.toString.call(value)]);
  }

  #note(patch: Patch): undefined {
    this.#patches.push(patch);
    return undefined;
  }
}

/** Arguments are counted from 1: a lone `0` tells nobody that the first one is meant. */
const cannotCross = ([first, ...rest]: Path): DatabaseError =>
  badRequest(
    `A function (${[`argument ${Number(first) + 1}`, ...rest].join('.')}) cannot cross to the worker. Name a map in the views of the host's class, host({ SettleDB: SettleDB.defaults({ views }) }), or put it into a design document, and pass the name; give any other to host({ functions }) and pass named('…'); or connect with { functions: 'source' } if it refers to nothing outside itself`,
  );
