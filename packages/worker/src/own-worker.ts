/**
 * The worker that a page was given, and what the page asks of it: to serve, or to say who does. If it dies and the page said how to
 * make one, it is made again.
 */

import { afterTimer, inTime, ioError, untilAborted, uuid } from '@settledb/core';
import { transfer } from 'comlink';
import { controlOver, type RemoteControl } from './control';
import { barred, fromControl, isTerminated, workerTerminated } from './errors';
import { Frame } from './frame';
import { type Held, hold, whenGone } from './life';
import { onPutAway } from './page-life';
import { reached } from './reached';
import {
  checkTarget,
  greet,
  isService,
  keepAwake,
  onEnded,
  onFailure,
  sayPutAway,
  type Target,
  type Targets,
  terminate,
} from './targets';
import { type Endpoint, PROTOCOL, type PutAway, type Welcome } from './wire';

/** What is had of a host that will serve this page. */
export interface Attached {
  readonly endpoint: Endpoint;
  readonly welcome: Welcome;
  /** Whether the page holds a lock that tells the host of its end. */
  readonly isHeld: boolean;
}

interface Acquaintance {
  readonly target: Target;
  readonly control: RemoteControl;
  /** Of the control. */
  readonly port: MessagePort;
  /** Aborted when the worker has died. Not a promise to race with: it would keep every answer until then. */
  readonly death: AbortController;
  unwatch: () => void;
  unlisten: () => void;
  /** It has lost its storage, and ended. */
  isLost: boolean;
}

/**
 * How long a page that runs after it was told that it is put away waits for the word that it is back. One that is really put away stands
 * still meanwhile; another would wait in vain.
 */
const AWAY_MS = 500;
/**
 * After a shared worker has ended, another is made only after so long. When its process ends, Firefox (153) hands one that pages ask for
 * at once to the worker that is gone, as everyone who comes later, until all of these pages are closed: it happened to half of those who
 * asked at once, to none of 14 who waited for 10 ms or more. The main process, which may be busy, has to take notice first.
 */
export const SHARED_AGAIN_MS = 500;
/** Workers of other tabs in a row that may be named but not answer: each time, the owner is asked for anew. */
const ASKED = 5;

export class OwnWorker {
  readonly #targets: Targets;
  readonly #timeoutMs: number;
  readonly #unlisten: () => void;
  #life: Held | undefined;
  /** The lock held before the page was last put away. */
  #formerLife: Held | undefined;
  #known: Acquaintance | undefined;
  /** Resolves when the page that is put away is back, or was not put away after all. */
  #away: Promise<void> | undefined;
  #endAway = (): void => {};
  /** Resolves when another shared worker may be made. */
  #again: Promise<void> | undefined;
  /** Where workers are made since one of them had lost its storage. */
  #frame: Frame | undefined;
  /** Why there can be no other worker: the page gave a worker rather than a function, and it has died. */
  #end: unknown;

