/**
 * A suite is a table: contenders that do the same work, case by case. Rounds of all contenders are interleaved and their order
 * rotated, so that noise of the machine falls on all alike.
 *
 * A file `suites/<name>.node.ts` or `suites/<name>.browser.ts` exports `suite`, or `figures` for measurements of settledb
 * alone; `npm run perf -- <name>` finds it.
 */
import * as marky from 'marky';
import { makeDocs, type PerfDoc } from './docs';

/**
 * settledb checkpoints 100 ms after a burst, in 10 to 100 ms for 10,000 documents; others tidy up too. Such work is let end
 * before each case, so that it is not charged to the next. What it costs while one writes on is not measured here.
 */
const PAUSE_MS = 400;

/** Measures `work` as the case `label`, and answers what it answers. Visible as a mark in DevTools. */
export type Time = <T>(label: string, work: () => T | Promise<T>) => Promise<T>;

export interface RoundSetting {
  /** The same for every contender of a round. */
  readonly docs: readonly PerfDoc[];
  /** A name nothing has used. */
  readonly database: string;
}

export interface SuiteContender {
  readonly name: string;
  /** All cases of one round. What must not be measured is done outside `time`. Leaves nothing behind. */
  round(time: Time, setting: RoundSetting): Promise<void>;
}

export interface Suite {
  readonly title: string;
  /** Where not told otherwise by `--docs`. */
  readonly documents: number;
  /** Case → what one timing holds. */
  readonly units: Readonly<Record<string, string>>;
  /** The first one is what the others are compared with: settledb. */
  readonly contenders: readonly SuiteContender[];
  /** When all rounds are over. */
  readonly end?: () => void | Promise<void>;
}

/** Case → milliseconds for the whole case. */
export type Round = Record<string, number>;

export interface Results {
  readonly title: string;
  readonly documents: number;
  readonly units: Readonly<Record<string, string>>;
  /** Contender → its rounds, the warm-up left out. */
  readonly rounds: Record<string, Round[]>;
}

export interface RunOptions {
  readonly documents: number | undefined;
  readonly rounds: number;
  /** `http://host:port` of our server, for suites that need one. */
  readonly server?: string;
  /** In Node: starts one more server, in a process of its own. */
  readonly startServer?: (
    kind: 'relaxed' | 'strict' | 'express-pouchdb',
  ) => Promise<{ readonly url: string; close(): Promise<void> }>;
}

export async function runSuite(
  suite: Suite,
  { documents = suite.documents, rounds }: RunOptions,
  log: (line: string) => void,
): Promise<Results> {
  const { contenders, title, units } = suite;
  const results: Record<string, Round[]> = Object.fromEntries(contenders.map(({ name }) => [name, []]));
  try {
    for (let round = 0; round <= rounds; round++) {
      const docs = makeDocs(documents, Math.random);
      for (let i = 0; i < contenders.length; i++) {
        const contender = contenders[(i + round) % contenders.length] as SuiteContender;
        log(`${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}: ${contender.name}`);
        const times: Round = {};
        const database = `perf-${Date.now()}-${round}-${i}`;
        await contender.round(stopwatch(contender.name, times), { docs, database });
        if (round > 0) results[contender.name]?.push(times);
      }
    }
  } finally {
    await suite.end?.();
  }
  return { title, documents, units, rounds: results };
}

function stopwatch(name: string, times: Round): Time {
  return async (label, work) => {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    const mark = `${name}: ${label}`;
    marky.mark(mark);
    const value = await work();
    times[label] = marky.stop(mark).duration;
    return value;
  };
}
