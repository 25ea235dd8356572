/** Whole databases in the tabs of a simulated browser: as engine.test.ts, with documents, their attachments, finds, views and feeds. */
import { describe, expect, it } from 'vitest';
import { timeFor, trials } from '../replication/random';
import { DatabaseTrial } from './database-trial';
import { databaseKindOf } from './kinds';

const TRIALS = 12;

describe('databases in tabs of a simulated browser', () => {
  it('lose nothing, count right, and tell of every change', { timeout: timeFor(TRIALS) }, async () => {
    await trials(TRIALS, async (seed) => {
      const kind = databaseKindOf(seed);
      const trial = new DatabaseTrial(seed, kind);
      const wrong = await trial.run();
      if (wrong !== undefined) expect.fail(`(${kind.name}) ${wrong}${trial.world.told}`);
    });
  });
});
