/** The work of a live query while somebody listens. */
import { Patience } from '@settledb/core';
import { type Changed, type ChangeHub, type Ending, endingOf, MAX_IDS, RETRY_MS } from './hub';

/** Makes the results of one query. */
export interface Evaluator<Result> {
  /**
   * @param changed what may differ from the last result; `undefined`: everything
   * @param last the result before, whose unchanged parts are kept
   * @returns `last` itself when nothing changed
   */
  evaluate(changed: Changed | undefined, last: Result | undefined): Promise<Result>;
}

/**
 * ms between two evaluations: a frame. A burst of writes causes one evaluation, and a query that takes long runs at most
 * half of the time.
 */
const MIN_INTERVAL_MS = 16;

interface RunEvents<Result> {
  next(result: Result): void;
  end(ending: Ending): void;
}

/** From the first listener to the last: hears changes, evaluates, reports. */
export class Run<Result> {
  current: Result | undefined;
  readonly #hub: ChangeHub;
  readonly #evaluator: Evaluator<Result>;
  readonly #events: RunEvents<Result>;
  readonly #leaveHub: () => void;
  /** Changes heard since the last evaluation began. */
  #changed: Set<string> | 'all' | undefined;
  #last: Result | undefined;
  #evaluating = false;
  #stopped = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #notBefore = 0;
  readonly #patience = new Patience();

  constructor(
    hub: ChangeHub,
    evaluator: Evaluator<Result>,
    last: Result | undefined,
    events: RunEvents<Result>,
  ) {
    this.#hub = hub;
    this.#evaluator = evaluator;
    this.#events = events;
    this.#last = last;
    this.#leaveHub = hub.join({
      ready: () => this.#hear(undefined),
      changed: (ids) => this.#hear(ids),
      end: (ending) => this.#end(ending),
      waits: () => this.current !== undefined,
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#leaveHub();
    clearTimeout(this.#timer);
  }

  #hear(ids: Changed | undefined): void {
    if (this.#changed !== 'all') {
      this.#changed ??= new Set();
      for (const id of ids ?? []) this.#changed.add(id);
      if (ids === undefined || this.#changed.size > MAX_IDS) this.#changed = 'all';
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#stopped || this.#evaluating || this.#timer !== undefined) return;
    const wait = Math.max(0, this.#notBefore - performance.now());
    // Not at once even without a wait: the rest of a burst is on its way.
    this.#timer = setTimeout(() => void this.#evaluate(), wait);
  }

  async #evaluate(): Promise<void> {
    this.#timer = undefined;
    const changed = this.#changed;
    this.#changed = undefined;
    this.#evaluating = true;
    const began = performance.now();
    let retryMs: number | undefined;
    try {
      const first = this.current === undefined;
      const asked = changed === 'all' || first ? undefined : changed;
      const result = await this.#evaluator.evaluate(asked, this.#last);
      if (this.#stopped) return;
      const isNew = first || result !== this.#last;
      this.#last = result;
      this.current = result;
      this.#patience.renew();
      if (isNew) this.#events.next(result);
    } catch (error) {
      retryMs = this.#retryAfter(error);
      if (retryMs === undefined) this.#end(endingOf(error));
      else this.#changed = 'all';
    }
    const now = performance.now();
    this.#notBefore = now + (retryMs ?? Math.max(MIN_INTERVAL_MS, now - began));
    this.#evaluating = false;
    if (this.#changed !== undefined) this.#schedule();
  }

  /** @returns ms after which to ask again, if that is of use. One that has no result yet fails. */
  #retryAfter(error: unknown): number | undefined {
    if (this.current === undefined) return undefined;
    return this.#hub.isPassing(error) ? RETRY_MS : this.#patience.after(error);
  }

  #end(ending: Ending): void {
    if (!this.#stopped) this.#events.end(ending);
  }
}