  /**
   * @param onMove called when the page that is put away stands still, and when it is back: messages sent to it meanwhile may be lost. Not
   *   sooner: what a program writes as its page is hidden would wait for its return
   * @throws TypeError for what is no worker
   */
  constructor(targets: Targets, timeoutMs: number, onMove: (isBack: boolean) => void) {
    if (targets && typeof targets !== 'function') checkTarget(targets);
    this.#targets = targets;
    this.#timeoutMs = timeoutMs;
    // A page that is put away takes its worker with it: another one should become the owner before.
    this.#unlisten = onPutAway(
      () => {
        this.#tell('away');
        this.#endAway();
        this.#away = new Promise((resolve) => {
          this.#endAway = resolve;
          setTimeout(resolve, AWAY_MS);
        });
      },
      () => onMove(false),
      () => {
        this.#tell('back');
        this.#beginNewLife();
        this.#endAway();
        onMove(true);
      },
    );
  }

  /** Asks to be served. @throws worker_terminated if there is no worker, or no answer in time */
  async attach(): Promise<Attached> {
    for (let asked = 0; asked < ASKED; asked++) {
      const attached = await this.#attachOnce();
      if (attached !== undefined) return attached;
    }
    throw workerTerminated('The worker of another tab does not answer');
  }

  /** @returns `undefined` if another tab's worker was named but does not answer, or this page's lost its storage meanwhile */
  async #attachOnce(): Promise<Attached | undefined> {
    // Its worker has resigned. The next host would wait for the page's lock, for which Chromium throws a page out of the cache.
    await this.#away;
    // Released while this waited: nobody would release what is held from here on.
    if (this.#known === undefined && this.#end !== undefined) throw this.#end;
    this.#life ??= hold(`settledb:page:${uuid()}`);
    const life = this.#life;
    const lock = await this.#named(life);
    if (this.#known === undefined) await this.#again;
    this.#known ??= this.#meet();
    const known = this.#known;
    const { port1, port2 } = new MessageChannel();
    try {
      const asked = known.control.attach(transfer(port2, [port2]), { protocol: PROTOCOL, lock });
      const welcome = await this.#inTime(untilAborted(asked, known.death.signal));
      this.#watch(known, welcome.own ?? welcome.lock);
      if (this.#life !== life && this.#end === undefined) {
        port1.close();
        return this.attach(); // the page was put away meanwhile: the host may have seen the lock of that name go
      }
      const isHeld = lock !== undefined;
      if (welcome.link === undefined) return { endpoint: port1, welcome, isHeld };
      port1.close();
      const endpoint = await reached(welcome.link);
      return endpoint && { endpoint, welcome, isHeld };
    } catch (error) {
      port1.close();
      if (known.isLost) return undefined;
      if (isTerminated(error)) this.giveUp();
      throw fromControl(error);
    }
  }

  /** What comes of a lock that was not granted in time is released, and the next call asks for another. */
  async #named(life: Held): Promise<string | undefined> {
    const ms = this.#timeoutMs;
    try {
      return await inTime(life.name, ms, () => ioError(`The lock manager did not answer within ${ms} ms`));
    } catch (error) {
      life.release();
      if (this.#life === life) this.#life = undefined;
      throw error;
    }
  }

  /** Whether there can be no other worker. */
  get isOver(): boolean {
    return this.#known === undefined && this.#end !== undefined;
  }

  suspect(host: string): Promise<boolean> {
    const known = this.#known;
    if (known === undefined) return Promise.resolve(true);
    return this.#inTime(untilAborted(known.control.suspect(host), known.death.signal));
  }

  keepAwake(): void {
    if (this.#known !== undefined) keepAwake(this.#known.target);
  }

  /** The worker does not answer: the next call asks another one, if there can be one. */
  giveUp(): void {
    if (this.#known !== undefined) this.#drop(this.#known);
  }

  close(): void {
    this.#unlisten();
    this.#endAway();
    this.#life?.release();
    this.#formerLife?.release();
    this.#life = undefined;
    this.#formerLife = undefined;
    const known = this.#known;
    if (known !== undefined) this.#forget(known);
    this.#end ??= workerTerminated('The page has let the worker go');
    known?.death.abort(this.#end); // its answers are awaited no more
  }

  /**
   * WebKit silently takes the locks of a page that it puts into the back/forward cache: a host that is asked under the name of such a
   * lock takes the page for gone, and answers nothing. In other browsers the former lock is still held, and what was asked under it is
   * answered.
   */
  #beginNewLife(): void {
    this.#formerLife?.release();
    this.#formerLife = this.#life;
    this.#life = undefined;
  }

  #tell(settledb: PutAway['settledb']): void {
    if (this.#known !== undefined) sayPutAway(this.#known.target, { settledb });
  }

  #meet(): Acquaintance {
    if (this.#end !== undefined) throw this.#end;
    const target = made(this.#targets, this.#frame);
    const { port1, port2 } = new MessageChannel();
    const death = new AbortController();
    const known: Acquaintance = {
      target,
      control: controlOver(port1),
      port: port1,
      death,
      unwatch: () => {},
      unlisten: () => {},
      isLost: false,
    };
    known.unwatch = onFailure(target, (reason) => {
      this.#drop(known); // one whose script threw would live on
      death.abort(workerTerminated(`The worker could not be started: ${reason}`));
    });
    known.unlisten = onEnded(target, (isLost) => {
      known.isLost = isLost;
      if (isLost) this.#frame ??= new Frame();
      this.#ended(known);
    });
    greet(target, port2).catch((cause) => {
      this.#drop(known); // by the next call, a registration may have a worker
      death.abort(barred(cause));
    });
    return known;
  }

  /** From here on its lock tells when it ends; an uncaught error in it does not mean its end. */
  #watch(known: Acquaintance, lock: string | undefined): void {
    known.unwatch();
    known.unwatch = lock === undefined ? () => {} : whenGone(lock, () => this.#ended(known), known.port);
  }

  #ended(known: Acquaintance): void {
    this.#forget(known);
    known.death.abort(workerTerminated('The worker has ended'));
  }

  #drop(known: Acquaintance): void {
    this.#forget(known);
    if (typeof this.#targets === 'function') terminate(known.target);
  }

  #forget(known: Acquaintance): void {
    known.unwatch();
    known.unlisten();
    known.control.release();
    if (this.#known !== known) return;
    this.#known = undefined;
    if ('port' in known.target) this.#again = afterTimer(SHARED_AGAIN_MS);
    if (!canReturn(this.#targets))
      this.#end = workerTerminated('The worker has ended, and the page did not say how to make another');
  }

  #inTime<T>(promise: Promise<T>): Promise<T> {
    const ms = this.#timeoutMs;
    return inTime(promise, ms, () =>
      workerTerminated(`The worker did not answer within ${ms} ms. Does it call host()?`),
    );
  }
}

function made(targets: Targets, frame: Frame | undefined): Target {
  const make = (): Target => (typeof targets === 'function' ? tried(targets) : targets);
  const target = frame === undefined ? make() : frame.renewed(make);
  // Which the types rule out, and yet `navigator.serviceWorker` may be.
  if (!target)
    throw ioError(`connect() was given ${target}: is this a page without https and navigator.serviceWorker?`);
  return checkTarget(target);
}

function tried(make: () => Target): Target {
  try {
    return make();
  } catch (cause) {
    throw barred(cause);
  }
}

const canReturn = (targets: Targets): boolean => typeof targets === 'function' || isService(targets);
