/** Which owners of all tabs are overruled: those that do not answer, unless that would be in vain. */
import { uuid } from '@settledb/core';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Election } from '../../packages/worker/src/election';
import { PROTOCOL } from '../../packages/worker/src/wire';

/** Longer than an owner is waited for. */
const STILL_MS = 450;

interface Request {
  readonly term: () => Promise<void> | undefined;
  readonly over: (error?: unknown) => void;
}

/** Web Locks of one name, as far as elections need them. */
class Locks {
  /** What else there is. */
  readonly others: LockInfo[] = [];
  readonly #queue: Request[] = [];
  #held: Request | undefined;
  stolen = 0;

  async query(): Promise<LockManagerSnapshot> {
    return { held: this.others, pending: [] };
  }

  request(_name: string, { steal }: LockOptions, term: Request['term']): Promise<void> {
    return new Promise((resolve, reject) => {
      const request = { term, over: (error?: unknown) => (error === undefined ? resolve() : reject(error)) };
      if (steal === true) {
        this.stolen++;
        this.#held?.over(new DOMException('stolen', 'AbortError'));
        this.#held = undefined;
        this.#queue.unshift(request);
      } else this.#queue.push(request);
      this.#grant();
    });
  }

  #grant(): void {
    const next = this.#held === undefined ? this.#queue.shift() : undefined;
    if (next === undefined) return;
    this.#held = next;
    void Promise.resolve().then(async () => {
      await next.term();
      if (this.#held !== next) return;
      next.over();
      this.#held = undefined;
      this.#grant();
    });
  }
}

/** Whoever asks next who the owner is does nothing else for a while. @returns whether it did */
function standStillAtNext(): () => boolean {
  const { postMessage } = BroadcastChannel.prototype;
  let stood = false;
  const said = vi.spyOn(BroadcastChannel.prototype, 'postMessage').mockImplementation(function (
    this: BroadcastChannel,
    word: { readonly type?: string },
  ) {
    postMessage.call(this, word);
    if (word.type !== 'who') return;
    said.mockRestore();
    for (const end = performance.now() + STILL_MS; performance.now() < end; );
    stood = true;
  });
  onTestFinished(() => void said.mockRestore());
  return () => stood;
}

function stubLocks(): Locks {
  const locks = new Locks();
  vi.stubGlobal('navigator', { locks });
  onTestFinished(() => void vi.unstubAllGlobals());
  return locks;
}

it('one that answers is not, by a worker whose timers came before the answer behind them', async () => {
  const locks = stubLocks();
  const scope = uuid();
  const deposed = vi.fn();
  const events = { link: async () => {}, deposed };
  const owner = Election.begin(scope, 'owner', events)!;
  const other = Election.begin(scope, 'other', events)!;
  expect(await other.seat({} as never)).toMatchObject({ host: 'owner' });
  const stood = standStillAtNext();
  expect(await other.suspect('owner')).toBe(false);
  expect(stood()).toBe(true);
  expect(locks.stolen).toBe(0);
  expect(deposed).not.toHaveBeenCalled();
  for (const each of [other, owner]) each.resign();
});

it.each([
  ['keeps private files', 'settledb:opfs:notes', 'owner', 0],
  ['has none', 'settledb:idb:notes', 'owner', 1],
  ['has none, while another has some', 'settledb:opfs:notes', 'other', 1],
])('one that is silent and %s', async (_what, file, keeper, stolen) => {
  const locks = stubLocks();
  const scope = uuid();
  const name = `settledb:owner:${PROTOCOL}:${scope}`;
  void locks.request(name, {}, () => new Promise(() => {})).catch(() => {});
  locks.others.push({ name, clientId: 'owner' }, { name: file, clientId: keeper });
  const other = Election.begin(scope, 'other', { link: async () => {}, deposed: () => {} })!;
  onTestFinished(() => other.resign());
  expect(await other.suspect('owner')).toBe(true);
  expect(locks.stolen).toBe(stolen);
});
