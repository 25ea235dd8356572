/**
 * Who is there: lets a context know that it is alone on its database, so that its readers need not ask the storage (I9).
 *
 * Whoever may write holds the Web Lock `settledb:<name>:presence`: in exclusive mode when alone ("solo"), else in shared mode.
 *
 *   newcomer:  exclusive at once? ── yes ─→ solo
 *                 └─ no: asks for shared (queued), says hello ─→ the solo one lets go, asks for shared too ─→ both shared
 *   silence:   after STEAL_AFTER_MS the newcomer takes the lock by force and raises the fence in the database
 *
 * Three guards keep `alone` from being true wrongly:
 * - fresh: only after a read or append that began under the lock; what was committed before it would never be asked for.
 * - lease: only while every hello older than LEASE_MS must have been heard. Messages arrive in the order sent, so an echo of
 *   our own sent at t proves it for t. LEASE_MS is below STEAL_AFTER_MS: a thread that was busy or frozen meanwhile doubts first.
 * - fence: a writer reads it before it asks for the lock and compares it within each commit's transaction. One that lost the lock
 *   without noticing yet is refused, so that a later solo context misses nothing. One that is alone by the two guards above compares
 *   nothing: it lets go of its lock only after its commits, and who takes it by force puts a barrier where its next would stand
 *   (raiseFence in commits.ts). Who opens the database asks for the lock
 *   meanwhile, and reads the fence after; what was read more than LEASE_MS after the asking does not count.
 */
import { ioError } from '@settledb/core';
import type { Channel, Message } from './channel';
import { Clock } from './clock';
import { acquire, type Hold } from './lock';
import { after } from './open';
import { randomId } from './schema';
import { unref } from './unref';

/** A living event loop answers a hello within a few ms; a blocked one is not waited for. */
const STEAL_AFTER_MS = 1000;
/** How long an echo is trusted. */
const LEASE_MS = 700;
/** At which age a new echo is sent. */
const RENEW_MS = 350;
/** For how long after it was last needed: a person's pause between two deeds. A read without a lease takes 1.5 ms, with one 0.02. */
const KEEP_MS = 10_000;
/** How often at most, while asked, one looks whether the others have gone (crashed tabs say no bye). */
const LOOK_AFTER_MS = 2000;
/** Longer than any honest wait: a theft takes one turn. */
const JOIN_TIMEOUT_MS = 10_000;
/** How long closing waits for a lock that is being asked for, so that who opens next finds it free: where all live it takes a ms. */
const FAREWELL_MS = 100;

export interface PresenceHost {
  readonly name: string;
  readonly locks: LockManager | undefined;
  readonly channel: Channel;
  readFence(): Promise<number>;
  /** @returns the new one */
  raiseFence(): Promise<number>;
  /** Others may have committed while no hint could be heard. */
  missed(): void;
}

type Mode = 'out' | 'shared' | 'solo';

export class Presence {
  readonly #host: PresenceHost;
  readonly #lockName: string;
  readonly #id = randomId();
  readonly #clock = new Clock();
  #mode: Mode = 'out';
  #hold: Hold | undefined;
  #joining: Promise<void> | undefined;
  /** Ends the waiting for the shared lock. */
  #giveUp: AbortController | undefined;
  #fence: number | undefined;
  /** Writes under way; the lock is kept while there are any. */
  #writers = 0;
  /** Commits under way that compare no fence. */
  #staying = 0;
  /** Must the lock be shared when they have ended? */
  #sharesThen = false;
  /** Rises whenever this context becomes solo. */
  #term = 0;
  #fresh = false;
  #leaseFrom = 0;
  #neededAt = 0;
  #renewal: ReturnType<typeof setTimeout> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #heardHello = false;
  /** The page is put away, or about to be. */
  #isAway = false;
  #over = false;

