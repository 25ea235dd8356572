/**
 * Which of several workers, one in each tab, serves all of them. The owner is the worker that holds a Web Lock: when its tab goes,
 * however it goes, the browser gives the lock to the next in line. Every worker could serve, and the storage is safe with several at
 * once; one is enough, and replicates once. So an election that goes wrong for a moment costs effort, never data.
 *
 *   standing ─ lock granted ─▶ owner ─ resigned (frozen), or the lock was stolen (did not answer) ─▶ away ─▶ standing …
 *
 * But an owner with private files keeps them until it wakes, and nobody else could have its databases: it is waited for.
 */
import { after, living, locked, openChannel, say, unref, uuid } from '@settledb/core';
import { workerTerminated } from './errors';
import { LinkChannel } from './link-channel';
import { type ClientInfo, type Endpoint, PROTOCOL, type Welcome } from './wire';

interface ElectionEvents {
  /** A page of another tab asks to be served over this channel. */
  link(endpoint: Endpoint, client: ClientInfo): Promise<void>;
  /** This worker is no longer the owner. */
  deposed(): void;
}

/** Messages between the workers of one scope, over a BroadcastChannel. */
type Word =
  /** Who is the owner? */
  | { readonly type: 'who' }
  | { readonly type: 'owner'; readonly host: string; readonly lock: string }
  /** To the owner: serve this page, on the channel `link`. */
  | { readonly type: 'link'; readonly host: string; readonly link: string; readonly client: ClientInfo }
  | { readonly type: 'linked'; readonly link: string };

/** How long to wait for a message of the owner. Its worker may be busy with a task; a new owner needs a few milliseconds. */
const ANSWER_MS = 300;
/** The same if the owner has been silent for a while. */
const SUSPECT_MS = 200;
/** Unanswered messages after which a page is told that nobody answers. */
const ASKED = 20;
/**
 * ms for which an owner that is not overruled is asked. Longer than another context's files are waited for (adapters/opfs), and half of what
 * a page waits for its own worker, however late its answers are on a busy machine.
 */
const KEEPER_MS = 5_000;
/**
 * How often an owner looks whether its channel lives. Else it would only listen, and one that is not overruled would never be heard again.
 * It takes some µs; as long as a feed goes without a look of its own (packages/core/src/database/waker.ts).
 */
const LOOK_MS = 20_000;
/** Begins the names of locks on databases that one context at a time can have (adapters/opfs). */
const FILES = 'settledb:opfs:';
const STANDS_STILL =
  'the worker of another tab, which has private files open, does not answer: it is busy, or stands still';

export class Election {
  readonly #host: string;
  readonly #lock: string;
  readonly #events: ElectionEvents;
  #channel: BroadcastChannel;
  readonly #heard = new Set<(word: Word) => void>();
  #isOwner = false;
  #wantsToBe = false;
  /** Whether it has asked for the owner's place, and not got it yet: who asks twice takes it from itself. */
  #isStealing = false;
  #resign: (() => void) | undefined;
  #waiting: AbortController | undefined;

  /** @returns undefined if workers cannot hear each other: then each serves its own page */
  static begin(scope: string, host: string, events: ElectionEvents): Election | undefined {
    if (typeof navigator === 'undefined' || !('locks' in navigator)) return undefined;
    const lock = `settledb:owner:${PROTOCOL}:${scope}`;
    const channel = openChannel(lock);
    return channel && new Election(lock, channel, host, events);
  }

