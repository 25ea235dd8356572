/**
 * What the journal suite's tests are made of: benches that open, reopen and clean up, and commits that tell themselves apart.
 */
import {
  type Adapter,
  BLOCKS_PER_COMMIT,
  type Commit,
  type Journal,
  type JournalEvent,
  type JournalState,
} from '@settledb/engine';
import { expect, onTestFinished } from 'vitest';

export interface JournalHooks {
  /** May several journals of one database be open at once? `false`: the second `open` must reject `locked`. */
  readonly shared: boolean;
  /** The database name that stands for `word` in this adapter's world: a path for a file. Default: the word itself. */
  readonly nameOf?: (word: string) => string;
  /** Another adapter object on the same storage, as a program that starts again makes it. Default: the same object. */
  readonly restart?: (adapter: Adapter) => Adapter | Promise<Adapter>;
  /** Runs of the property test, each some thirty steps. Default 25. */
  readonly runs?: number;
}

/** One test's view of an adapter: opens journals that are closed when the test ends. Names that the test chose are free again then. */
export interface Bench {
  adapter: Adapter;
  readonly name: string;
  open(name?: string): Promise<Journal>;
  /** Closes everything and opens the database as a new start of the program would. */
  reopen(): Promise<Journal>;
}

export type NewBench = (word?: string) => Promise<Bench>;

let serial = 0;

/** Makes benches for one adapter and one set of hooks. */
export function benches(newAdapter: () => Adapter | Promise<Adapter>, hooks: JournalHooks): NewBench {
  const nameOf = hooks.nameOf ?? ((word) => word);
  return async (word) => {
    serial++;
    const name = nameOf(word ?? `journal ${serial} ${Math.random().toString(36).slice(2)}`);
    const opened: Journal[] = [];
    const chosen = new Set(word === undefined ? [] : [name]);
    const bench: Bench = {
      adapter: await newAdapter(),
      name,
      async open(other = name) {
        if (other !== name) chosen.add(other);
        const journal = await bench.adapter.open(other);
        opened.push(journal);
        return journal;
      },
      async reopen() {
        await Promise.all(opened.splice(0).map((journal) => journal.close()));
        bench.adapter = (await hooks.restart?.(bench.adapter)) ?? bench.adapter;
        return bench.open();
      },
    };
    onTestFinished(async () => {
      await Promise.all(opened.map((journal) => journal.close()));
      for (const each of chosen) await bench.adapter.destroy(each);
    });
    return bench;
  };
}

/** Commit `n` with texts that tell it apart; `segments` many segments. */
export function commit(n: number, segments = 0, mark = ''): Commit {
  return {
    n,
    head: `head ${n}${mark}`,
    tail: `tail ${n}${mark}`,
    segments: Array.from({ length: segments }, (_, i) => ({
      id: n * BLOCKS_PER_COMMIT + 1 + i,
      text: `segment ${n}.${i}${mark}`,
    })),
  };
}

/** Characters without a pattern, the same for a seed: Latin-1, or `wide`: of any plane, halves of pairs too where a text is cut. */
export function noiseText(length: number, seed: number, wide = false): string {
  let state = seed;
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    text += wide ? String.fromCodePoint(0x1f300 + (state >>> 22)) : String.fromCharCode(32 + (state >>> 25));
  }
  return text.slice(0, length);
}

/** Appends commits `from`…`to` in `epoch` and expects each to be taken. */
export async function fill(journal: Journal, from: number, to: number, epoch = 0, segments = 0) {
  for (let n = from; n <= to; n++) {
    expect(await journal.append(commit(n, segments), { epoch, n: n - 1 }, 'relaxed')).toBeUndefined();
  }
}

export const tailId = (n: number): number => n * BLOCKS_PER_COMMIT;
export const numbers = (state: JournalState | undefined): number[] | undefined =>
  state?.commits.map((each) => each.n);

/** Resolves at the first event of `type`; says what it heard when the test's time is over. */
export function heard(journal: Journal, type: JournalEvent['type']): Promise<void> {
  return new Promise((resolve) => {
    const stop = journal.listen((event) => {
      if (event.type !== type) return;
      stop();
      resolve();
    });
  });
}

/** Tells tests apart by a number. */
export const testNumber = (): number => serial;
