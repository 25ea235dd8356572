/**
 * Code that is loaded when it is first needed: programs that do not need it do not wait for it.
 */
import { DatabaseError } from '../model/errors';

export class Later<Code> {
  readonly #what: string;
  readonly #load: () => Promise<Code>;
  #code: Promise<Code> | undefined;

  /** @param what names its purpose: `views and queries` */
  constructor(what: string, load: () => Promise<Code>) {
    this.#what = what;
    this.#load = load;
  }

  /** @throws not_loaded when loading fails (the page is offline, a newer version was deployed); the next call tries again */
  load(): Promise<Code> {
    // In a promise of its own, since what a bundler makes of `import()` may throw at once: webpack's does in a worker.
    this.#code ??= new Promise<Code>((done) => done(this.#load())).catch((cause: unknown) => {
      this.#code = undefined;
      const reason = `The code for ${this.#what} could not be loaded`;
      throw new DatabaseError({ status: 503, name: 'not_loaded', reason, cause });
    });
    return this.#code;
  }

  /** Supplies the code at once: where `import()` is forbidden, as in service workers, and for pages that may be offline later. */
  bring(code: Code): void {
    this.#code = Promise.resolve(code);
  }
}
