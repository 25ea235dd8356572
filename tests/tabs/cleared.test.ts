/**
 * Tabs that stay open while the data of the site is cleared, beside tabs that come later. In Chromium 156 neither kind sees the other's
 * locks, so that each would take itself for alone.
 */
import { describe, expect, it, vi } from 'vitest';
import { clearData } from '../support/pages';
import { canOpenPages, debugged, NAME, openTabs, type TabContext, type Tabs } from '../support/tabs';

const PATIENCE = { timeout: 15_000, interval: 10 };

describe.skipIf(!canOpenPages())('tabs from before and after the data was cleared', () => {
  it('read what was written a moment ago, and their feeds hear of it', async () => {
    const { tabs } = await tabsFromBeforeAndAfter();
    for (const tab of tabs) await tab.call('follow');
    const revs: Record<string, string> = {};
    for (let n = 0; n < 10; n++) {
      const [writer, reader] = (n % 2 ? tabs : [...tabs].reverse()) as [TabContext, TabContext];
      const { rev } = (await writer.run('put', { _id: `${n}` })) as { rev: string };
      revs[n] = rev;
      expect(await reader.run('get', `${n}`)).toMatchObject({ _rev: rev });
    }
    for (const tab of tabs)
      expect((await tab.call('followed', revs)).map(({ id }) => id)).toEqual(
        expect.arrayContaining(Object.keys(revs)),
      );
  });

  it('lose no write of one beneath a checkpoint of the other', async () => {
    const { opened, tabs } = await tabsFromBeforeAndAfter();
    for (let round = 0; round < 3; round++) {
      for (const [writer, other] of [tabs, [...tabs].reverse()] as [TabContext, TabContext][]) {
        await writer.call('putEach', `${round}, ${tabs.indexOf(writer)}`, 10);
        await writer.run('compact');
        await other.call('putEach', `${round}, late ${tabs.indexOf(other)}`, 5);
      }
    }
    const fresh = await opened.another();
    for (const tab of [...tabs, fresh]) expect(await tab.run('info')).toMatchObject({ doc_count: 91 });
  });

  it('are not taken for such if one only stood still while its lock was taken', async () => {
    const opened = await openTabs(1);
    const [still] = opened.tabs as [TabContext];
    await still.run('put', { _id: 'a' });
    const { stopped, goOn } = await debugged(opened, still);
    const isStill = stopped();
    const reading = still.call('stopThenRun', 'info');
    await isStill;
    const other = await opened.another();
    await becomesSolo(other);
    await goOn();
    await reading;
    await other.page.close();
    await becomesSolo(still);
  });
});

const becomesSolo = (tab: TabContext): Promise<void> =>
  vi.waitFor(async () => expect(await tab.call('isSolo', NAME)).toBe(true), PATIENCE);

async function tabsFromBeforeAndAfter(): Promise<{ opened: Tabs; tabs: [TabContext, TabContext] }> {
  const opened = await openTabs(1);
  const [old] = opened.tabs as [TabContext];
  await old.run('put', { _id: 'before' });
  await clearData(opened, old.page);
  // It may be answered by nothing, if it was what found out.
  await old.call('run', 'put', { _id: 'first' });
  await old.call('run', 'put', { _id: 'first' });
  const tabs: [TabContext, TabContext] = [old, await opened.another()];
  // Until a message has gone there and back.
  for (const tab of tabs)
    await vi.waitFor(async () => expect(await tab.call('isSolo', NAME)).toBe(false), PATIENCE);
  return { opened, tabs };
}
