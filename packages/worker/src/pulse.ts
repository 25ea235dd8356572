/**
 * Notices that a host has fallen silent while something is owed: by asking, as long as nothing is heard. A page that was itself
 * asleep finds its timer late and the answers behind it, so time alone does not count, but some ticks without a word too.
 */
import type { Channel } from './channel';

export interface Beat {
  readonly everyMs: number;
  /** Without a word for so long, it is silent. */
  readonly silentMs: number;
}

/**
 * Another tab's worker may be frozen without warning, and within a second another is to serve: this, what the suspicion takes
 * (`SUSPECT_MS` in election.ts), and some 100 ms in which the next one begins.
 */
export const OTHER_TAB: Beat = { everyMs: 125, silentMs: 375 };
/**
 * A host that was left, for the writes it took: one that was given up wrongly, or resigned, answers them. Longer than for another
 * to be asked, because a write that is given up must be refused.
 */
export const LEFT: Beat = { everyMs: 125, silentMs: 750 };
/**
 * Of one's own worker. Its death is told by its lock; what remains is one that hangs, or where there are no locks. A minute,
 * because a worker that only takes long (a debugger, a map function over everything) is to be waited for.
 */
export const OWN: Beat = { everyMs: 5_000, silentMs: 60_000 };

interface PulseEvents {
  /** @param times so many silences in a row */
  silent(times: number): void;
  /** Something is owed. */
  tick(): void;
}

/** Ticks without a word that make a silence, at least. */
const MISSES = 3;

export class Pulse {
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(channel: Channel, { everyMs, silentMs }: Beat, events: PulseEvents) {
    let [missed, silences] = [0, 0];
    let since = performance.now();
    this.#timer = setInterval(() => {
      const now = performance.now();
      const isBusy = channel.busy;
      if (isBusy) events.tick();
      if (!isBusy || channel.heard) [missed, silences, since] = [0, 0, now];
      else missed++;
      channel.heard = false;
      if (missed >= MISSES && now - since >= silentMs) {
        [missed, since] = [0, now];
        events.silent(++silences);
      } else if (isBusy) channel.send(['ping']);
    }, everyMs);
    // In Node a database that waits is no reason to go on.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
