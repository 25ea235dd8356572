/** The worker side of in-worker.ts. */
import { expose } from 'comlink';
import type { TestRunnerConfig } from 'vitest';
import { format, processError } from 'vitest/internal/browser';
import { LOGS, type Told } from './in-worker-messages';
import { RunnerByTurns } from './runner-by-turns';

const tell = (told: Told): void => postMessage(told);

for (const kind of LOGS) {
  const log = console[kind];
  console[kind] = (...args: unknown[]) => {
    log(...args);
    tell({ logged: [kind, format(...args)] });
  };
}

/** The real one, whatever a test does to the clock. */
const { setTimeout } = globalThis;
const nextTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/** Tests that provoke it prevent its default; of listeners in a worker, not every browser calls those that capture first. */
async function tellUnhandled(event: Event, error: unknown): Promise<void> {
  await nextTask();
  if (!event.defaultPrevented) tell({ unhandled: processError(error) });
}

addEventListener('unhandledrejection', (event) => void tellUnhandled(event, event.reason));
addEventListener('error', (event) => void tellUnhandled(event, event.error ?? new Error(event.message)));

let runner: RunnerByTurns;

const calls = {
  collect: async (url: string, config: TestRunnerConfig) => {
    // Where vitest itself looks for what it is set to.
    Object.assign(globalThis, { __vitest_worker__: { config, filepath: url } });
    runner = new RunnerByTurns(config);
    return runner.collect(url);
  },
  run: async (id: string) => runner.run(id),
  end: async () => {
    const errors = await runner.end();
    await nextTask(); // what nobody handled is told before
    return errors;
  },
};

export type Calls = typeof calls;

expose(calls);
