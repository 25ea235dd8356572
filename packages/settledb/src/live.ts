/** `db.live` before its code is there: the first subscription to any of its results loads the code. */
import {
  type AllDocsOptions,
  type AllDocsResult,
  type AllDocsRow,
  askedNow,
  BasicFeed,
  type CallOptions,
  checkSignal,
  type FindRequest,
  type FullRow,
  inMicrotask,
  type Json,
  type Loose,
  type MapFunction,
  type MappedResult,
  onAbort,
  type ViewOptions,
  type ViewResult,
  type ViewSource,
} from '@settledb/core';
import type { LiveObserver, LiveQueries, LiveQuery, Unsubscribe } from '@settledb/query';
import type { FieldPath, FindOptions, Found } from './find-options';
import type { AnyContent, KeyRow } from './options';

/** What `db.live` offers. Each result works while somebody subscribes to it or iterates over it. */
export interface LazyLive<Content extends AnyContent> {
  /** Documents that match: without a `limit` all of them, up to 10,000. It gives no bookmark and no statistics. */
  find<const Path extends FieldPath<Content> = never>(
    request: FindOptions<Content, Path>,
  ): LiveQuery<Found<Content, Path>>;
  /** Rows of a view. */
  query<Key = Json, Value = Loose>(
    view: string | MapFunction<Content> | ViewSource<Content>,
    options: ViewOptions & { reduce: false },
  ): LiveQuery<MappedResult<Content, Key, Value>>;
  /** Rows of a map function. */
  query<Key = Json, Value = Loose>(
    map: MapFunction<Content>,
    options?: ViewOptions & { reduce?: false | undefined },
  ): LiveQuery<MappedResult<Content, Key, Value>>;
  /** Rows of a view, which may be reduced. */
  query<Key = Json, Value = Loose>(
    view: string | MapFunction<Content> | ViewSource<Content>,
    options?: ViewOptions,
  ): LiveQuery<ViewResult<Content, Key, Value>>;
  /** Documents by id: all, or a range. With `include_docs` each row has its `doc`. */
  allDocs(
    options: AllDocsOptions & { include_docs: true; keys?: undefined },
  ): LiveQuery<AllDocsResult<Content, FullRow<Content>>>;
  /** Documents by id: all, or a range. */
  allDocs(
    options?: AllDocsOptions & { keys?: undefined },
  ): LiveQuery<AllDocsResult<Content, AllDocsRow<Content>>>;
  /** Documents by id: all, a range, or those named by `keys`, of which some may be missing. */
  allDocs(options?: AllDocsOptions): LiveQuery<AllDocsResult<Content, KeyRow<Content>>>;
}

export function lazyLive<Content extends AnyContent>(load: () => Promise<LiveQueries>): LazyLive<Content> {
  const lazy = <Options extends CallOptions>(
    options: Options | null | undefined,
    make: (live: LiveQueries, asked: Options) => LiveQuery<unknown>,
  ) => {
    checkSignal(options);
    const asked = askedNow(options) as Options;
    return new LazyQuery(() => load().then((live) => make(live, asked)), options?.signal) as LiveQuery<never>;
  };
  const live: LazyLive<Content> = {
    find: (request) => lazy(request as FindRequest, (live, asked) => live.find(asked)),
    query: (view, options) => lazy(options, (live, asked) => live.query(view, asked)),
    allDocs: (options?: AllDocsOptions) => lazy(options, (live, asked) => live.allDocs(asked)),
  };
  // Pages follow this verb, because their live results are their own: not for programs.
  const purges = (): BasicFeed<true, void> =>
    new BasicFeed(async (controller) => (await load()).tellPurges(controller));
  return Object.assign(live, { purges });
}

/** By this, consumers of observables know one. */
const observableSymbol: symbol =
  (Symbol as { readonly observable?: symbol }).observable ?? Symbol.for('observable');

const DONE: IteratorResult<never, undefined> = { value: undefined, done: true };

