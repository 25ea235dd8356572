/** What tests of IndexedDB's bad days share. */
import type { Journal, JournalEvent } from '@settledb/engine';
import { onTestFinished, vi } from 'vitest';

/** Another one each time, also for files that run beside each other in one browser. */
export const newName = (): string => `faults-${crypto.randomUUID()}`;
/** Where a journal stands that nothing was written to. */
export const START = { epoch: 0, n: 0 };

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
