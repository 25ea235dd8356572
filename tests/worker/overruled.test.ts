/** A worker that takes the place of an owner that does not answer, where the browser takes its time to give it the lock. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { Election } from '../../packages/worker/src/election';
import { PROTOCOL } from '../../packages/worker/src/wire';

/** Longer than it asks twice for the owner. */
const SLOW_MS = 1_500;

/** @param onSteal what becomes of the first request that steals; others are granted at once */
function stubLocks(onSteal: () => Promise<void>): { steals: number } {
  const asked = { steals: 0 };
  const request = async (_name: string, how: LockOptions, term: () => unknown): Promise<unknown> => {
    if (how.steal !== true) return new Promise(() => {});
    if (++asked.steals === 1) await onSteal();
    return term();
  };
  vi.stubGlobal('navigator', { locks: { request, query: async () => ({}) } });
  onTestFinished(() => void vi.unstubAllGlobals());
  return asked;
}

function worker(deposed = (): void => {}): Election {
  const election = Election.begin(`slow ${Math.random()}`, 'mine', { link: async () => {}, deposed })!;
  onTestFinished(() => election.resign());
  return election;
}

const page = { protocol: PROTOCOL, lock: undefined };

it('asks for that place once, and is not deposed by itself', async () => {
  const asked = stubLocks(() => new Promise((resolve) => setTimeout(resolve, SLOW_MS)));
  const deposed = vi.fn();
  expect(await worker(deposed).seat(page)).toBeUndefined();
  expect(asked.steals).toBe(1);
  expect(deposed).not.toHaveBeenCalled();
});

it('asks again when another took it in between', async () => {
  const asked = stubLocks(() => Promise.reject(new DOMException('stolen', 'AbortError')));
  expect(await worker().seat(page)).toBeUndefined();
  expect(asked.steals).toBe(2);
});

it('is in line for that place again when another took it in between', async () => {
  const inLine = new Set<LockOptions>();
  const request = (_name: string, how: LockOptions): Promise<unknown> => {
    const stolen = new DOMException('stolen', 'AbortError');
    if (how.steal) return Promise.reject(stolen);
    inLine.add(how);
    return new Promise((_, reject) =>
      how.signal!.addEventListener('abort', () => {
        inLine.delete(how);
        reject(stolen);
      }),
    );
  };
  vi.stubGlobal('navigator', { locks: { request, query: async () => ({}) } });
  onTestFinished(() => void vi.unstubAllGlobals());
  const election = worker();
  for (let times = 0; times < 2; times++) {
    expect(await election.suspect('another')).toBe(true);
    await vi.waitFor(() => expect(inLine.size).toBe(1));
  }
});

it('gives up on an owner that answers, but never serves the page', async () => {
  stubLocks(async () => {});
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { postMessage } = BroadcastChannel.prototype;
  const said = vi.spyOn(BroadcastChannel.prototype, 'postMessage').mockImplementation(function (
    this: BroadcastChannel,
    word: { readonly type?: string },
  ) {
    if (word.type !== 'who') return postMessage.call(this, word);
    const data = { type: 'owner', host: 'another', lock: 'its' };
    this.dispatchEvent(new MessageEvent('message', { data }));
  });
  onTestFinished(() => void said.mockRestore());
  const seated = expect(worker().seat(page)).rejects.toMatchObject({ name: 'worker_terminated' });
  await vi.advanceTimersByTimeAsync(20 * 300);
  await seated;
  expect(said.mock.calls.filter(([{ type }]) => type === 'link')).toHaveLength(20);
});
