/**
 * A clock that moves only when it is told to: in place of the platform's timers, `Date.now` and `performance.now`. Hours pass in
 * moments, and what waits for a timer is seen to wait.
 */

interface Timer {
  at: number;
  readonly run: () => void;
  /** ms between two, of an interval. */
  readonly every: number | undefined;
}

export class Clock {
  readonly #timers = new Map<number, Timer>();
  readonly #original = {
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    setInterval: globalThis.setInterval,
    clearInterval: globalThis.clearInterval,
  };
  readonly #dateNow = Date.now;
  readonly #performanceNow = performance.now;
  /** See {@link settle}. */
  busy: () => boolean = () => false;
  #now = 1_700_000_000_000;
  #last = 0;

  constructor() {
    const start =
      (every: boolean) =>
      (run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
        const wait = Number(ms) > 0 ? Number(ms) : 0;
        const id = ++this.#last;
        const timer = { at: this.#now + wait, run: () => run(...args), every: every ? wait : undefined };
        this.#timers.set(id, timer);
        // Node's timers are objects, of which ours has what is used.
        return Object.assign(Object(id), { unref: () => undefined, ref: () => undefined });
      };
    const stop = (id: unknown): void => void this.#timers.delete(Number(id));
    Object.assign(globalThis, {
      setTimeout: start(false),
      setInterval: start(true),
      clearTimeout: stop,
      clearInterval: stop,
    });
    Date.now = () => this.#now;
    performance.now = () => this.#now;
  }

  get now(): number {
    return this.#now;
  }

  /** Timers that are set. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Lets `ms` pass: what is due runs in its order, and what it begins comes to where it waits for a timer. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle(this.busy);
    for (;;) {
      const due = this.#next(end);
      if (due === undefined) break;
      const [id, timer] = due;
      this.#now = Math.max(this.#now, timer.at);
      if (timer.every === undefined) this.#timers.delete(id);
      else timer.at += Math.max(timer.every, 1);
      timer.run();
      await settle(this.busy);
    }
    this.#now = end;
  }

  restore(): void {
    Object.assign(globalThis, this.#original);
    Date.now = this.#dateNow;
    performance.now = this.#performanceNow;
  }

  #next(end: number): [number, Timer] | undefined {
    let first: [number, Timer] | undefined;
    for (const entry of this.#timers)
      if (entry[1].at <= end && (first === undefined || entry[1].at < first[1].at)) first = entry;
    return first;
  }
}

/**
 * Everything that waits for no timer comes to its end: with databases in memory and no sockets there are only promises. While
 * somebody is `busy` with what the platform does beside us (reading a Blob), more turns are waited.
 */
export async function settle(busy: () => boolean = () => false): Promise<void> {
  for (let i = 0; i < TURNS || (i < MOST_TURNS && busy()); i++)
    await new Promise((resolve) => setImmediate(resolve));
}
const TURNS = 4;
/** Some milliseconds. */
const MOST_TURNS = 400;
