/** What is asked about the origin's storage is answered, whatever the browser does. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { storage } from '../../packages/settledb/src/storage';

function browserWith(manager: Partial<StorageManager> | undefined): void {
  vi.stubGlobal('navigator', { storage: manager });
  onTestFinished(() => void vi.unstubAllGlobals());
}

it('a user who leaves the question whether storage may persist unanswered is not waited for for ever', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let answer = (_: boolean): void => {};
  const asked = new Promise<boolean>((resolve) => {
    answer = resolve;
  });
  browserWith({ persist: () => asked });
  const first = storage.persist();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await first).toBe(false);
  const second = storage.persist();
  await vi.advanceTimersByTimeAsync(20_000);
  answer(true);
  expect(await second).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

it('a frame that may not ask is told what is told where there is nobody to ask', async () => {
  const refuse = () => Promise.reject(new TypeError('persist() called for opaque origin'));
  for (const manager of [{ persist: refuse, persisted: refuse, estimate: refuse }, {}, undefined]) {
    browserWith(manager);
    expect(await storage.persist()).toBe(false);
    expect(await storage.persisted()).toBe(false);
    expect(await storage.estimate()).toBeUndefined();
  }
});

it('an error of the browser is passed on', async () => {
  const error = new DOMException('no', 'UnknownError');
  browserWith({ persist: () => Promise.reject(error) });
  await expect(storage.persist()).rejects.toBe(error);
});
