/**
 * Lets a context that keeps losing races for the next commit have its turn.
 *
 * Whoever commits without pause has its next transaction queued before the loser has planned anew: measured, one of two tabs lost
 * 289 races in a row, and one with large commits never won. So after a few losses in a row a context asks the others to hold
 * back, for about as long as it lately took to plan; they go on with its commit, or when that time is over. A hint, as all
 * that goes over the channel: no promise but liveness rests on it.
 */
import type { Channel, Message } from './channel';

/** Losses in a row from which on a context asks. Fewer happen all the time and cost less than holding the others back. */
const LOSSES = 3;
/** The least and the most that others are asked to wait: a turn of the storage, and what a tab may be held up by a dead one. */
const MIN_WAIT_MS = 20;
const MAX_WAIT_MS = 1000;

export class Fairness {
  readonly #id: string;
  readonly #channel: Channel;
  #losses = 0;
  #lostAt = 0;
  /** How long the engine took between a loss and its next try, at most, since it last won. */
  #planningMs = 0;
  #waitsFor: string | undefined;
  #turn: Promise<void> | undefined;
  #goOn = (): void => {};

  constructor(id: string, channel: Channel) {
    this.#id = id;
    this.#channel = channel;
  }

  /** To be called before a write: undefined to go ahead, else resolves when one may. */
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
    if (this.#losses < LOSSES) return;
    const ms = Math.min(MAX_WAIT_MS, MIN_WAIT_MS + 3 * this.#planningMs);
    this.#channel.post({ type: 'yield', to: this.#id, ms });
  }

  hear(message: Message): void {
    if (message.type === 'commit' && message.by === this.#waitsFor) this.#goOn();
    if (message.type !== 'yield' || message.to === this.#waitsFor) return;
    // Of two that ask each other, the lower id goes first.
    if (this.#losses >= LOSSES && this.#id < message.to) return;
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
