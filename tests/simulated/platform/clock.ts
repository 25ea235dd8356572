/** Time and chance as a tab has them: timers, dates, which somebody may set, and random numbers, all of the world. */
import type { Standing, World } from './world';

/** A date in 2023. */
const EPOCH = 1.7e12;
/** Dates of different tabs are those of one machine; pages of `performance.now` began at different times. */
const AGE_MS = 5_000;

type Call = (...args: unknown[]) => void;

export class Clock {
  readonly globals: Readonly<Record<string, unknown>>;
  readonly #world: World;
  readonly #tab: Standing;
  readonly #timers = new Map<number, () => void>();
  #serial = 0;
  #dateSetMs = 0;

  constructor(world: World, tab: Standing) {
    this.#world = world;
    this.#tab = tab;
    this.globals = this.#makeGlobals(world.random.next() * AGE_MS);
  }

  /** Somebody sets the machine's date. */
  setDate(byMs: number): void {
    this.#dateSetMs += byMs;
  }

  #set(ms: number, call: () => void): number {
    const id = ++this.#serial;
    // A timer comes a little late. One that was cleared while its tab stood still does not come.
    const due = (): void => {
      if (this.#timers.has(id)) call();
    };
    this.#timers.set(id, this.#world.at(Math.max(ms, 0) + this.#world.random.next(), due, this.#tab));
    return id;
  }

  readonly #clear = (id: number): void => {
    this.#timers.get(id)?.();
    this.#timers.delete(id);
  };

  readonly #setTimeout = (call: Call, ms = 0, ...args: unknown[]): number => {
    const id = this.#set(ms, () => {
      this.#timers.delete(id);
      call(...args);
    });
    return id;
  };

  readonly #setInterval = (call: Call, ms = 0): number => {
    const id = ++this.#serial;
    const again = (): void => {
      const delay = Math.max(ms, 1) + this.#world.random.next();
      this.#timers.set(
        id,
        this.#world.at(
          delay,
          () => {
            if (!this.#timers.has(id)) return;
            again();
            call();
          },
          this.#tab,
        ),
      );
    };
    again();
    return id;
  };

  #makeGlobals(ageMs: number): Record<string, unknown> {
    const { random } = this.#world;
    const now = (): number => Math.floor(EPOCH + this.#world.now + this.#dateSetMs);
    const math: Record<string, unknown> = { random: () => random.next() };
    for (const name of Object.getOwnPropertyNames(Math))
      math[name] ??= (Math as unknown as Record<string, unknown>)[name];
    return {
      setTimeout: this.#setTimeout,
      clearTimeout: this.#clear,
      setInterval: this.#setInterval,
      clearInterval: this.#clear,
      setImmediate: (call: Call) => this.#world.at(random.next(), call, this.#tab),
      performance: { now: () => this.#world.now + ageMs },
      Math: math,
      Date: class extends Date {
        constructor(...args: [] | [value: number | string]) {
          super(...((args.length === 0 ? [now()] : args) as [number]));
        }
        static override now(): number {
          return now();
        }
      },
      crypto: {
        getRandomValues(bytes: Uint8Array): Uint8Array {
          // Longer ones are noise that nobody reads.
          for (let i = 0; i < Math.min(bytes.length, 64); i++) bytes[i] = random.below(256);
          return bytes;
        },
      },
    };
  }
}
