/**
 * Lets a context know that it is alone on its database, so that its readers need not ask the storage (I9).
 *
 * Whoever may write holds the Web Lock `settledb:<name>:presence`: in exclusive mode when alone ("solo"), otherwise in shared mode.
 *
 *   newcomer:  exclusive at once? ── yes ─→ solo
 *                 └─ no: asks for shared (queued), says hello ─→ the solo one lets go, asks for shared too ─→ both shared
 *   silence:   after STEAL_AFTER_MS the newcomer raises the fence in the database, takes the lock by force, and raises it again
 *
 * Three guards keep `alone` from being true wrongly:
 * - fresh: only after a read or append that began under the lock; what was committed before that would never be asked for.
 * - lease: only while every hello older than LEASE_MS must have been heard. Messages arrive in the order sent, so our own
 *   echo sent at t proves it for t. LEASE_MS is below STEAL_AFTER_MS: a thread that was busy or frozen meanwhile first doubts.
 * - fence: a writer reads the fence before it asks for the lock, and compares it within each commit's transaction. A writer that has
 *   lost the lock without noticing is refused, so that a later solo context misses nothing. A context that is alone by the two guards
 *   above compares nothing: it releases its lock only after its commits (if its page is put away, after they were begun), and whoever
 *   takes the lock by force puts a barrier where its next commit would stand (raiseFence in commits.ts). While a database is opened
 *   the lock is asked for first, and the fence read afterwards; a fence read more than LEASE_MS after asking does not count.
 *
 * When Chromium clears the data of an origin whose pages are open, the pages that come later have locks of their own: neither kind sees
 * the other's (156). But they do hear each other. So a context says when it has become solo, and whoever has held the lock for longer
 * answers that they are apart. None of them is ever solo again.
 */
import { after, afterTimer, unref, uuid } from '@settledb/core';
import type { Channel, Message } from './channel';
import { clock } from './clock';
import { acquire, acquireInTime, acquireNow, type Hold } from './lock';

/** A living event loop answers a hello within a few ms; a blocked one is not waited for. */
const STEAL_AFTER_MS = 1000;
/** How long an echo is trusted. */
const LEASE_MS = 700;
/** The age at which a new echo is sent. */
const RENEW_MS = 350;
/** How long after its last use the lease is renewed: a person's pause between two actions. A read takes 1.5 ms without it, 0.02 with. */
const KEEP_MS = 10_000;
/** How often at most, while asked, a context checks whether the others have gone (crashed tabs say no bye). */
const LOOK_AFTER_MS = 2000;
/** How long closing waits for a lock being requested, so that the next opening finds it free: if all are alive it takes a ms. */
const FAREWELL_MS = 100;

interface PresenceHost {
  readonly name: string;
  readonly locks: LockManager | undefined;
  readonly channel: Channel;
  readFence(): Promise<number>;
  /** @returns the new fence */
  raiseFence(): Promise<number>;
  /** Called when others may have committed while no hint could be heard. */
  missed(): void;
}

type Mode = 'out' | 'shared' | 'solo';

export class Presence {
  readonly #host: PresenceHost;
  readonly #lockName: string;
  readonly #id = uuid();
  readonly #now = clock();
  #mode: Mode = 'out';
  #hold: Hold | undefined;
  #joining: Promise<void> | undefined;
  /** Ends the waiting for the shared lock. */
  #giveUp: AbortController | undefined;
  #fence: number | undefined;
  /** Running writes; the lock is kept while there are any. */
  #writers = 0;
  /** Running commits that compare no fence. */
  #staying = 0;
  /** Whether the lock must be shared when those have ended. */
  #sharesThen = false;
  /** Rises whenever this context becomes solo. */
  #term = 0;
  #fresh = false;
  #leaseFrom = 0;
  #neededAt = 0;
  #renewal: ReturnType<typeof setTimeout> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #heardHello = false;
  /** The date at which the lock was taken, which other contexts' dates are compared with. */
  #since = 0;
  #isApart = false;
  /** The page is put away, or about to be. */
  #isAway = false;
  #over = false;

