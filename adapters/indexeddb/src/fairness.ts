/**
 * Gives a turn to a context that keeps losing races for the next commit.
 *
 * A context that commits without pause has its next transaction queued before the loser has planned again: measured, one of two tabs
 * lost 289 races in a row, and one with large commits never won. So after a few losses in a row a context asks the others to hold
 * back for about as long as its planning took lately; they go on once it has committed, or when that time is over. Like
 * everything on the channel this is a hint: of all promises only liveness rests on it.
 *
 * Only what loses to a commit counts: commits, and the last step of a checkpoint or compaction, which lost a hundred races in a row to
 * a tab that wrote one small document after the other. Their slices lie between the tries of a large write: while these counted as won,
 * a write of 200,000 documents lost to one small put a second until that ended.
 */
import type { Channel, Message } from './channel';

/** From this many losses in a row a context asks. Fewer happen all the time and cost less than holding the others back. */
const LOSSES = 3;
/** … or from the second on, if planning took so long: who plans for a second loses to whoever writes once a second. */
const LONG_PLANNING_MS = 100;
/** The least and the most that others are asked to wait: a turn of the storage, and how long a dead tab may hold up another. */
const MIN_WAIT_MS = 20;
const MAX_WAIT_MS = 5000;

export class Fairness {
  readonly #id: string;
  readonly #channel: Channel;
  #losses = 0;
  #lostAt = 0;
  /** The longest that the engine took between a loss and its next try since it last won. */
  #planningMs = 0;
  #waitsFor: string | undefined;
  #turn: Promise<void> | undefined;
  #goOn = (): void => {};

  constructor(id: string, channel: Channel) {
    this.#id = id;
    this.#channel = channel;
  }

  /** To be called before a write. Undefined: go ahead; otherwise it resolves when the write may go ahead. */
  turn(): Promise<void> | undefined {
    if (this.#losses > 0) this.#planningMs = Math.max(this.#planningMs, performance.now() - this.#lostAt);
    return this.#turn;
  }

  won(): void {
    this.#losses = 0;
    this.#planningMs = 0;
  }

  lost(): void {
    this.#losses++;
    this.#lostAt = performance.now();
    if (!this.#asks) return;
    const ms = Math.min(MAX_WAIT_MS, MIN_WAIT_MS + 3 * this.#planningMs);
    this.#channel.post({ type: 'yield', to: this.#id, ms });
  }

  get #asks(): boolean {
    return this.#losses >= LOSSES || this.#planningMs >= LONG_PLANNING_MS;
  }

  hear(message: Message): void {
    if (message.type === 'commit' && message.by === this.#waitsFor && !message.rewrites) this.#goOn();
    if (message.type !== 'yield' || message.to === this.#waitsFor) return;
    // If two ask each other, the lower id goes first.
    if (this.#asks && this.#id < message.to) return;
    this.#goOn();
    this.#holdBack(message.to, Math.min(message.ms, MAX_WAIT_MS));
  }

  close(): void {
    this.#goOn();
  }

  #holdBack(to: string, ms: number): void {
    this.#waitsFor = to;
    this.#turn = new Promise((resolve) => {
      const timer = setTimeout(() => this.#goOn(), ms);
      this.#goOn = () => {
        clearTimeout(timer);
        this.#goOn = () => {};
        this.#turn = undefined;
        this.#waitsFor = undefined;
        resolve();
      };
    });
  }
}