  constructor(host: PresenceHost) {
    this.#host = host;
    this.#lockName = `settledb:${host.name}:presence`;
    globalThis.addEventListener?.('pagehide', this.#onHide);
    globalThis.addEventListener?.('pageshow', this.#onShow);
    globalThis.document?.addEventListener('freeze', this.#onHide);
    globalThis.document?.addEventListener('resume', this.#onShow);
  }

  /** Asks for the lock, while the database opens. Reading needs none. */
  greet(): void {
    void this.#joinQuietly(true);
  }

  /** See Journal.alone. */
  alone(): boolean {
    if (this.#mode !== 'solo' || !this.#fresh) {
      this.#look();
      return false;
    }
    this.#neededAt = this.#clock.now();
    const age = this.#neededAt - this.#leaseFrom;
    // Later, since who reads would wait for it: a channel takes 0.3 ms to make in Firefox.
    this.#renewal ??= unref(setTimeout(this.#renew, RENEW_MS - age));
    return age < LEASE_MS;
  }

  /** Nobody else can have a commit to hear of: who comes is told by `missed` when it has got the lock. */
  get solo(): boolean {
    return this.#mode === 'solo';
  }

  /** To be taken before a transaction that shows what others committed, and handed to `saw` after it. */
  get term(): number {
    return this.#term;
  }

  saw(term: number): void {
    if (term === this.#term) this.#fresh = true;
  }

  /** What is in memory may lag behind what this context itself has written. */
  doubt(): void {
    this.#fresh = false;
  }

  /** The fence that a write must meet; undefined where there are no locks, and it is not compared. */
  get fence(): number | undefined {
    return this.#fence;
  }

  /** Waits until this context may write; `leave` must follow. */
  async enter(): Promise<void> {
    if (this.#host.locks !== undefined) {
      while (this.#mode === 'out' && !this.#over) await this.#join();
    }
    this.#writers++;
  }

  leave(): void {
    if (--this.#writers === 0 && this.#isAway) this.#goAway();
  }

  /** Keeps the lock until what is returned is called: for a write that compares no fence. To be called while `alone`. */
  stay(): () => void {
    this.#staying++;
    return () => {
      if (--this.#staying > 0 || !this.#sharesThen) return;
      this.#sharesThen = false;
      if (this.#mode === 'solo') this.#share();
    };
  }

  /** A write met another fence: the lock was taken from us. The next `enter` asks for it anew. */
  fenced(): void {
    void this.#letGo();
  }

  /** What the channel brings. */
  hear(message: Message): void {
    if (message.type === 'hello') {
      this.#heardHello = true;
      if (this.#mode === 'solo') this.#share();
    } else if (message.type === 'bye') {
      this.#lookedAt = Number.NEGATIVE_INFINITY;
      this.#look();
    } else if (message.type === 'echo' && message.of === this.#id) {
      this.#leaseFrom = Math.max(this.#leaseFrom, message.at);
    }
  }

  /** Lets go of the lock for good. To be called when no write is under way. */
  async close(): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    globalThis.removeEventListener?.('pagehide', this.#onHide);
    globalThis.removeEventListener?.('pageshow', this.#onShow);
    globalThis.document?.removeEventListener('freeze', this.#onHide);
    globalThis.document?.removeEventListener('resume', this.#onShow);
    this.#giveUp?.abort();
    clearTimeout(this.#renewal);
    if (this.#joining !== undefined) {
      const { promise, stop } = timeout(FAREWELL_MS);
      await Promise.race([promise, this.#joining.catch(() => {})]);
      stop();
    }
    await this.#letGo();
    this.#host.channel.post({ type: 'bye' });
  }

  #join(opening = false): Promise<void> {
    return this.#joining ?? this.#track(this.#joinOnce(opening));
  }

  #track(work: Promise<void>): Promise<void> {
    const joining = work.finally(() => {
      if (this.#joining === joining) this.#joining = undefined;
    });
    this.#joining = joining;
    return joining;
  }

  /** Nobody waits for it: whoever writes next joins again, and hears of the failure. */
  async #joinQuietly(opening = false): Promise<void> {
    if (this.#host.locks !== undefined && !this.#over) await this.#join(opening).catch(() => {});
  }

  async #joinOnce(opening: boolean): Promise<void> {
    const { locks, channel } = this.#host;
    if (locks === undefined) return;
    channel.wake(); // the page was about to be put away, and writes all the same
    if (opening && (await this.#joinSolo(locks, true))) return;
    if (this.#over) return;
    this.#fence = await this.#host.readFence();
    if (this.#over || (await this.#joinSolo(locks)) || this.#over) return;
    await this.#joinShared(locks);
  }

  /** @param fenceAfter the fence is read when the lock is held: which is as good while the lock cannot have been taken by force */
  async #joinSolo(locks: LockManager, fenceAfter = false): Promise<boolean> {
    if (!this.#host.channel.works) return false;
    this.#heardHello = false;
    const since = performance.now();
    const solo = await this.#acquire(locks, { ifAvailable: true });
    if (solo === undefined) return false;
    this.#term++;
    this.#fresh = false;
    if (fenceAfter) {
      try {
        this.#fence = await this.#host.readFence();
      } catch (error) {
        void solo.release();
        throw error;
      }
      // Whoever takes it by force has waited for longer, from a time when it was held.
      if (performance.now() - since > LEASE_MS) {
        await solo.release();
        return false;
      }
    }
    this.#take(solo, 'solo');
    this.#leaseFrom = since; // no hello that matters to us is older: exclusive is granted only when nobody waits
    if (this.#heardHello) this.#share();
    return true;
  }

  /** Asks for the shared lock, and makes a holder that does not react lose it. */
  async #joinShared(locks: LockManager): Promise<void> {
    const giveUp = new AbortController();
    this.#giveUp = giveUp;
    const waiting = this.#acquire(locks, { mode: 'shared', signal: giveUp.signal });
    this.#host.channel.post({ type: 'hello' });
    // Where all stood still, whoever holds it has yet to hear of us.
    const stopStealing = after(STEAL_AFTER_MS, () => {
      this.#steal(locks).catch((cause) => giveUp.abort(cause));
    });
    const stopWaiting = after(JOIN_TIMEOUT_MS, () => {
      giveUp.abort(ioError(`Database "${this.#host.name}": the browser's lock manager does not answer`));
    });
    try {
      const hold = await waiting;
      if (hold !== undefined) this.#take(hold, 'shared');
    } finally {
      stopStealing();
      stopWaiting();
    }
    this.#host.missed();
  }

  /** The fence is raised under the lock: nobody can become solo before those who lost it are shut out. */
  async #steal(locks: LockManager): Promise<void> {
    const hold = await acquire(locks, this.#lockName, { mode: 'exclusive', steal: true });
    try {
      this.#fence = await this.#host.raiseFence();
    } finally {
      void hold?.release(); // the shared one is next in the queue
    }
  }

  #acquire(locks: LockManager, options: LockOptions): Promise<Hold | undefined> {
    return acquire(locks, this.#lockName, options, (hold) => {
      if (this.#hold !== hold) return;
      this.#hold = undefined;
      this.#mode = 'out';
    });
  }

  #take(hold: Hold, mode: Mode): void {
    if (this.#over) {
      void hold.release();
      return;
    }
    this.#hold = hold;
    this.#mode = mode;
  }

  #letGo(): Promise<void> {
    const hold = this.#hold;
    this.#hold = undefined;
    this.#mode = 'out';
    return hold?.release() ?? Promise.resolve();
  }

  /** From solo to shared: the shared request stands in the queue before the exclusive lock is let go. */
  #share(atOnce = false): void {
    if (this.#staying > 0 && !atOnce) {
      this.#sharesThen = true;
      return;
    }
    const { locks } = this.#host;
    const solo = this.#hold;
    if (locks === undefined || solo === undefined) return;
    this.#hold = undefined;
    this.#mode = 'out';
    this.#track(this.#joinShared(locks)).catch(() => {}); // who writes next tries again
    void solo.release();
  }

  readonly #renew = (): void => {
    this.#renewal = undefined;
    const now = performance.now();
    if (this.#over || this.#mode !== 'solo' || now - this.#neededAt > KEEP_MS) return;
    this.#renewal = unref(setTimeout(this.#renew, RENEW_MS));
    this.#host.channel.postToAll({ type: 'echo', of: this.#id, at: now });
  };

  /** While others are there: have they gone? Then this context lets go and tries to become solo. */
  #look(): void {
    const { locks, channel } = this.#host;
    const now = performance.now();
    if (locks === undefined || !channel.works || this.#over || this.#joining !== undefined) return;
    if (this.#mode === 'solo' || now - this.#lookedAt < LOOK_AFTER_MS) return;
    this.#lookedAt = now;
    if (this.#mode === 'out') {
      void this.#joinQuietly();
      return;
    }
    locks.query().then(
      ({ held = [], pending = [] }) => {
        const here = [...held, ...pending].filter((lock) => lock.name === this.#lockName);
        const idle = this.#mode === 'shared' && this.#writers === 0 && this.#joining === undefined;
        if (here.length > 1 || !idle || this.#over) return;
        void this.#letGo();
        void this.#joinQuietly();
      },
      () => {},
    );
  }

  /** A page about to be frozen or put in the back-forward cache cannot answer a hello. */
  readonly #onHide = (event: Event): void => {
    // Not where the page ends.
    this.#isAway ||= !('persisted' in event) || event.persisted === true;
    if (this.#writers === 0) this.#goAway();
    else if (this.#mode === 'solo') this.#share(true); // when the write has ended, nothing of it may run any more
  };

  #goAway(): void {
    const { channel } = this.#host;
    void this.#letGo().then(() => channel.post({ type: 'bye' }));
    if (this.#isAway && this.#joining === undefined) channel.sleep();
  }

  readonly #onShow = (event: Event): void => {
    if ('persisted' in event && event.persisted === false) return; // the page's first showing
    this.#isAway = false;
    this.#host.channel.wake();
    if (this.#mode === 'out') void this.#joinQuietly();
    this.#host.missed();
  };
}

function timeout(ms: number): { promise: Promise<void>; stop: () => void } {
  let stop = (): void => {};
  const promise = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    stop = () => clearTimeout(timer);
  });
  return { promise, stop };
}
