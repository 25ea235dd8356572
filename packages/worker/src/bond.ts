/**
 * A page's bond with one host, from the host's welcome on: their channel, and the watch over the host.
 *
 *   serving ─┬─ the host is gone: nothing comes any more ──────────────────────────▶ ended
 *            └─ it is left for another: only what it took is waited for ─ in vain ─▶ ended
 */
import { Channel, type ChannelEvents } from './channel';
import { workerTerminated } from './errors';
import { whenGone } from './life';
import type { Attached, OwnWorker } from './own-worker';
import { onGoing } from './page-life';
import { type Beat, LEFT, OTHER_TAB, OWN, Pulse, UNSEEN } from './pulse';

interface BondEvents extends Pick<ChannelEvents, 'told' | 'opened'> {
  /** The host serves no more: what is asked from now on is for another. */
  over(isGone: boolean): void;
  /** … and what was under way was given back, or is waited for. */
  next(): void;
}

/** Silences after which a host is left although it says elsewhere that it is the owner: it does not answer here. */
const SILENCES = 2;
/** One that lived shorter was of no use, unless it answered. */
const YOUNG_MS = 1_000;

export class Bond {
  readonly channel: Channel;
  readonly #welcome: Attached['welcome'];
  readonly #own: OwnWorker;
  readonly #events: BondEvents;
  readonly #began = performance.now();
  /** Ends what tells the host that the page is left. */
  readonly #stay: () => void;
  readonly #unwatch: () => void;
  #pulse: Pulse;
  #isServing = true;

  constructor({ endpoint, welcome, isHeld }: Attached, own: OwnWorker, events: BondEvents) {
    this.#welcome = welcome;
    this.#own = own;
    this.#events = events;
    this.channel = new Channel(endpoint, {
      told: events.told,
      opened: events.opened,
      moved: () => this.#leave('The worker serves no more'),
      broken: (error) => this.#gone(error),
    });
    // Nothing else tells a worker that tabs share.
    this.#stay = isHeld ? () => {} : onGoing(() => this.channel.send(['going']));
    const ended = (): void => this.#gone(workerTerminated('The worker has ended'));
    const { lock } = welcome;
    this.#unwatch =
      lock === undefined ? () => {} : whenGone(lock, ended, endpoint, (isSeen) => this.#looked(isSeen));
    this.#pulse = this.#pulseOf(this.#isOfOtherTab ? OTHER_TAB : OWN);
  }

  get isYoung(): boolean {
    return performance.now() - this.#began < YOUNG_MS;
  }

  /**
   * The page is put away, or is back. While it is away, another tab's worker would throw it out of the back/forward cache (Chromium), by
   * what it tells, and by its wait for the page's lock. A worker that tabs share does not, and goes on with what it does for this page: it
   * sends what was written.
   */
  putAway(isBack: boolean): void {
    if (isBack || this.#isOfOtherTab) this.#leave('The page was put away while it waited');
  }

  /** Ends the channel, and the watch over its host. */
  end(error: unknown): void {
    this.#isServing = false;
    this.#stay();
    this.#unwatch();
    this.#pulse.stop();
    this.channel.die(error);
  }

  get #isOfOtherTab(): boolean {
    return this.#welcome.link !== undefined;
  }

  #gone(error: unknown): void {
    const wasServing = this.#isServing;
    if (wasServing) this.#events.over(true);
    this.end(error);
    if (wasServing) this.#events.next();
  }

  #leave(reason: string): void {
    if (!this.#isServing) return;
    this.#isServing = false;
    this.#events.over(false);
    const error = workerTerminated(reason);
    const end = (): void => this.end(error);
    this.#pulse.stop();
    this.#pulse = new Pulse(this.channel, LEFT, { tick: () => {}, silent: end });
    this.channel.onIdle = end;
    this.channel.leave(error);
    this.#events.next();
  }

  #pulseOf(beat: Beat): Pulse {
    return new Pulse(this.channel, beat, {
      tick: () => this.#own.keepAwake(),
      silent: (times) => this.#silent(times),
    });
  }

  #silent(times: number): void {
    const reason = 'The worker does not answer';
    if (!this.#isOfOtherTab) {
      this.#own.giveUp();
      this.#gone(workerTerminated(reason));
      return;
    }
    this.#own.suspect(this.#welcome.host).then(
      (isGone) => (isGone || times >= SILENCES) && this.#leave(reason),
      () => this.#leave(reason),
    );
  }

  /** @param isSeen whether the host's lock is seen to be held */
  #looked(isSeen: boolean): void {
    if (isSeen) this.channel.lock = this.#welcome.lock;
    else if (!this.#isOfOtherTab && this.#isServing) {
      this.#pulse.stop();
      this.#pulse = this.#pulseOf(UNSEEN);
    }
  }
}
