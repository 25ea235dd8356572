/** What in-worker.ts and its worker tell each other. */
import type { RunnerTask } from 'vitest';

/** As vitest has them to report: plain values, with the difference from what was expected. */
export type Errors = NonNullable<NonNullable<RunnerTask['result']>['errors']>;

/** A suite or a test, of the worker. */
export interface Listed {
  readonly id: string;
  readonly name: string;
  readonly mode: 'run' | 'skip' | 'todo';
  /** A test's. */
  readonly timeout?: number;
  /** A suite's. */
  readonly tasks?: readonly Listed[];
}

/** Of one test. */
export interface Outcome {
  readonly state: 'pass' | 'fail' | 'skip';
  readonly errors: Errors;
  /** Why a test skipped itself. */
  readonly note?: string | undefined;
}

/** What the worker tells by itself. */
export interface Told {
  readonly unhandled?: Errors[number];
  readonly logged?: readonly [kind: (typeof LOGS)[number], text: string];
}

export const LOGS = ['debug', 'error', 'info', 'log', 'warn'] as const;
