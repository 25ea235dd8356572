/** Whole databases in the tabs of a simulated browser: as engine.test.ts, with documents, finds, views and feeds. */
import { describe, expect, it } from 'vitest';
import { timeFor, trials } from '../replication/random';
import { type DatabaseKind, DatabaseTrial } from './database-trial';

const usual: DatabaseKind = { name: 'usual', engine: 'chromium', tabs: 3, everyMs: 700, lastsMs: 7_000 };
const KINDS: readonly DatabaseKind[] = [
  usual,
  { ...usual, name: 'firefox', engine: 'firefox' },
  { ...usual, name: 'webkit', engine: 'webkit' },
  { ...usual, name: 'duel', isDuel: true, tabs: 1, everyMs: 3_000, lastsMs: 14_000 },
];

const TRIALS = 8;

describe('databases in tabs of a simulated browser', () => {
  it('lose nothing, count right, and tell of every change', { timeout: timeFor(TRIALS) }, async () => {
    await trials(TRIALS, async (seed) => {
      const kind = KINDS[seed % KINDS.length]!;
      const trial = new DatabaseTrial(seed, kind);
      const wrong = await trial.run();
      if (wrong !== undefined) expect.fail(`(${kind.name}) ${wrong}${trial.world.told}`);
    });
  });
});