  constructor(host: PresenceHost) {
    this.#host = host;
    this.#lockName = `settledb:${host.name}:presence`;
    this.#page('addEventListener');
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
    this.#neededAt = this.#now();
    const age = this.#neededAt - this.#leaseFrom;
    // In a timer, since the reader would wait for it: making a channel takes 0.3 ms in Firefox.
    this.#renewal ??= unref(setTimeout(this.#renew, RENEW_MS - age));
    return age < LEASE_MS;
  }

  /** Nobody else can need to hear of a commit: a newcomer is told by `missed` when it has got the lock. */
  get solo(): boolean {
    return this.#mode === 'solo';
  }

  /** To be read before a transaction that shows what others committed, and passed to `saw` after it. */
  get term(): number {
    return this.#term;
  }

  saw(term: number): void {
    if (term === this.#term) this.#fresh = true;
  }

  /** From now on memory may lag behind what this context itself has written. */
  doubt(): void {
    this.#fresh = false;
  }

  /** The fence that a write must match; undefined without locks, when it is not compared. */
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

  /** Keeps the lock until the returned function is called: for a write that compares no fence. To be called while `alone`. */
  stay(): () => void {
    this.#staying++;
    return () => {
      if (--this.#staying > 0 || !this.#sharesThen) return;
      this.#sharesThen = false;
      if (this.#mode === 'solo') this.#share();
    };
  }

  /** A write met another fence: the lock was taken from this context. The next `enter` asks for it again. */
  fenced(): void {
    void this.#letGo();
  }

  /** Receives the channel's messages. */
  hear(message: Message): void {
    if (message.type === 'hello') {
      this.#heardHello = true;
      if (this.#mode === 'solo') this.#share();
    } else if (message.type === 'solo') {
      if (this.#since < message.at) this.#compare();
    } else if (message.type === 'apart') {
      this.#part();
    } else if (message.type === 'bye') {
      this.#lookedAt = Number.NEGATIVE_INFINITY;
      this.#look();
    } else if (message.type === 'echo' && message.of === this.#id) {
      this.#leaseFrom = Math.max(this.#leaseFrom, message.at);
    }
  }

  /** Releases the lock for good. To be called when no write is running. */
  async close(): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    this.#page('removeEventListener');
    this.#giveUp?.abort();
    clearTimeout(this.#renewal);
    if (this.#joining !== undefined)
      await Promise.race([afterTimer(FAREWELL_MS), this.#joining.catch(() => {})]);
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

  /** Another context says that it is alone, since a time when this one held the lock already. */
  #compare(): void {
    const hold = this.#hold;
    if (hold === undefined) return;
    // If the lock was taken from this context while it stood still, it hears so before an answer that it asks for now.
    this.#host.locks?.query().then(
      () => {
        if (this.#hold !== hold) return;
        this.#part();
        this.#host.channel.post({ type: 'apart' });
      },
      () => {},
    );
  }

  /** The locks do not show all contexts: from now on this one never takes itself for alone. */
  #part(): void {
    this.#isApart = true;
    if (this.#mode === 'solo') this.#share();
  }

  /** Not awaited by anybody: the next writer joins again, and is told of the failure. */
  async #joinQuietly(opening = false): Promise<void> {
    if (this.#host.locks !== undefined && !this.#over) await this.#join(opening).catch(() => {});
  }

  async #joinOnce(opening: boolean): Promise<void> {
    const { locks, channel } = this.#host;
    if (locks === undefined) return;
    channel.wake(); // the page was about to be put away, but writes
    if (opening && (await this.#joinSolo(locks, true))) return;
    if (this.#over) return;
    this.#fence = await this.#host.readFence();
    if (this.#over || (await this.#joinSolo(locks)) || this.#over) return;
    await this.#joinShared(locks);
  }

  /** @param fenceAfter read the fence once the lock is held: just as good while the lock cannot have been taken by force */
  async #joinSolo(locks: LockManager, fenceAfter = false): Promise<boolean> {
    if (!this.#host.channel.works || this.#isApart) return false;
    this.#heardHello = false;
    const since = performance.now();
    const solo = await acquireNow(locks, this.#lockName, this.#stolen);
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
      // A context that takes it by force has waited longer than this, since a time when the lock was held.
      if (performance.now() - since > LEASE_MS) {
        await solo.release();
        return false;
      }
    }
    this.#take(solo, 'solo');
    this.#leaseFrom = since; // no hello that matters here is older: exclusive is granted only when nobody waits
    if (this.#heardHello || this.#isApart) this.#share();
    else this.#host.channel.post({ type: 'solo', at: this.#since });
    return true;
  }

  /** Asks for the shared lock, and takes it by force from a holder that does not react. */
  async #joinShared(locks: LockManager): Promise<void> {
    const giveUp = new AbortController();
    this.#giveUp = giveUp;
    const options: LockOptions = { mode: 'shared', signal: giveUp.signal };
    const waiting = acquireInTime(locks, this.#lockName, options, this.#stolen);
    this.#host.channel.post({ type: 'hello' });
    // Measured in parts: if everything stood still, the holder has yet to hear the hello.
    const stopStealing = after(STEAL_AFTER_MS, () => {
      this.#steal(locks, giveUp.signal).catch((cause) => giveUp.abort(cause));
    });
    try {
      const hold = await waiting;
      if (hold !== undefined) this.#take(hold, 'shared');
    } catch (cause) {
      giveUp.abort();
      throw cause;
    } finally {
      stopStealing();
    }
    this.#host.missed();
  }

  /**
   * The fence is raised under the lock: nobody can become solo before those who lost the lock are shut out. And before it, since the
   * storage may refuse, or this context end, when the lock is taken: then nobody would be shut out. That fence is not this context's:
   * it may have got the lock, and lost it again, before that was raised.
   */
  async #steal(locks: LockManager, over: AbortSignal): Promise<void> {
    await this.#host.raiseFence();
    if (this.#hold !== undefined || over.aborted) return; // it was given meanwhile, or nobody waits for it
    const hold = await acquire(locks, this.#lockName, { mode: 'exclusive', steal: true });
    try {
      this.#fence = await this.#host.raiseFence();
    } finally {
      void hold?.release(); // the shared request is next in the queue
    }
  }

  readonly #stolen = (hold: Hold): void => {
    if (this.#hold !== hold) return;
    this.#hold = undefined;
    this.#mode = 'out';
  };

  #take(hold: Hold, mode: Mode): void {
    if (this.#over) {
      void hold.release();
      return;
    }
    this.#hold = hold;
    this.#mode = mode;
    this.#since = Date.now();
  }

  #letGo(): Promise<void> {
    const hold = this.#hold;
    this.#hold = undefined;
    this.#mode = 'out';
    return hold?.release() ?? Promise.resolve();
  }

  /** From solo to shared: the shared request is queued before the exclusive lock is released. */
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
    this.#track(this.#joinShared(locks)).catch(() => {}); // the next writer tries again
    void solo.release();
  }

  readonly #renew = (): void => {
    this.#renewal = undefined;
    const now = performance.now();
    if (this.#over || this.#mode !== 'solo' || now - this.#neededAt > KEEP_MS) return;
    this.#renewal = unref(setTimeout(this.#renew, RENEW_MS));
    this.#host.channel.postToAll({ type: 'echo', of: this.#id, at: now });
  };

  /** If others were there, checks whether they have gone. If so, releases the lock and tries to become solo. */
  #look(): void {
    const { locks, channel } = this.#host;
    const now = performance.now();
    if (locks === undefined || !channel.works || this.#over || this.#joining !== undefined) return;
    if (this.#isApart || this.#mode === 'solo' || now - this.#lookedAt < LOOK_AFTER_MS) return;
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

  /** Begins or ends hearing of the page, if this is one. */
  #page(how: 'addEventListener' | 'removeEventListener'): void {
    globalThis[how]?.('pagehide', this.#onHide);
    globalThis[how]?.('pageshow', this.#onShow);
    globalThis.document?.[how]('freeze', this.#onHide);
    globalThis.document?.[how]('resume', this.#onShow);
  }

  /** A page about to be frozen or put in the back/forward cache cannot answer a hello. */
  readonly #onHide = (event: Event): void => {
    // Not if the page ends.
    this.#isAway ||= !('persisted' in event) || event.persisted === true;
    if (this.#writers === 0) this.#goAway();
    else if (this.#mode === 'solo') this.#share(true); // by the time the write has ended, this page may no longer run
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