/** Throws at the call: once the code is loaded, nobody would hear of the error. */
function checkObserver(observer: unknown): void {
  if (typeof observer === 'function') return;
  const { next, error, complete } = (observer ?? { next: 'none' }) as Record<string, unknown>;
  const isObserver = typeof observer === 'object';
  if (!isObserver || [next, error, complete].some((each) => each != null && typeof each !== 'function'))
    throw new TypeError('subscribe takes a function, or an observer: { next, error, complete }');
}

/** What a live result is that ended before the database was open, or its code there. */
const ENDED: LiveQuery<never> = {
  current: undefined,
  subscribe(observer) {
    if (typeof observer === 'object') inMicrotask(() => observer.complete?.());
    return Object.assign(() => {}, { unsubscribe() {} });
  },
  [Symbol.asyncIterator]: () => ({ next: async () => DONE }),
  cancel() {},
};

class LazyQuery<Result> implements LiveQuery<Result> {
  readonly #load: () => Promise<LiveQuery<Result>>;
  readonly #signal: AbortSignal | null | undefined;
  #loading: Promise<LiveQuery<Result>> | undefined;
  #loaded: LiveQuery<Result> | undefined;
  #isEnded = false;
  /** Ends what waits for the loading. */
  #end: () => void = () => {};

  constructor(load: () => Promise<LiveQuery<Result>>, signal: AbortSignal | null | undefined) {
    this.#load = load;
    this.#signal = signal;
  }

  /** As of an `Emitter`: Vue leaves it alone. */
  get [Symbol.toStringTag](): string {
    return 'LiveQuery';
  }

  get current(): Result | undefined {
    return this.#loaded?.current;
  }

  readonly subscribe = (observer: LiveObserver<Result>): Unsubscribe => {
    checkObserver(observer);
    let leave: () => void = () => {};
    let left = false;
    if (this.#loaded !== undefined) leave = this.#loaded.subscribe(observer);
    else
      this.#get().then(
        (live) => {
          if (!left) leave = live.subscribe(observer);
        },
        (error: unknown) => {
          if (left) return;
          if (typeof observer === 'object' && observer.error) observer.error(error);
          else void Promise.reject(error); // Nobody else would hear of the error.
        },
      );
    const unsubscribe = (): void => {
      left = true;
      leave();
    };
    return Object.assign(unsubscribe, { unsubscribe });
  };

  [Symbol.asyncIterator](): AsyncIterator<Result, undefined> {
    let inner: Promise<AsyncIterator<Result, undefined>> | undefined;
    let left = false;
    // Not an async generator: its `return` would wait for the result that `next` waits for.
    return {
      next: async () => {
        if (left) return DONE;
        inner ??= this.#get().then((live) => live[Symbol.asyncIterator]());
        const results = await inner;
        return left ? DONE : results.next();
      },
      return: async () => {
        left = true;
        inner?.then((results) => results.return?.()).catch(() => {}); // `next` has reported the error then.
        return DONE;
      },
    };
  }

  [observableSymbol](): this {
    return this;
  }

  /** What RxJS looks for where nobody has defined `Symbol.observable`. */
  '@@observable'(): this {
    return this;
  }

  cancel(): void {
    this.#isEnded = true;
    this.#end();
    this.#get().then(
      (live) => live.cancel(),
      () => {},
    );
  }

  #get(): Promise<LiveQuery<Result>> {
    this.#loading ??= this.#untilEnded().then(
      (live) => {
        this.#loaded = live;
        return live;
      },
      (error: unknown) => {
        this.#loading = undefined; // The next call tries again.
        throw error;
      },
    );
    return this.#loading;
  }

  /** What was asked to load may take long: opening may wait for another tab, and a worker may not answer. */
  #untilEnded(): Promise<LiveQuery<Result>> {
    return new Promise((resolve, reject) => {
      const end = (): void => resolve(ENDED);
      if (this.#isEnded || this.#signal?.aborted) return end();
      this.#end = end;
      const stop = this.#signal && onAbort(this.#signal, end);
      this.#load().then(resolve, reject).finally(stop);
    });
  }
}
