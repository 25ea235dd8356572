/** A tab of the suite `takeover`: calls a hosted database without end, and says how long it was without an answer. */
import { connect } from '../../packages/settledb/src/worker';

const Hosted = connect(() => new Worker('/owned.js', { type: 'module' }));
type Db = InstanceType<typeof Hosted>;

/** ms between an answer and the next call: as a program that asks now and then. */
const PAUSE_MS = 5;
/** Within which somebody must answer. */
const DEADLINE_MS = 60_000;
/** ms after which the calls of a new owner are taken for ordinary ones. */
const AFTER_MS = 300;

export class TakeoverTab {
  #db: Db | undefined;
  #stop = false;
  #watching: Promise<number> | undefined;

  async open(name: string): Promise<void> {
    this.#db = new Hosted(name);
    await this.#db.info();
  }

  async put(_id: string): Promise<void> {
    await this.#db!.put({ _id });
  }

  /** Begins to call, one call after another, and answers once a call was answered. */
  watch(_id: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#watching = this.#patient(_id, resolve);
      this.#watching.catch(reject);
    });
  }

  /** As `watch`, but each call is made whether the one before was answered or not. */
  watchNew(_id: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#watching = this.#impatient(_id, resolve);
      this.#watching.catch(reject);
    });
  }

  /** As `watch`, with writes: a refusal is an answer. */
  watchWrites(prefix: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#watching = this.#writing(prefix, resolve);
      this.#watching.catch(reject);
    });
  }

  /** The longest time in ms between two answers since `watch`; the last one came some time after the owner had gone. */
  async outage(): Promise<number> {
    await pause(AFTER_MS);
    this.#stop = true;
    return this.#watching!;
  }

  async #patient(_id: string, begun: () => void): Promise<number> {
    let longest = 0;
    let last = performance.now();
    for (;;) {
      // What was in flight is refused when its fate is not known; a program asks again.
      if (!(await this.#asked(_id, last))) continue;
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
      begun();
      // Only after an answer: one that is still waited for is the outage.
      if (this.#stop) return longest;
      await pause(PAUSE_MS);
    }
  }

  async #writing(prefix: string, begun: () => void): Promise<number> {
    let longest = 0;
    for (let n = 0; ; n++) {
      const start = performance.now();
      await this.#answered(() => this.#db!.put({ _id: `${prefix} ${n}` }), start);
      longest = Math.max(longest, performance.now() - start);
      begun();
      if (this.#stop) return longest;
      await pause(PAUSE_MS);
    }
  }

  async #impatient(_id: string, begun: () => void): Promise<number> {
    let longest = 0;
    let last = performance.now();
    let answers = 0;
    const calls = new Set<Promise<unknown>>();
    const ask = async (): Promise<void> => {
      if (!(await this.#asked(_id, last))) return;
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
      answers++;
      begun();
    };
    let enough = Number.POSITIVE_INFINITY;
    while (answers < enough) {
      if (this.#stop) enough = Math.min(enough, answers + 1);
      const asked = ask().finally(() => calls.delete(asked));
      calls.add(asked);
      // The last of them is heard of below.
      asked.catch(() => {});
      await pause(PAUSE_MS);
    }
    await Promise.all(calls);
    return longest;
  }

  /** Whether it was answered. */
  #asked(_id: string, since: number): Promise<boolean> {
    return this.#answered(() => this.#db!.get(_id), since);
  }

  async #answered(call: () => Promise<unknown>, since: number): Promise<boolean> {
    try {
      await call();
      return true;
    } catch (error) {
      const refused = (error as Error).name === 'worker_terminated';
      if (!refused || performance.now() - since > DEADLINE_MS) throw error;
      return false;
    }
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

Object.assign(globalThis, { tab: new TakeoverTab() });
