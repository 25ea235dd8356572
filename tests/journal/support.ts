/** What tests of IndexedDB share. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import type { Journal, JournalEvent } from '@settledb/engine';
import { onTestFinished, vi } from 'vitest';
import { PATIENCE_MS } from '../support/timeouts';

/** Another one each time, also for files that run beside each other in one browser. */
export const newName = (): string => `faults-${crypto.randomUUID()}`;
/** Where a journal stands that nothing was written to. */
export const START = { epoch: 0, n: 0 };

/** For conditions that no event announces. */
export const PATIENCE = { timeout: PATIENCE_MS, interval: 10 };

/** One that is gone when the test has finished. */
export async function open(): Promise<{ name: string; journal: Journal }> {
  const name = newName();
  const adapter = indexeddb();
  const journal = await adapter.open(name);
  onTestFinished(async () => {
    await journal.close();
    await adapter.destroy(name);
  });
  return { name, journal };
}

/** When it next tells of such. */
export const heard = (journal: Journal, type: string): Promise<void> =>
  new Promise((resolve) => {
    const stop = journal.listen((event) => {
      if (event.type !== type) return;
      stop();
      resolve();
    });
  });

/** What it tells from now on. */
export function events(journal: Journal): JournalEvent['type'][] {
  const heard: JournalEvent['type'][] = [];
  journal.listen(({ type }) => heard.push(type));
  return heard;
}

/** Of the commits that are to be read. */
export async function numbers(journal: Journal): Promise<number[]> {
  return (await journal.read()).commits.map(({ n }) => n);
}

/** Time-outs come when the test lets time pass, however long the storage takes. */
export function holdTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** What the browser says of its storage, until the test has finished: otherwise it counts what other tests have stored. */
export function estimateIs(given: Required<StorageEstimate>) {
  const estimate = vi.fn().mockResolvedValue(given);
  // WebKitGTK has none.
  Object.defineProperty(navigator, 'storage', { configurable: true, value: { estimate } });
  onTestFinished(() => void Reflect.deleteProperty(navigator, 'storage'));
  return estimate;
}
