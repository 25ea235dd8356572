/** Tabs that stand still while the world goes on: in the way of others for as long, and caught up when they are back. */
import { describe, expect, it } from 'vitest';
import { canOpenPages, debugged, NAME, openTabs, type TabContext, type Tabs } from '../support/tabs';

describe.skipIf(!canOpenPages())('a tab that stands still', () => {
  it('is in the way of a destruction, which says so, and goes on when it lets go', async () => {
    const opened = await openTabs(2);
    const [still, other] = opened.tabs as [TabContext, TabContext];
    await still.run('put', { _id: 'a' });
    await other.run('get', 'a');
    const { stopped, goOn } = await debugged(opened, still);
    const isStill = stopped();
    const reading = still.call('stopThenRun', 'info');
    await isStill;
    const blocked = other.call('blocked');
    const destroying = other.call('destroy');
    expect(await blocked).toBe('destroy');
    await goOn();
    expect(await destroying).toMatchObject({ value: { ok: true } });
    await reading;
    expect(await still.run('info')).toMatchObject({ doc_count: 0 });
  });

  it('in the back/forward cache goes on where it was: reads, writes, its live feed, and what others write from then on', async () => {
    const opened = await openTabs(1, true);
    const [away] = opened.tabs as [TabContext];
    await away.run('put', { _id: 'before' });
    await away.call('follow');
    // Not every browser under test keeps pages: then there is nothing to see.
    if (!(await awayAndBack(away))) return console.info('not kept in the back/forward cache');
    await away.run('put', { _id: 'back' });
    const other = await opened.another();
    await other.run('put', { _id: 'by another' });
    expect(await away.run('get', 'by another')).toMatchObject({ _id: 'by another' });
    await tellsOf(away, ['before', 'back', 'by another']);
  });

  it('stays there while others write and compact, and catches up with them', async () => {
    const opened = await openTabs(3, true);
    const [away, other, third] = opened.tabs as [TabContext, TabContext, TabContext];
    await away.run('put', { _id: 'before' });
    await away.call('follow');
    await tellsOf(away, ['before']); // what reads while it is put away is in the way of the others
    const reasons = await whyThrownOut(opened, away);
    const written = Array.from({ length: 20 }, (_, n) => `while ${n}`);
    const isKept = await awayAndBack(away, async () => {
      for (const [n, _id] of written.entries()) await (n % 2 ? third : other).run('put', { _id });
      await other.run('compact');
    });
    // Nothing that was said to it, nor anything it held or had begun.
    expect(reasons.filter((reason) => OURS.includes(reason))).toEqual([]);
    // Not every browser under test keeps pages: then it begins anew.
    if (!isKept) {
      await away.call('open', NAME);
      await away.call('follow');
    }
    await away.run('put', { _id: 'back' });
    await tellsOf(away, ['before', ...written, 'back']);
  });
});

/** What Chromium throws a page out of the back/forward cache for that a database in it can be to blame for. */
const OURS = [
  'BroadcastChannelOnMessage',
  'IgnoreEventAndEvict',
  'JavaScriptExecution',
  'WebLocksContention',
];

/** @returns the reasons, once there are any */
async function whyThrownOut({ context }: Tabs, { page }: TabContext): Promise<string[]> {
  const session = await context.newCDPSession(page);
  await session.send('Page.enable');
  const reasons: string[] = [];
  session.on('Page.backForwardCacheNotUsed', ({ notRestoredExplanations }) => {
    for (const { reason } of notRestoredExplanations) reasons.push(reason);
  });
  return reasons;
}

/** @returns whether the page was kept as it was */
async function awayAndBack({ page }: TabContext, meanwhile?: () => Promise<void>): Promise<boolean> {
  await page.evaluate(() => {
    addEventListener('pageshow', ({ persisted }) => Object.assign(globalThis, { persisted }));
  });
  await page.goto('about:blank');
  await meanwhile?.();
  await page.goBack({ waitUntil: 'commit' });
  await page.waitForFunction(() => 'tab' in globalThis);
  return page.evaluate(() => (globalThis as { persisted?: boolean }).persisted === true);
}

async function tellsOf(tab: TabContext, ids: readonly string[]): Promise<void> {
  const { results } = await tab.call('changes');
  expect(results.map(({ id }) => id)).toEqual(ids);
  const revs = Object.fromEntries(results.map(({ id, changes }) => [id, changes[0]!.rev]));
  expect((await tab.call('followed', revs)).map(({ id }) => id)).toEqual(ids);
}
