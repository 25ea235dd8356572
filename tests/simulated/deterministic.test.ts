import { expect, it } from 'vitest';
import { trials } from '../replication/random';
import { DatabaseTrial } from './database-trial';
import { EngineTrial } from './engine-trial';
import { DATABASE_KINDS, KINDS } from './kinds';

it.each([
  ['the engine', (seed: number) => new EngineTrial(seed, KINDS[0]!)],
  ['a database', (seed: number) => new DatabaseTrial(seed, DATABASE_KINDS[0]!)],
])('does the same, task by task, when it is given the same seed: %s', async (_, begin) => {
  await trials(1, async (seed) => {
    const traces: string[][] = [];
    for (let i = 0; i < 2; i++) {
      const trial = begin(seed);
      await trial.run();
      traces.push(trial.world.trace);
    }
    expect(traces[0]!.length).toBeGreaterThan(50);
    expect(traces[0]).toEqual(traces[1]);
  });
});
