/**
 * Messages in one direction between a tab and a part of the browser: none overtakes another. To a frozen tab they wait; when it goes on,
 * those of each pipe come in their order, and which pipe begins is a matter of chance.
 */
import type { Standing, World } from './world';

export class Pipe {
  readonly #world: World;
  /** Where messages wait while that stands still. */
  readonly #to: Standing;
  readonly #waiting: { readonly time: number; readonly run: () => void }[] = [];
  #last = 0;
  #lagMs = 0;
  /** Whether the first message has a task. */
  #isMoving = false;

  constructor(world: World, to: Standing) {
    this.#world = world;
    this.#to = to;
  }

  send(run: () => void): void {
    const lagMs = this.#lagMs === 0 ? 0 : this.#world.random.next() * this.#lagMs;
    this.#last = Math.max(this.#last, this.#world.now + this.#world.latency() + lagMs);
    this.#waiting.push({ time: this.#last, run });
    this.#move(0);
  }

  /** From now on each message takes up to so many ms longer. */
  lag(ms: number): void {
    this.#lagMs = ms;
  }

  /** The tab goes on: what waits comes after so many ms. */
  resume(delayMs: number): void {
    this.#move(delayMs);
  }

  #move(delayMs: number): void {
    const [first] = this.#waiting;
    if (this.#isMoving || first === undefined) return;
    this.#isMoving = true;
    this.#world.at(Math.max(first.time - this.#world.now, delayMs), () => this.#deliver());
  }

  #deliver(): void {
    this.#isMoving = false;
    if (this.#to.isDead) this.#waiting.length = 0;
    if (this.#to.isFrozen || this.#waiting.length === 0) return;
    const { run } = this.#waiting.shift()!;
    this.#move(0);
    run();
  }
}
