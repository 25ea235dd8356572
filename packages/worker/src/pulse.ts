/**
 * Notices that a host has fallen silent while it owes something: asks as long as nothing is heard. A page that was itself
 * asleep finds its timer late and the answers behind it, so time alone does not count: some ticks without a message are needed too.
 */
import { unref } from '@settledb/core';
import type { Channel } from './channel';

export interface Beat {
  readonly everyMs: number;
  /** A host without a message for so long is silent. */
  readonly silentMs: number;
}

/**
 * For another tab's worker. It may be frozen without warning, and another should serve within a second: this time, that of the
 * suspicion (`SUSPECT_MS` in election.ts), and some 100 ms in which the next one starts.
 */
export const OTHER_TAB: Beat = { everyMs: 125, silentMs: 375 };
/**
 * For a host that was left, because of the writes it took: if it was given up wrongly, or resigned, it answers them. Longer than
 * before another host is asked, because giving a write up means refusing it.
 */
export const LEFT: Beat = { everyMs: 125, silentMs: 750 };
/**
 * For the page's own worker. Its lock tells of its death; what remains is a worker that hangs, or one without locks. A minute,
 * because a worker that only takes long (a debugger, a map function over everything) is to be waited for.
 */
export const OWN: Beat = { everyMs: 5_000, silentMs: 60_000 };

/**
 * The same for one whose lock cannot be seen: after Chromium has cleared the site's data, or because it ended before its page looked.
 * Nothing tells of its death. As long as a worker's first answer is waited for.
 */
export const UNSEEN: Beat = { everyMs: 2_500, silentMs: 10_000 };

interface PulseEvents {
  /** @param times number of silences in a row */
  silent(times: number): void;
  /** Called at each tick while something is owed. */
  tick(): void;
}

/** Fewest ticks without a message that make a silence. */
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
    unref(this.#timer);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
