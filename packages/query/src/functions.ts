/** Functions of views: given as they are, or compiled from text where that is allowed; equal ones get equal ids. */
import {
  compilationError,
  DatabaseError,
  type Evaluate,
  hash128,
  isDatabaseError,
  isLate,
  type Loose,
  type MapFunction,
  type ReduceFunction,
  thrownText,
} from '@settledb/core';
import { withGlobals } from './map';
import { standsFor } from './reads';
import { builtIn, checkReduce, customReducer, HELPERS, isBuiltIn, type Reducer } from './reducers';
import { remember } from './remember';

/** 32 hex digits that depend on all of the texts. */
export const textHash = (...texts: readonly string[]): string => hash128(0, 0, 0, 0, JSON.stringify(texts));

export class Functions {
  readonly #evaluate: Evaluate | undefined;
  readonly #failed: (error: DatabaseError) => void;
  readonly #maps = new Map<string, MapFunction>();
  readonly #reducers = new Map<string, Reducer>();

  /** @param failed is called with what reduce functions throw */
  constructor(evaluate: Evaluate | undefined, failed: (error: DatabaseError) => void) {
    this.#evaluate = evaluate;
    this.#failed = failed;
  }

  /** @throws DatabaseError if text is not allowed, or cannot be evaluated */
  map(map: MapFunction | string): MapFunction {
    return typeof map === 'function' ? map : kept(this.#maps, map, () => this.#compileMap(map));
  }

  /** @param id of a function, under which its states are stored. @throws DatabaseError like `map`, and for unknown built-ins */
  reducer(reduce: unknown, id?: string): Reducer {
    checkReduce(reduce);
    if (typeof reduce === 'function')
      return customReducer(
        id ?? '',
        (...args) => withGlobals({ sum: HELPERS.sum }, () => reduce(...args)),
        this.#failed,
      );
    return kept(this.#reducers, reduce, () =>
      isBuiltIn(reduce) ? builtIn(reduce) : this.#compileReduce(reduce),
    );
  }

  #compileMap(source: string): MapFunction {
    const none = (): void => {};
    let sink: (key?: unknown, value?: unknown) => void = none;
    const emit = (key?: unknown, value?: unknown): void => sink(key, value);
    const map = this.#compile(source, { emit, ...HELPERS });
    const handed: MapFunction = (doc, given) => {
      sink = given;
      try {
        isLate(map(doc, given)); // Then only what it emits at once counts, and nobody hears what it comes to.
      } finally {
        sink = none; // The function is kept, and would keep what was emitted: the answer of the last query.
      }
    };
    return standsFor(handed, map);
  }

  #compileReduce(source: string): Reducer {
    return customReducer(textHash(source), this.#compile(source, HELPERS) as ReduceFunction, this.#failed);
  }

  #compile(source: string, names: Readonly<Record<string, unknown>>): (...args: Loose[]) => unknown {
    if (this.#evaluate === undefined) throw notEvaluated(source);
    try {
      return this.#evaluate(source, Object.keys(names))(...Object.values(names));
    } catch (cause) {
      throw isDatabaseError(cause) ? cause : compilationError(thrownText(cause), source, cause);
    }
  }
}

function kept<T>(made: Map<string, T>, source: string, make: () => T): T {
  const present = made.get(source);
  if (present !== undefined) return present;
  const value = make();
  remember(made, source, value);
  return value;
}

const notEvaluated = (source: string): DatabaseError =>
  new DatabaseError({
    status: 501,
    name: 'not_implemented',
    reason:
      'This view is kept as text, and text is evaluated only where the program allows it: give SettleDB the option `evaluate` ' +
      `from 'settledb/eval', or the function itself in its option \`views\`. The text: ${source.slice(0, 80)}`,
  });
