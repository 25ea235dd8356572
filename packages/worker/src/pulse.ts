/**
 * Notices that a host has fallen silent while something is owed: by asking, as long as nothing is heard. A page that was itself
 * asleep finds its timer late and the answers behind it, so what counts is ticks without a word, not time.
 */
import type { Channel } from './channel';

export interface Beat {
  readonly everyMs: number;
  /** Ticks without a word that make a silence. */
  readonly misses: number;
}

/** Another tab's worker may be frozen without warning: to be noticed well within a second. */
export const OTHER_TAB: Beat = { everyMs: 150, misses: 3 };
/**
 * Of one's own worker. Its death is told by its lock; what remains is one that hangs, or where there are no locks. A minute,
 * because a worker that only takes long (a debugger, a map function over everything) is to be waited for.
 */
export const OWN: Beat = { everyMs: 5_000, misses: 12 };

export class Pulse {
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(channel: Channel, { everyMs, misses }: Beat, events: { silent(): void; tick(): void }) {
    let missed = 0;
    this.#timer = setInterval(() => {
      if (!channel.busy) {
        missed = 0;
        channel.heard = false;
        return;
      }
      events.tick();
      missed = channel.heard ? 0 : missed + 1;
      channel.heard = false;
      if (missed < misses) return channel.send(['ping']);
      missed = 0;
      events.silent();
    }, everyMs);
    // In Node a database that waits is no reason to go on.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
