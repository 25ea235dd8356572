/**
 * The engine and the IndexedDB adapter in the tabs of a simulated browser, of which the seed decides what comes when, and what happens to
 * them. `TRIALS=1000 npx vitest …` asks for more; a failure names its seed, which `SEED=… npx vitest …` runs again, and `TRACE=200`
 * besides tells the last two hundred things that happened.
 */
import { describe, expect, it } from 'vitest';
import { timeFor, trials } from '../replication/random';
import { EngineTrial } from './engine-trial';
import { kindOf } from './kinds';

const TRIALS = 26;

describe('tabs in a simulated browser', () => {
  it('lose nothing, and find what was written, whatever happens', { timeout: timeFor(TRIALS) }, async () => {
    await trials(TRIALS, async (seed) => {
      const kind = kindOf(seed);
      const trial = new EngineTrial(seed, kind);
      const wrong = await trial.run();
      if (wrong !== undefined) expect.fail(`(${kind.name}) ${wrong}${trial.world.told}`);
    });
  });
});
