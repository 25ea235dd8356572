/** Web Locks: who holds which, who waits, and how a tab asks for them. */
import type { Tab } from './tab';

type Mode = 'shared' | 'exclusive';

interface Asking {
  readonly name: string;
  readonly tab: Tab;
  readonly mode: Mode;
  readonly isByForce: boolean;
  /** Told in the tab. */
  readonly granted: () => void;
  readonly stolen: () => void;
}

interface Queue {
  held: Asking[];
  waiting: Asking[];
}

/** What the browser knows, which outlives tabs. */
export class LockHub {
  /** Told when a lock is taken by force: from whom, by whom, and since when that one had it. */
  stolen: (from: Tab, by: Tab, sinceMs: number) => void = () => {};
  readonly #queues = new Map<string, Queue>();
  readonly #since = new WeakMap<Asking, number>();

  #queue(name: string): Queue {
    const queue = this.#queues.get(name) ?? { held: [], waiting: [] };
    this.#queues.set(name, queue);
    return queue;
  }

  request(asking: Asking): void {
    this.#queue(asking.name).waiting.push(asking);
    this.#grant(asking.name);
  }

  /** @returns whether it was to be had at once */
  requestNow(asking: Asking): boolean {
    const queue = this.#queue(asking.name);
    const isFree = queue.waiting.length === 0 && fits(queue, asking);
    if (isFree) this.request(asking);
    return isFree;
  }

  steal(asking: Asking): void {
    const queue = this.#queue(asking.name);
    asking.tab.browser.world.note(`${asking.tab.name} takes ${asking.name} by force`);
    for (const held of queue.held.splice(0)) {
      // Who takes it by force has it for a moment, in which others may do the same.
      if (!held.isByForce) this.stolen(held.tab, asking.tab, this.#since.get(held)!);
      held.tab.fromLocks.send(held.stolen);
    }
    queue.held.push(asking);
    asking.tab.fromLocks.send(asking.granted);
  }

  /** Also of one that was granted and is not wanted any more. */
  release(asking: Asking): void {
    const queue = this.#queue(asking.name);
    queue.held = queue.held.filter((other) => other !== asking);
    queue.waiting = queue.waiting.filter((other) => other !== asking);
    this.#grant(asking.name);
  }

  /** A tab has ended: what it held, and waited for, is free. */
  end(tab: Tab): void {
    for (const [name, queue] of this.#queues) {
      queue.held = queue.held.filter((asking) => asking.tab !== tab);
      queue.waiting = queue.waiting.filter((asking) => asking.tab !== tab);
      this.#grant(name);
    }
  }

  /** Who has just taken it by force. */
  thief(name: string): Tab | undefined {
    return this.#queue(name).held.find(({ isByForce }) => isByForce)?.tab;
  }

  /** Who has it in exclusive mode, and has not just taken it by force. */
  sole(name: string): Tab | undefined {
    const [only] = this.#queue(name).held;
    return only?.mode === 'exclusive' && !only.isByForce ? only.tab : undefined;
  }

  query(): { held: LockInfo[]; pending: LockInfo[] } {
    const queues = [...this.#queues.values()];
    const infos = (askings: readonly Asking[]): LockInfo[] =>
      askings.map(({ name, mode, tab }) => ({ name, mode, clientId: tab.name }));
    return {
      held: queues.flatMap(({ held }) => infos(held)),
      pending: queues.flatMap(({ waiting }) => infos(waiting)),
    };
  }

  /** In the order in which they were asked for: who waits is not overtaken. */
  #grant(name: string): void {
    const queue = this.#queue(name);
    for (let [next] = queue.waiting; next !== undefined && fits(queue, next); [next] = queue.waiting) {
      queue.waiting.shift();
      queue.held.push(next);
      this.#since.set(next, next.tab.browser.world.now);
      next.tab.browser.world.note(`${next.tab.name} has ${name} (${next.mode})`);
      next.tab.fromLocks.send(next.granted);
    }
  }
}

const fits = ({ held }: Queue, { mode }: Asking): boolean =>
  held.every((other) => other.mode === 'shared' && mode === 'shared');

type Callback = (lock: Lock | null) => unknown;

/** `navigator.locks` of a tab. */
export class SimulatedLocks {
  readonly #tab: Tab;

  constructor(tab: Tab) {
    this.#tab = tab;
  }

  request(name: string, ...given: [Callback] | [LockOptions, Callback]): Promise<unknown> {
    const [options, callback] = given.length === 1 ? [{}, ...given] : given;
    const { mode = 'exclusive', ifAvailable = false, steal = false, signal }: LockOptions = options;
    const { toLocks, fromLocks, browser } = this.#tab;
    const { locks } = browser;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let isGranted = false;
      let isAborted = false;
      const granted = (): void => {
        if (isAborted) return;
        isGranted = true;
        const over = (settle: () => void): void =>
          toLocks.send(() => {
            locks.release(asking);
            fromLocks.send(settle);
          });
        // A stolen lock has settled by then, so that this has no effect.
        called(callback, { name, mode }).then(
          (value) => over(() => resolve(value)),
          (error) => over(() => reject(error)),
        );
      };
      const stolen = (): void => reject(new DOMException('The lock was taken by force', 'AbortError'));
      const asking: Asking = { name, tab: this.#tab, mode, isByForce: steal, granted, stolen };
      signal?.addEventListener('abort', () => {
        if (isGranted || isAborted) return;
        isAborted = true;
        toLocks.send(() => locks.release(asking));
        reject(signal.reason);
      });
      toLocks.send(() => {
        if (steal) locks.steal(asking);
        else if (!ifAvailable) locks.request(asking);
        else if (!locks.requestNow(asking))
          fromLocks.send(() => called(callback, null).then(resolve, reject));
      });
    });
  }

  query(): Promise<LockManagerSnapshot> {
    const { toLocks, fromLocks, browser } = this.#tab;
    return new Promise((resolve) => {
      toLocks.send(() => {
        const found = browser.locks.query();
        fromLocks.send(() => resolve(found));
      });
    });
  }
}

const called = async (callback: Callback, lock: Lock | null): Promise<unknown> => callback(lock);
