/** vitest's own runner, where there is no vitest to ask: it collects one file and runs each of its tests when it is asked for it. */
import {
  expect,
  type RunnerTask,
  type RunnerTestCase,
  type RunnerTestFile,
  type RunnerTestSuite,
  type TestRunnerConfig,
  type VitestTestRunner,
} from 'vitest';
import { startTests } from 'vitest/internal/browser';
import type { Errors, Listed, Outcome } from './in-worker-messages';

const PASSED_OVER: Outcome = {
  state: 'fail',
  errors: [
    {
      name: 'Error',
      message: 'It did not run: in a worker, tests run once and in the order in which they are declared.',
    },
  ],
};

/**
 * Tests run in the order in which they are declared, so that `beforeAll` and `afterAll` run once and where they belong. Those that were
 * not asked for (`vitest -t`) are passed over.
 */
export class RunnerByTurns implements VitestTestRunner {
  readonly config: TestRunnerConfig;
  readonly #outcomes = new Map<string, Outcome>();
  readonly #suiteErrors: Errors = [];
  #asked: { readonly id: string; readonly answer: (outcome: Outcome) => void } | undefined;
  #hasEnd = false;
  #wake = (): void => {};
  #listed!: (file: RunnerTestFile) => void;
  #run: Promise<unknown> | undefined;

  constructor(config: TestRunnerConfig) {
    this.config = config;
  }

  /** Imports the file, by its URL, and tells what it declares. */
  async collect(url: string): Promise<readonly Listed[] | { readonly errors: Errors }> {
    const file = await new Promise<RunnerTestFile>((resolve, reject) => {
      this.#listed = resolve;
      this.#run = startTests([url], this);
      this.#run.catch(reject);
    });
    return file.result?.errors === undefined ? file.tasks.map(listed) : { errors: file.result.errors };
  }

  /** Runs this test, with the hooks of all the suites around it. */
  async run(id: string): Promise<Outcome> {
    return (
      this.#outcomes.get(id) ??
      new Promise((answer) => {
        this.#asked = { id, answer };
        this.#wake();
      })
    );
  }

  /** Nothing else is asked for. Answers what went wrong outside tests, as in `afterAll`. */
  async end(): Promise<Errors> {
    this.#hasEnd = true;
    this.#wake();
    await this.#run;
    return this.#suiteErrors;
  }

  importFile(url: string): Promise<unknown> {
    return import(/* @vite-ignore */ url);
  }

  onCollected([file]: RunnerTestFile[]): void {
    this.#listed(file as RunnerTestFile);
  }

  async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    if (modeOf(test) !== 'run') return;
    while (this.#asked === undefined && !this.#hasEnd)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    if (this.#asked?.id === test.id) return;
    test.mode = 'skip';
    this.#settle(test, PASSED_OVER);
  }

  onBeforeTryTask(test: RunnerTestCase): void {
    expect.setState({
      assertionCalls: 0,
      isExpectingAssertions: false,
      isExpectingAssertionsError: null,
      expectedAssertionsNumber: null,
      expectedAssertionsNumberErrorGen: null,
      currentTestName: test.fullTestName,
    });
  }

  onAfterTryTask(): void {
    const state = expect.getState();
    const { assertionCalls, expectedAssertionsNumber: expected } = state;
    if (expected !== null && assertionCalls !== expected) throw state.expectedAssertionsNumberErrorGen?.();
    if (state.isExpectingAssertions && assertionCalls === 0) throw state.isExpectingAssertionsError;
  }

  /** One that skipped itself ends here. */
  onAfterRetryTask(test: RunnerTestCase): void {
    const result: { state: string; note?: string } | undefined = test.result;
    if (result?.state === 'skip') this.#settle(test, { state: 'skip', errors: [], note: result.note });
  }

  onAfterRunTask(test: RunnerTestCase): void {
    const { state, errors = [] } = test.result as NonNullable<RunnerTask['result']>;
    this.#settle(test, { state: state === 'pass' ? 'pass' : 'fail', errors });
  }

  /** Where `beforeAll` failed, no test of the suite had its turn. */
  onAfterRunSuite(suite: RunnerTestSuite): void {
    const errors = suite.result?.errors;
    this.#suiteErrors.push(...(errors ?? []));
    for (const test of testsOf(suite)) this.#settle(test, errors ? { state: 'fail', errors } : PASSED_OVER);
  }

  /** The first outcome counts. */
  #settle({ id }: RunnerTestCase, outcome: Outcome): void {
    if (this.#outcomes.has(id)) return;
    this.#outcomes.set(id, outcome);
    if (this.#asked?.id !== id) return;
    const { answer } = this.#asked;
    this.#asked = undefined;
    answer(outcome);
  }
}

function listed(task: RunnerTask): Listed {
  const { id, name } = task;
  const mode = modeOf(task);
  return task.type === 'suite'
    ? { id, name, mode, tasks: task.tasks.map(listed) }
    : { id, name, mode, timeout: task.timeout };
}

const modeOf = ({ mode }: RunnerTask): Listed['mode'] => (mode === 'skip' || mode === 'todo' ? mode : 'run');

const testsOf = (task: RunnerTask): RunnerTestCase[] =>
  task.type === 'suite' ? task.tasks.flatMap(testsOf) : [task];
