/**
 * Suites that run in a dedicated worker of the browser, for what is there only: the sync access handles of OPFS.
 *
 * ```ts
 * await inWorker(import.meta.url, () => journalConformance('opfs', () => opfs(), { shared: true }));
 * ```
 *
 * The file of tests is imported twice. In the page it starts a worker, asks it for its tests and declares one of the same name for each,
 * which runs there; in the worker it declares them. Both have vitest itself: hooks, `each`, `expect`, `vi`. What a worker has not is
 * `concurrent`, snapshots, `vi.mock`, `inject`, and `expect` and `annotate` of a test's context.
 */
import { type Remote, wrap } from 'comlink';
import { afterAll, describe, it, type TestRunnerConfig } from 'vitest';
import type { Errors, Listed, Told } from './in-worker-messages';
import type { Calls } from './in-worker-script';

/** Declares these tests, to be run in a worker. Once in a file, at its top, and awaited. */
export async function inWorker(url: string, declare: () => void): Promise<void> {
  if (typeof document === 'undefined') return declare();
  const { suites, tasks, worker } = await startSuites(url);
  declareTasks(suites, tasks);
  afterAll(async () => {
    const errors = await suites.end();
    worker.terminate();
    if (errors.length > 0) throw errorsOf(errors);
  });
}

type Suites = Remote<Calls>;

interface Started {
  readonly suites: Suites;
  readonly tasks: readonly Listed[];
  readonly worker: Worker;
}

/** A worker with the tests of the file at `url`. What nobody handled in it fails the run, as in the page. */
export async function startSuites(
  url: string,
  unhandled: (error: Error) => void = (error) => void Promise.reject(error),
): Promise<Started> {
  const worker = new Worker(new URL('./in-worker-script.ts', import.meta.url), { type: 'module' });
  worker.addEventListener('message', ({ data }: MessageEvent<Told>) => {
    if (data.unhandled) unhandled(errorOf(data.unhandled));
    if (data.logged) console[data.logged[0]](data.logged[1]);
  });
  const suites = wrap<Calls>(worker);
  const listed = await Promise.race([suites.collect(url, sendable(settings())), failed(worker)]);
  if ('errors' in listed) throw errorsOf(listed.errors);
  return { suites, tasks: listed, worker };
}

/** Of vitest, as the page has them. */
const settings = (): TestRunnerConfig =>
  (globalThis as unknown as { __vitest_worker__: { config: TestRunnerConfig } }).__vitest_worker__.config;

/** Without functions, which cannot be sent. Which tests run is the page's to say. */
const sendable = (config: TestRunnerConfig): TestRunnerConfig => ({
  ...JSON.parse(JSON.stringify(config)),
  testNamePattern: undefined,
});

/** A worker whose modules cannot be loaded says so by this event only. Of all else it tells more by itself. */
const failed = (worker: Worker): Promise<never> =>
  new Promise((_, reject) => {
    worker.addEventListener('error', (event) => {
      event.preventDefault();
      reject(new Error(`The worker failed. ${event.message ?? ''}`));
    });
  });

function declareTasks(suites: Suites, tasks: readonly Listed[]): void {
  for (const task of tasks) {
    const options = { skip: task.mode === 'skip', todo: task.mode === 'todo' };
    if (task.tasks) describe(task.name, options, () => declareTasks(suites, task.tasks as readonly Listed[]));
    else declareTest(suites, task, options);
  }
}

function declareTest(suites: Suites, { id, name, timeout }: Listed, options: object): void {
  // What took too long the worker says by itself, unless it stands still.
  it(name, { ...options, timeout: (timeout as number) + settings().hookTimeout }, async (context) => {
    const { state, errors, note } = await suites.run(id);
    if (state === 'skip') context.skip(note);
    if (state === 'fail') throw errorsOf(errors);
  });
}

/** vitest reports each of them. */
const errorsOf = (errors: Errors): AggregateError => new AggregateError(errors.map(errorOf));

/** As it was thrown in the worker. The difference is made there, of the values themselves. */
function errorOf(told: Errors[number]): Error {
  return Object.assign(new Error(told.message), told, { showDiff: false });
}
