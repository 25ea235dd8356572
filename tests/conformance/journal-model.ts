/**
 * Random steps on a journal against a model of it: a list of commits, a map of blocks, the last manifest.
 *
 * Steps: append (rightly and with a stale position, by waiting and at once), rewrite (with and without a manifest), vacuum, reopen. After each the
 * journal must read as the model does.
 */
import {
  BLOCKS_PER_COMMIT,
  type Commit,
  type Journal,
  type JournalState,
  type Rewrite,
} from '@settledb/engine';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { commit, type NewBench, noiseText } from './journal-bench';

type Step =
  | {
      readonly do: 'append';
      readonly segments: number;
      readonly tail: boolean;
      readonly strict: boolean;
      readonly long: boolean;
    }
  | { readonly do: 'stale append'; readonly back: number }
  | {
      readonly do: 'rewrite';
      readonly put: number;
      readonly drop: number;
      readonly manifest: boolean;
      readonly long: boolean;
    }
  | { readonly do: 'vacuum' | 'reopen' };

/** Whether its texts are so long that an adapter may store them in another way. Seldom: they take time. */
const long = fc.constantFrom(true, ...Array<false>(11).fill(false));
const LONG = 70_000;

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      segments: fc.constantFrom(0, 0, 1, 3),
      tail: fc.boolean(),
      strict: fc.boolean(),
      long,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('stale append' as const), back: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('rewrite' as const),
      put: fc.nat(3),
      drop: fc.nat(5),
      manifest: fc.boolean(),
      long,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('vacuum' as const, 'reopen' as const) }) },
);

class Model {
  epoch = 0;
  commits: Commit[] = [];
  manifest: Rewrite['manifest'];
  readonly blocks = new Map<number, string>();
  /** Ids as long as those of rewrites. */
  #made = -(2 ** 52);

  get n(): number {
    return this.commits.length;
  }

  append(one: Commit): void {
    this.commits.push(one);
    if (one.tail !== '') this.blocks.set(one.n * BLOCKS_PER_COMMIT, one.tail);
    for (const { id, text } of one.segments) this.blocks.set(id, text);
  }

  /** A rewrite as an engine would make it: drops only blocks that no commit still to be read is made of. */
  plan(how: Extract<Step, { do: 'rewrite' }>): Rewrite {
    const more = how.long ? noiseText(LONG, this.#made) : '';
    const put = Array.from({ length: how.put }, () => ({
      id: --this.#made,
      text: `made ${this.#made}${more}`,
    }));
    const through = how.manifest ? this.n : (this.manifest?.through ?? 0);
    const droppable = [...this.blocks.keys()].filter((id) => id < (through + 1) * BLOCKS_PER_COMMIT);
    const drop = droppable.filter((_, i) => i % 2 === 0).slice(0, how.drop);
    const manifest = { text: `manifest ${this.epoch + 1}${more}`, through };
    return how.manifest ? { put, drop, manifest } : { put, drop };
  }

  rewrite(change: Rewrite): void {
    for (const { id, text } of change.put ?? []) this.blocks.set(id, text);
    for (const id of change.drop ?? []) this.blocks.delete(id);
    if (change.manifest === undefined) return;
    this.manifest = change.manifest;
    this.epoch++;
  }

  read(): JournalState {
    const commits = this.commits
      .slice(this.manifest?.through ?? 0)
      .map(({ n, head, tail }) => ({ n, head, tail }));
    return { epoch: this.epoch, manifest: this.manifest, commits };
  }
}

async function apply(model: Model, journal: Journal, one: Exclude<Step, { do: 'reopen' }>): Promise<void> {
  const at = { epoch: model.epoch, n: model.n };
  if (one.do === 'append') {
    const mark = one.long ? noiseText(LONG, model.n) : '';
    const next = { ...commit(model.n + 1, one.segments, mark), ...(one.tail ? {} : { tail: '' }) };
    // Half of the relaxed ones by `appendNow`, which is done when it returns.
    const isDone = !one.strict && model.n % 2 === 0 && journal.appendNow?.(next, at) === true;
    if (!isDone) expect(await journal.append(next, at, one.strict ? 'strict' : 'relaxed')).toBeUndefined();
    model.append(next);
  } else if (one.do === 'stale append') {
    const n = model.n - 1 - one.back;
    if (n < (model.manifest?.through ?? 0)) return;
    const stale = { epoch: at.epoch, n };
    expect(journal.appendNow?.(commit(n + 1), stale) ?? false).toBe(false);
    const state = await journal.append(commit(n + 1), stale, 'relaxed');
    expect(state?.commits.at(-1)?.n).toBe(model.n);
  } else if (one.do === 'rewrite') {
    const change = model.plan(one);
    expect(await journal.rewrite(change, at)).toBeUndefined();
    model.rewrite(change);
  } else await journal.vacuum?.({ force: true });
}

async function compare(model: Model, journal: Journal): Promise<void> {
  const { epoch, manifest, commits } = await journal.read();
  expect({ epoch, manifest, commits }).toEqual(model.read());
  const ids = [...model.blocks.keys()];
  expect(await journal.load(ids)).toEqual([...model.blocks.values()]);
  // A commit without a tail may or may not be listed: where listing reads keys only, its record has one too.
  const listed = new Set(await journal.blockIds());
  expect(ids.filter((id) => !listed.has(id))).toEqual([]);
  const empty = (id: number): boolean => model.commits[id / BLOCKS_PER_COMMIT - 1]?.tail === '';
  expect([...listed].filter((id) => !model.blocks.has(id) && !empty(id))).toEqual([]);
}

/** The property test of the suite. Called by `journalConformance`. */
export function journalModel(bench: NewBench, runs: number): void {
  it('reads as a simple model of it does after any steps', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const b = await bench();
        const model = new Model();
        let journal = await b.open();
        for (const one of steps) {
          if (one.do === 'reopen') journal = await b.reopen();
          else await apply(model, journal, one);
          await compare(model, journal);
        }
        await compare(model, await b.reopen());
      }),
      { numRuns: runs },
    );
  });
}
