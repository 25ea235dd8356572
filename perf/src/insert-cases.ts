/**
 * Very many inserts, each awaited and timed by itself: what half, nine in ten and all but one in a hundred take at most, and what they
 * cost in CPU time and memory. Each contender has a process of its own, new in each round, or these would be sums.
 */
import { makeDocs, type PerfDoc } from './docs';
import type { RoundSetting, SuiteContender } from './suite';

export interface Inserted {
  put(doc: PerfDoc): Promise<unknown>;
  destroy(): Promise<unknown>;
}

/** Made at a time, so that they are not in memory with what is measured. */
const BATCH = 1_000;
/** Of the documents, in the warm-up round. */
const WARM_UP = 0.02;
const MB = 1024 * 1024;

export const insertUnits: Record<string, string> = {
  total: 'all documents, awaited one by one',
  p50: 'one insert: half take less',
  p90: 'one insert: nine in ten take less',
  p99: 'one insert: all but one in a hundred take less',
  'CPU time': 'user and system time of the process, in all its threads',
  RSS: 'most memory the process had, Node itself and the reading of its code with it',
};

export const insertMeasures: Record<string, string> = { RSS: 'MB' };

/** Latencies in ms, as they come, and what becomes of them. */
export class Latencies {
  readonly #all: Float64Array;
  #count = 0;

  constructor(most: number) {
    this.#all = new Float64Array(most);
  }

  async time(work: () => Promise<unknown>): Promise<void> {
    const begun = performance.now();
    await work();
    this.#all[this.#count++] = performance.now() - begun;
  }

  record(setting: RoundSetting): void {
    const sorted = this.#all.subarray(0, this.#count).sort();
    for (const [label, part] of [
      ['p50', 0.5],
      ['p90', 0.9],
      ['p99', 0.99],
    ] as const)
      setting.record(label, sorted[Math.min(this.#count - 1, Math.floor(this.#count * part))] as number);
  }
}

export const countOf = ({ documents, warmUp }: RoundSetting): number =>
  warmUp ? Math.ceil(documents * WARM_UP) : documents;

/** Runs in a process of its own: see `apart-process.ts`. */
export const insertContender = (open: (name: string) => Promise<Inserted>): SuiteContender => ({
  name: '',
  round: async (_time, setting) => {
    const count = countOf(setting);
    const latencies = new Latencies(count);
    const db = await open(setting.database);
    const before = process.cpuUsage();
    let making = 0;
    let makingCpu = 0;
    const begun = performance.now();
    for (let done = 0; done < count; done += BATCH) {
      const made = performance.now();
      const cpu = process.cpuUsage();
      const docs = makeDocs(Math.min(BATCH, count - done), Math.random);
      making += performance.now() - made;
      makingCpu += ms(process.cpuUsage(cpu));
      for (const doc of docs) await latencies.time(() => db.put(doc));
    }
    setting.record('total', performance.now() - begun - making);
    latencies.record(setting);
    setting.record('CPU time', ms(process.cpuUsage(before)) - makingCpu);
    setting.record('RSS', (process.resourceUsage().maxRSS * 1024) / MB);
    await db.destroy();
  },
});

const ms = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;
