import { expect, it } from 'vitest';
import { trials } from '../replication/random';
import { EngineTrial } from './engine-trial';
import { KINDS } from './kinds';

it('does the same, task by task, when it is given the same seed', async () => {
  await trials(2, async (seed) => {
    const traces: string[][] = [];
    for (let i = 0; i < 2; i++) {
      const trial = new EngineTrial(seed, KINDS[0]!);
      await trial.run();
      traces.push(trial.world.trace);
    }
    expect(traces[0]!.length).toBeGreaterThan(50);
    expect(traces[0]).toEqual(traces[1]);
  });
});
