/**
 * Page and worker that talk by turns: the side that waits for a message may stay awake for a moment.
 *
 * A thread without a task goes to sleep, and waking it may cost more than a message: on an idle virtual machine a call takes 97 µs,
 * but 32 where neither side sleeps (Chromium, decisions/0018). So the waiting side passes the time with tasks that do nothing and let
 * all others go first. Where other programs need the processors, this only gets in the way: the page measures that, and tells its
 * host.
 */
import { Pace } from './pace';

/** Tasks of one wait: some 100 µs, enough for an answer that does not wait for anything. */
const TURNS = 12;

const BACKGROUND = { priority: 'background' } as const;

interface Scheduler {
  postTask?(task: () => void, options: typeof BACKGROUND): Promise<unknown>;
}

const { scheduler } = globalThis as { scheduler?: Scheduler };

/** Keeps this thread awake, if tasks have priorities here. */
export class Awake {
  static readonly isPossible = scheduler?.postTask !== undefined;
  /** Turns that are left. */
  #left = 0;
  /** Whether a task for the next turn exists. */
  #isTurning = false;

  stay(): void {
    this.#left = TURNS;
    if (!this.#isTurning && Awake.isPossible) this.#turn();
  }

  rest(): void {
    this.#left = 0;
  }

  readonly #turn = (): void => {
    this.#isTurning = this.#left-- > 0;
    if (this.#isTurning) void scheduler?.postTask?.(this.#turn, BACKGROUND);
  };
}

/** The page's side. */
export class Waits {
  readonly #awake = new Awake();
  readonly #pace = new Pace();
  readonly #tell: (isAwake: boolean) => void;

  /** @param tell tells the host whether to stay awake too, after its answers */
  constructor(tell: (isAwake: boolean) => void) {
    this.#tell = tell;
  }

  said(): void {
    if (Awake.isPossible && this.#pace.said(performance.now()) && this.#pace.isAwake) this.#awake.stay();
  }

  heard(): void {
    if (!Awake.isPossible) return;
    const { isAwake: was } = this.#pace;
    this.#awake.rest();
    this.#pace.heard(performance.now());
    if (this.#pace.isAwake !== was) this.#tell(!was);
  }
}
