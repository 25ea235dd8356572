/** Turns that contexts take at mapping are a courtesy: whatever becomes of the lock, the work is done once, and its outcome is the answer. */
import { afterEach, expect, it, vi } from 'vitest';
import { inTurn } from '../../packages/query/src/turns';

type Request = (name: string, options: LockOptions, begin: () => Promise<unknown>) => Promise<unknown>;

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Work of which it is known how often it began. */
function worked(
  request: Request,
  id = 'db',
): {
  readonly begun: () => number;
  readonly end: () => void;
  readonly done: Promise<unknown>;
} {
  vi.stubGlobal('navigator', { locks: { request } });
  let [begun, end] = [0, (): void => {}];
  const work = () => {
    begun++;
    return new Promise((resolve) => (end = () => resolve('done')));
  };
  return { done: inTurn(id, false, work), begun: () => begun, end: () => end() };
}

it('goes on when its lock is taken by force', async () => {
  const { done, begun, end } = worked((_name, _options, begin) => {
    void begin();
    return Promise.reject(new DOMException('stolen', 'AbortError'));
  });
  let over = false;
  void done.finally(() => (over = true)).catch(() => {});
  await new Promise((resolve) => setTimeout(resolve));
  expect(over).toBe(false);
  end();
  expect(await done).toBe('done');
  expect(begun()).toBe(1);
});

it('begins without a lock when none can be had, or none is given for a while, and does not begin again when one comes', async () => {
  const refused = worked(() => Promise.reject(new DOMException('simulated', 'InvalidStateError')));
  await vi.waitFor(() => expect(refused.begun()).toBe(1));
  refused.end();
  expect(await refused.done).toBe('done');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let give = (): unknown => undefined;
  const late = worked((_name, _options, begin) => new Promise((resolve) => (give = () => resolve(begin()))));
  await vi.advanceTimersByTimeAsync(4_900);
  expect(late.begun()).toBe(0);
  await vi.advanceTimersByTimeAsync(200);
  expect(late.begun()).toBe(1);
  give();
  late.end();
  expect(await late.done).toBe('done');
  expect(late.begun()).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});

it('waits once for a tab that stands still, and no more: its lock is taken by force', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const standsStill = new Promise<never>(() => {});
  let holder: Promise<unknown> = standsStill;
  const request: Request = async (_name, { steal }, begin) => {
    if (!steal) await holder;
    holder = begin();
    return holder;
  };
  const first = worked(request, 'still');
  await vi.advanceTimersByTimeAsync(5_000);
  expect(first.begun()).toBe(1);
  first.end();
  expect(await first.done).toBe('done');
  const second = worked(request, 'still');
  await vi.advanceTimersByTimeAsync(0);
  expect(second.begun()).toBe(1);
  second.end();
  expect(await second.done).toBe('done');
  expect(vi.getTimerCount()).toBe(0);
});

it('rejects as the work does', async () => {
  vi.stubGlobal('navigator', {
    locks: { request: (_name: string, _options: object, begin: () => unknown) => begin() },
  });
  await expect(inTurn('db', false, () => Promise.reject(new Error('thrown')))).rejects.toThrow('thrown');
});
