/**
 * Whole databases in the tabs of a simulated browser: as engine.test.ts, with documents, their attachments, finds, views, feeds and replications;
 * in the pages themselves, or in workers of theirs, of which one serves all.
 */
import { describe, expect, it } from 'vitest';
import { timeFor, trials } from '../replication/random';
import { DatabaseTrial } from './database-trial';
import { DATABASE_KINDS, HOSTED_KINDS } from './kinds';

const TRIALS = 8;

describe('databases in a simulated browser lose nothing, count right, and tell of every change', () => {
  it.each([
    ['in pages', DATABASE_KINDS],
    ['in workers', HOSTED_KINDS],
  ] as const)('%s', { timeout: timeFor(TRIALS) }, async (_where, kinds) => {
    await trials(TRIALS, async (seed) => {
      const kind = kinds[seed % kinds.length]!;
      const trial = new DatabaseTrial(seed, kind);
      const wrong = await trial.run();
      if (wrong !== undefined) expect.fail(`(${kind.name}) ${wrong}${trial.world.told}`);
    });
  });
});
