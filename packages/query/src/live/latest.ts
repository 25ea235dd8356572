/** The iteration of a live query. */

interface Observer<Result> {
  next(result: Result): void;
  error(error: unknown): void;
  complete(): void;
}

/** One loop over results: keeps the latest one that was not taken. */
export class LatestIterator<Result> implements AsyncIterator<Result, undefined> {
  readonly #leave: () => void;
  #latest: { readonly value: Result } | undefined;
  #ended: { readonly error?: unknown } | undefined;
  #asked: {
    readonly resolve: (next: IteratorResult<Result, undefined>) => void;
    readonly reject: (error: unknown) => void;
  }[] = [];

  constructor(subscribe: (observer: Observer<Result>) => () => void) {
    this.#leave = subscribe({
      next: (value) => {
        const asked = this.#asked.shift();
        if (asked === undefined) this.#latest = { value };
        else asked.resolve({ value, done: false });
      },
      error: (error) => this.#end({ error }),
      complete: () => this.#end({}),
    });
  }

  next(): Promise<IteratorResult<Result, undefined>> {
    const latest = this.#latest;
    this.#latest = undefined;
    if (latest !== undefined) return Promise.resolve({ value: latest.value, done: false });
    if (this.#ended === undefined)
      return new Promise((resolve, reject) => this.#asked.push({ resolve, reject }));
    const ended = this.#ended;
    this.#ended = {}; // An error is thrown once; then the loop is over.
    return 'error' in ended ? Promise.reject(ended.error) : Promise.resolve(DONE);
  }

  return(): Promise<IteratorResult<Result, undefined>> {
    this.#leave();
    this.#latest = undefined;
    this.#end({});
    return Promise.resolve(DONE);
  }

  #end(ending: { readonly error?: unknown }): void {
    if (this.#ended !== undefined) return;
    this.#ended = ending;
    for (const asked of this.#asked.splice(0)) {
      if ('error' in this.#ended) {
        const { error } = this.#ended;
        this.#ended = {};
        asked.reject(error);
      } else asked.resolve(DONE);
    }
  }
}

const DONE: IteratorResult<never, undefined> = /* @__PURE__ */ Object.freeze({
  value: undefined,
  done: true,
});
