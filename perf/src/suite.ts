/**
 * A suite is a table: contenders that do the same work, case by case. Rounds of all contenders are interleaved and their order
 * rotated, so that noise of the machine falls on all alike.
 *
 * A file `suites/<name>.node.ts` or `suites/<name>.browser.ts` exports `suite`, or `figures` for measurements of settledb
 * alone; `npm run perf -- <name>` finds it. Workers that pages start are the files of `workers/`, each `/<file>.js`.
 */
import * as marky from 'marky';
import type { Page } from 'playwright';
import type { ApartProcess } from './apart';
import { makeDocs, type PerfDoc } from './docs';

/**
 * settledb checkpoints 100 ms after a burst, in 10 to 100 ms for 10,000 documents; others tidy up too. Such work is let end
 * before each case, so that it is not charged to the next. What it costs while one writes on is not measured here.
 */
const PAUSE_MS = 400;
const ROUNDS = 3;
/** ms within which a contender ends its round: the longest take some minutes. What never ends should not look as if it took long. */
const MOST_ROUND_MS = 20 * 60_000;
/** Cases of a few ms need more: on a busy machine one in three is disturbed. */
export const ROUNDS_OF_SHORT_CASES = 5;

/** Measures `work` as the case `label`, and answers what it answers. Visible as a mark in DevTools. */
export type Time = <T>(label: string, work: () => T | Promise<T>) => Promise<T>;

export interface RoundSetting {
  /** The same for every contender of a round. */
  readonly docs: readonly PerfDoc[];
  /** How many they are: for contenders that make documents of their own. */
  readonly documents: number;
  /** A name nothing has used. */
  readonly database: string;
  /** Its figures are thrown away: a case that takes long may do less. */
  readonly warmUp: boolean;
  /** Writes down the case `label` as measured otherwise than by `time`, in its unit. */
  record(label: string, value: number): void;
}

export interface SuiteContender {
  readonly name: string;
  /** Why it cannot take part here, if it cannot: asked once, and said beside the table. */
  missing?(): Promise<string | undefined>;
  /** All cases of one round. What must not be measured is done outside `time`. Leaves nothing behind. */
  round(time: Time, setting: RoundSetting): Promise<void>;
  /** When all rounds are over, or one has failed. */
  end?(): Promise<void>;
}

/** For contenders of whatever suite: the one of this name takes part only where `probe` does not fail, which says why. */
export function whereItRuns(name: string, probe: () => Promise<unknown>) {
  const missing = (): Promise<string | undefined> => probe().then(() => undefined, String);
  return <T extends { readonly name: string }>(contender: T): T =>
    contender.name === name ? { ...contender, missing } : contender;
}

export interface Suite {
  readonly title: string;
  /** Where not told otherwise by `--docs`. */
  readonly documents: number;
  /** Where not told otherwise by `--rounds`. Default 3. */
  readonly rounds?: number;
  /** Case → what one timing holds. */
  readonly units: Readonly<Record<string, string>>;
  /** The first one is what the others are compared with: settledb. */
  readonly contenders: readonly SuiteContender[];
  /** Case → the unit of its figures, of which less is better, where that is not ms. */
  readonly measures?: Readonly<Record<string, string>>;
  /** Show the worst round beside the median. */
  readonly worst?: boolean;
  /** When all rounds are over. */
  readonly end?: () => void | Promise<void>;
}

/** Case → milliseconds for the whole case, or what the suite's `measures` say. */
export type Round = Record<string, number>;

export interface Results {
  readonly title: string;
  readonly documents: number;
  readonly units: Readonly<Record<string, string>>;
  readonly measures: Readonly<Record<string, string>>;
  readonly worst: boolean;
  /** Contender → why it took no part. */
  readonly missing: Readonly<Record<string, string>>;
  /** Contender → its rounds, the warm-up left out. */
  readonly rounds: Record<string, Round[]>;
}

export interface Tabs {
  readonly version: string;
  open(): Promise<Page>;
  close(): Promise<void>;
}

export interface RunOptions {
  readonly documents: number | undefined;
  readonly rounds: number | undefined;
  /** Parts of names: others take no part. Default: all do. */
  readonly contenders?: readonly string[] | undefined;
  /** `http://host:port` of our server, for suites that need one. */
  readonly server?: string;
  /** In Node: starts one more server, in a process of its own. */
  readonly startServer?: (kind: 'relaxed' | 'strict' | 'express-pouchdb') => Promise<{
    readonly url: string;
    /** Of its process, where the system says it. */
    usage(): { readonly cpuMs: number; readonly rssMb: number } | undefined;
    close(): Promise<void>;
  }>;
  /** In Node: real tabs of Chromium with a program of `src` in them. */
  readonly openTabs?: (program: string, bfcache: boolean) => Promise<Tabs>;
  /** In Node: processes for contenders of their own. */
  readonly startApart?: {
    start(newer: boolean): Promise<ApartProcess>;
    missing(newer: boolean): string | undefined;
  };
}

export async function runSuite(
  suite: Suite,
  { documents = suite.documents, rounds = suite.rounds ?? ROUNDS, contenders: parts }: RunOptions,
  log: (line: string) => void,
): Promise<Results> {
  const { title, units, measures = {}, worst = false } = suite;
  const missing: Record<string, string> = {};
  const contenders: SuiteContender[] = [];
  const results: Record<string, Round[]> = {};
  try {
    for (const contender of suite.contenders) {
      if (parts?.some((part) => contender.name.includes(part)) === false) continue;
      const reason = await contender.missing?.();
      if (reason !== undefined) missing[contender.name] = reason;
      else contenders.push(contender);
    }
    for (const { name } of contenders) results[name] = [];
    for (let round = 0; round <= rounds; round++) {
      let made: PerfDoc[] | undefined;
      for (let i = 0; i < contenders.length; i++) {
        const contender = contenders[turnOf(i, round, contenders.length)] as SuiteContender;
        log(`${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}: ${contender.name}`);
        const times: Round = {};
        const database = `perf-${Date.now()}-${round}-${i}`;
        const record = (label: string, value: number): void => {
          times[label] = value;
        };
        const work = contender.round(stopwatch(contender.name, record), {
          get docs() {
            made ??= makeDocs(documents, Math.random);
            return made;
          },
          documents,
          database,
          warmUp: round === 0,
          record,
        });
        await ended(work, () => {
          const words = `${contender.name} does not end its round, after "${Object.keys(times).at(-1)}"`;
          // What does not end may keep the end of the suite waiting, too.
          log(words);
          return words;
        });
        if (round > 0) results[contender.name]?.push(times);
      }
    }
  } finally {
    for (const contender of contenders) await contender.end?.();
    await suite.end?.();
  }
  return { title, documents, units, measures, worst, missing, rounds: results };
}

/** Rejects where `work` takes longer than any round does. */
async function ended(work: Promise<void>, complaint: () => string): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(complaint())), MOST_ROUND_MS);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Each begins once, and comes after its one neighbour and the other by turns: what it leaves to the collector is the next one's. */
function turnOf(i: number, round: number, count: number): number {
  const turn = (i + round) % count;
  return round % 2 === 0 ? turn : count - 1 - turn;
}

/** Measures by `time` what `record` then writes down. */
export function stopwatch(name: string, record: (label: string, value: number) => void): Time {
  return async (label, work) => {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    const mark = `${name}: ${label}`;
    marky.mark(mark);
    const value = await work();
    record(label, marky.stop(mark).duration);
    return value;
  };
}
