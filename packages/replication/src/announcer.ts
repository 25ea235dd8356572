/**
 * The events `active` and `paused` of a replication: strictly in turn, whatever happens in between, so that a listener can
 * show one light that is on or off. `paused` comes with the error when it waits to try again, without when it is caught up.
 */
export class Announcer {
  readonly #emit: (event: 'active' | 'paused', error?: unknown) => void;
  #state: 'new' | 'active' | 'caught up' | 'stalled' = 'new';

  constructor(emit: (event: 'active' | 'paused', error?: unknown) => void) {
    this.#emit = emit;
  }

  active(): void {
    if (this.#state === 'active') return;
    this.#state = 'active';
    this.#emit('active');
  }

  caughtUp(): void {
    this.#pause('caught up');
  }

  stalled(error: unknown): void {
    this.#pause('stalled', error);
  }

  /** A replication that was paused becomes `active` for a moment, so that the listener hears of the error as of any other pause. */
  #pause(as: 'caught up' | 'stalled', error?: unknown): void {
    if (this.#state === as) return;
    if (this.#state !== 'new') this.active();
    this.#state = as;
    this.#emit('paused', error);
  }
}
