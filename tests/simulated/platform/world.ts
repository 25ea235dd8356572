/**
 * A browser in memory, in which a seed decides what comes when: one clock, one list of tasks, and all chance from one generator. The same
 * seed gives the same run, task by task, as long as nobody asks the real world for anything that takes time.
 *
 * Microtasks are real. Between two tasks in which a program may run, all of them are done.
 */
import { Random } from '../../replication/random';
import { Tasks } from './tasks';

export interface WorldOptions {
  /** How often a message takes long, up to `SLOW_MS`. Default 0.02. */
  readonly slow?: number;
}

const QUICK_MS = 2;
const SLOW_MS = 60;

/** What may stand still: a tab. */
export interface Standing {
  readonly isDead: boolean;
  readonly isFrozen: boolean;
  /** Keeps a task until it goes on. */
  hold(run: () => void): void;
}

export class World {
  now = 0;
  readonly random: Random;
  /** What no program may ever see. */
  readonly violations: string[] = [];
  /** What happened, for who looks for the cause of a failure; and to compare two runs. */
  readonly trace: string[] = [];
  readonly #tasks = new Tasks();
  readonly #slow: number;
  #afterTask: (() => void)[] = [];

  constructor(seed: number, { slow = 0.02 }: WorldOptions = {}) {
    this.random = new Random(seed);
    this.#slow = slow;
  }

  /**
   * Runs a task after so many ms: of a tab, which may be frozen or gone by then, or of the platform.
   *
   * @returns calls it off
   */
  at(delayMs: number, run: () => void, tab?: Standing): () => void {
    return this.#tasks.add(this.now + Math.max(delayMs, 0), run, tab);
  }

  /** Called when the task is over, microtasks and all: where a browser would have control back. */
  afterTask(step: () => void): void {
    this.#afterTask.push(step);
  }

  /** How long a message takes this time. */
  latency(): number {
    return this.random.next() * (this.random.chance(this.#slow) ? SLOW_MS : QUICK_MS);
  }

  /** Runs all tasks until that time, or until `isOver`. */
  async run(untilMs: number, isOver: () => boolean = () => false): Promise<void> {
    while (!isOver()) {
      const task = this.#tasks.next(untilMs);
      if (task === undefined) {
        this.now = Math.max(this.now, untilMs);
        return;
      }
      this.now = Math.max(this.now, task.time);
      if (task.tab?.isDead) continue;
      if (task.tab?.isFrozen) task.tab.hold(task.run);
      else await this.#runOne(task.run);
    }
  }

  /** Runs tasks for whoever awaits anything of this world, until the returned function is called. */
  goOn(): () => void {
    let isOver = false;
    const go = async (): Promise<void> => {
      while (!isOver) {
        await this.run(this.now + 1, () => isOver);
        await microtasks();
        this.#endTask();
      }
    };
    void go();
    return () => {
      isOver = true;
    };
  }

  async #runOne(run: () => void): Promise<void> {
    try {
      run();
    } catch (error) {
      this.wrong(`a task threw ${(error as Error).stack}`);
    }
    await microtasks();
    this.#endTask();
  }

  #endTask(): void {
    const steps = this.#afterTask;
    this.#afterTask = [];
    for (const step of steps) step();
  }

  /** The last of what happened, for a failure's message, if `TRACE` in the environment asks for so many lines. */
  get told(): string {
    const lines = Number(process.env.TRACE ?? 0);
    return lines === 0 ? '' : `\n${this.trace.slice(-lines).join('\n')}`;
  }

  note(text: string): void {
    this.trace.push(`${this.now.toFixed(2)} ${text}`);
  }

  wrong(text: string): void {
    this.violations.push(`${this.now.toFixed(2)} ${text}`);
    this.note(`WRONG ${text}`);
  }
}

const { setImmediate } = globalThis;

/** Resolves when all microtasks are done, those of microtasks included. */
const microtasks = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
