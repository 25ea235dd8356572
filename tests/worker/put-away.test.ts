/** Pages with a hosted database that are put into the back/forward cache: nothing of settledb's throws them out of it. */
import type { Page } from 'playwright';
import { describe, expect, it, vi } from 'vitest';
import { canOpenPages, HostedTab, openHosted } from './tabs';

/** Counts what is called back for objects that were collected. */
const COUNT_FINALIZED = `{
  globalThis.finalized = 0;
  const Real = FinalizationRegistry;
  globalThis.FinalizationRegistry = class extends Real {
    constructor(callBack) {
      super((value) => {
        finalized++;
        callBack(value);
      });
    }
  };
}`;

describe.skipIf(!canOpenPages())('a page with a hosted database', () => {
  it('is not called back for objects that were collected, which Chromium throws a page out of the cache for', async () => {
    const opened = await openHosted('dedicated', 0);
    await opened.context.addInitScript(COUNT_FINALIZED);
    const tab = await opened.another();
    await tab.run('put', { _id: 'a' });
    await tab.call('terminate');
    await tab.call('putEach', 'with the next worker', 1);
    const session = await opened.context.newCDPSession(tab.page);
    for (let round = 0; round < 3; round++) {
      await session.send('HeapProfiler.collectGarbage');
      await nextTask(tab.page);
    }
    expect(await tab.page.evaluate(() => (globalThis as { finalized?: number }).finalized)).toBe(0);
  });

  it('is kept in the cache, and goes on when it is back', async () => {
    const { tabs, url } = await openHosted('dedicated', 1, true);
    const [tab] = tabs as [HostedTab];
    const { page } = tab;
    await tab.call('follow');
    const ids: string[] = [];
    for (const id of ['a', 'b', 'c']) {
      await tab.run('put', { _id: id });
      await page.goto(`${url}elsewhere`);
      // Whoever would watch over it again does by then. To look would end it: Chromium throws a page that holds a lock out of the cache when
      // another one queries the locks.
      await page.waitForTimeout(300);
      await page.goBack({ waitUntil: 'commit' });
      await tab.run('put', { _id: `${id} and back` });
      ids.push(id, `${id} and back`);
    }
    // Of the page that was opened.
    expect(await tab.call('followed', ids)).toEqual(ids);
  });

  it('is kept also when another tab serves it, whose feed has more to tell', async () => {
    const { tabs, context, url } = await openHosted('dedicated', 2, true);
    const [owner, tab] = tabs as [HostedTab, HostedTab];
    const { page } = tab;
    const session = await context.newCDPSession(page);
    await session.send('Page.enable');
    const reasons: string[] = [];
    session.on('Page.backForwardCacheNotUsed', ({ notRestoredExplanations }) => {
      for (const { reason } of notRestoredExplanations) reasons.push(reason);
    });
    await tab.call('follow');
    const ids: string[] = [];
    for (const id of ['a', 'b', 'c']) {
      await tab.run('put', { _id: id });
      await page.goto(`${url}elsewhere`);
      await owner.run('put', { _id: `${id} meanwhile` });
      await page.waitForTimeout(300);
      await page.goBack({ waitUntil: 'commit' });
      await page.waitForFunction(() => 'call' in globalThis);
      expect(reasons).toEqual([]);
      ids.push(id, `${id} meanwhile`);
    }
    expect(await tab.call('followed', ids)).toEqual(ids);
  });

  it.each([
    'shared',
    'service',
  ] as const)('has its replication go on in a worker of all tabs: %s', async (kind) => {
    const { tabs, url, open } = await openHosted(kind, 2, true);
    const [other, tab] = tabs as [HostedTab, HostedTab];
    const reader = new HostedTab(await open());
    await reader.call('open', kind, 'copy', 'indexeddb');
    await tab.call('replicate', 'copy');
    await tab.page.goto(`${url}elsewhere`);
    await other.run('put', { _id: 'meanwhile' });
    await vi.waitFor(async () => expect(await idsIn(reader)).toEqual(['meanwhile']));
  });

  it.each([
    'dedicated',
    'shared',
  ] as const)('has saved what it saves at the last moment: %s', async (kind) => {
    const { tabs, url } = await openHosted(kind, 2, true);
    const [other, { page }] = tabs as [HostedTab, HostedTab];
    await page.evaluate(() => {
      const { call } = globalThis as unknown as { call(name: string, args: unknown[]): void };
      const save = ({ type }: Event): void => call('run', ['put', { _id: type }]);
      addEventListener('pagehide', save);
      for (const type of ['visibilitychange', 'freeze']) document.addEventListener(type, save);
    });
    await page.goto(`${url}elsewhere`);
    // The page may never come back.
    const all = ['freeze', 'pagehide', 'visibilitychange'];
    await vi.waitFor(async () => expect(await idsIn(other)).toEqual(all));
  });
});

const nextTask = (page: Page): Promise<void> =>
  page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 20)));

async function idsIn(tab: HostedTab): Promise<string[]> {
  const { rows } = await tab.run<{ rows: { id: string }[] }>('allDocs');
  return rows.map(({ id }) => id);
}