  private constructor(lock: string, channel: BroadcastChannel, host: string, events: ElectionEvents) {
    this.#host = host;
    this.#events = events;
    this.#lock = lock;
    this.#channel = channel;
    channel.addEventListener('message', this.#listener);
    this.stand();
  }

  /** Joins the queue to become the owner. */
  stand(): void {
    if (this.#wantsToBe) return;
    this.#wantsToBe = true;
    this.#waiting = new AbortController();
    this.#request({ signal: this.#waiting.signal });
  }

  /** Stops being the owner, or leaves the queue. */
  resign(): void {
    this.#wantsToBe = false;
    this.#waiting?.abort();
    this.#resign?.();
  }

  /**
   * Where a page of this worker is served: `undefined` for here.
   * @throws worker_terminated if no owner is heard of, `locked` if it keeps its files
   */
  async seat(client: ClientInfo): Promise<Welcome | undefined> {
    const began = performance.now();
    for (let asked = 0; asked < ASKED; asked++) {
      if (this.#isOwner || !this.#wantsToBe) return undefined;
      const owner = await this.#ask({ type: 'who' }, (word) => (word.type === 'owner' ? word : undefined));
      // Elected meanwhile, or nobody can be. If nobody answers, the holder of the lock is asked once more, then overruled.
      if (this.#isOwner || !this.#wantsToBe) return undefined;
      if (owner === undefined) {
        const isKept = asked > 0 && !(await this.#overrule());
        if (isKept && performance.now() - began >= KEEPER_MS) throw locked(STANDS_STILL);
        continue;
      }
      const link = `settledb:link:${uuid()}`;
      const { host, lock } = owner;
      const linked = await this.#ask({ type: 'link', host, link, client }, (word) =>
        word.type === 'linked' && word.link === link ? word : undefined,
      );
      if (linked !== undefined) return { host, lock, link };
    }
    throw workerTerminated('No worker of this origin answers');
  }

  /** Checks whether `host` is the owner and answers; if nobody does, takes its place. @returns whether `host` does not, or is not */
  async suspect(host: string): Promise<boolean> {
    if (this.#isOwner || !this.#wantsToBe) return host !== this.#host;
    const owner = await this.#ask(
      { type: 'who' },
      (word) => (word.type === 'owner' ? word : undefined),
      SUSPECT_MS,
    );
    if (owner === undefined) await this.#overrule();
    return owner?.host !== host;
  }

  #request(how: LockOptions): void {
    if (how.steal) this.#isStealing = true;
    let looking: ReturnType<typeof setInterval> | undefined;
    const answered = (): void => {
      if (how.steal) this.#isStealing = false;
    };
    const term = (): Promise<void> | undefined => {
      answered();
      if (!this.#wantsToBe) return undefined;
      this.#isOwner = true;
      looking = unref(setInterval(() => this.#look(), LOOK_MS));
      this.#say(this.#me());
      this.#tellHere();
      return new Promise((resolve) => {
        this.#resign = resolve;
      });
    };
    const over = navigator.locks.request(this.#lock, how, term).finally(() => clearInterval(looking));
    over.then(
      () => this.#deposed(),
      (error) => {
        answered();
        if (error?.name !== 'AbortError') this.#barred();
        else if (this.#isOwner) this.#deposed();
        else if (how.steal) this.#standAgain(); // a third one has stolen it before this had it
      },
    );
  }

  /** No lock can be had: browsers refuse it along with storage, as when cookies are blocked. A page that waits is served here. */
  #barred(): void {
    this.#wantsToBe = false;
    this.#tellHere();
  }

  /**
   * Takes the owner's place, unless it keeps files, or waits for some. That would be in vain, and on a busy machine for ever: each owner
   * opens its databases, is silent meanwhile, and is overruled by one that must wait for it, to open them anew.
   *
   * @returns false if it keeps them
   */
  async #overrule(): Promise<boolean> {
    const { held = [], pending = [] } = await navigator.locks.query();
    const owner = held.find(({ name }) => name === this.#lock)?.clientId;
    const isKeeper = ({ clientId, name }: LockInfo): boolean =>
      clientId === owner && name?.startsWith(FILES) === true;
    if ([...held, ...pending].some(isKeeper)) return false;
    if (this.#isOwner || !this.#wantsToBe || this.#isStealing) return true;
    this.#waiting?.abort();
    this.#request({ steal: true });
    return true;
  }

  /** Another worker has the lock: this one resigned, or did not answer for a while and the lock was stolen. */
  #deposed(): void {
    if (!this.#isOwner) return;
    this.#isOwner = false;
    this.#resign = undefined;
    this.#events.deposed();
    this.#standAgain();
  }

  #standAgain(): void {
    if (!this.#wantsToBe) return;
    this.#wantsToBe = false;
    this.stand();
  }

  #me(): Word {
    return { type: 'owner', host: this.#host, lock: `settledb:host:${this.#host}` };
  }

  #tellHere(): void {
    for (const heard of this.#heard) heard(this.#me());
  }

  /** An owner whose channel has ended says on another one who it is: somebody may be asking. */
  #look(): void {
    if (this.#renew()) this.#say(this.#me());
  }

  /**
   * On another channel if the browser has ended this one: a worker that does not hear its answer would take the place of each owner in
   * turn.
   */
  #say(word: Word): void {
    this.#renew();
    say(this.#channel, word);
  }

  /** @returns whether the browser has ended the channel, and there is another one now */
  #renew(): boolean {
    const former = this.#channel;
    this.#channel = living(former, this.#listener);
    return this.#channel !== former;
  }

  readonly #listener = ({ data }: MessageEvent<Word>): void => this.#hear(data);

  #hear(word: Word): void {
    if (word.type === 'who' && this.#isOwner) this.#say(this.#me());
    if (word.type === 'link' && word.host === this.#host && this.#isOwner) {
      const channel = new LinkChannel(word.link);
      void this.#events.link(channel, word.client).then(() => this.#say({ type: 'linked', link: word.link }));
    }
    for (const heard of this.#heard) heard(word);
  }

  #ask<Answer>(
    word: Word,
    isAnswer: (word: Word) => Answer | undefined,
    forMs = ANSWER_MS,
  ): Promise<Answer | undefined> {
    return new Promise((resolve) => {
      const settle = (answer: Answer | undefined): void => {
        this.#heard.delete(hear);
        end();
        resolve(answer);
      };
      const hear = (heard: Word): void => {
        const answer = isAnswer(heard);
        if (answer !== undefined) settle(answer);
      };
      const end = after(forMs, () => settle(undefined));
      this.#heard.add(hear);
      this.#say(word);
    });
  }
}
