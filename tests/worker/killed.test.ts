/**
 * SharedWorkers that are killed while three tabs write: by the browser, as its task manager does, and with the process of the
 * tab that made them. Nothing acknowledged is lost, no call hangs, every feed tells everything once.
 */
import { describe, expect, it, vi } from 'vitest';
import { canOpenPages, type HostedTab, killShared, openHosted } from './tabs';

/** As many as asked for. */
const KILLS = Number(process.env.KILLS ?? 12);
/** Each of so many comes after more acknowledgements than the one before. */
const LATER = 12;
vi.setConfig({ testTimeout: 300_000 * Math.max(1, KILLS / 12) });
const PATIENCE = { timeout: 20_000, interval: 5 };
/** A second, and room for a machine with other things to do: far below a minute of silence. `npm run perf -- takeover` measures it. */
const SOON_MS = 15_000;

describe.skipIf(!canOpenPages())('a shared worker', () => {
  it(`killed ${KILLS} times under three writers: calls in flight reject, the rest goes on`, async () => {
    const opened = await openHosted('shared', 3);
    const { tabs, errors } = opened;
    const told: string[] = [];
    for (const tab of tabs) {
      await tab.call('follow');
      tab.onTold((text) => told.push(text));
    }
    const writing = tabs.map((tab, n) => tab.call('putUntilStopped', `tab ${n}`));
    for (let killed = 0; killed < KILLS; killed++) {
      const before = told.length;
      await vi.waitFor(
        () => expect(told.length - before).toBeGreaterThan(20 + 7 * (killed % LATER)),
        PATIENCE,
      );
      await killShared(opened);
    }
    const before = told.length;
    await vi.waitFor(() => expect(told.length - before).toBeGreaterThan(20), PATIENCE);
    const refusals = await Promise.all(tabs.map(async (tab) => tab.call('stop')));
    await Promise.all(writing);
    // Whoever had a call in flight heard that it has ended, and of nothing else.
    expect(refusals.flat().length).toBeGreaterThanOrEqual(KILLS);
    expect(new Set(refusals.flat())).toEqual(new Set(['worker_terminated']));

    const { rows } = await tabs[0]!.run<{ rows: { key: string }[] }>('allDocs');
    const there = rows.map(({ key }) => key);
    const kept = new Set(there);
    expect(told.filter((id) => !kept.has(id))).toEqual([]);
    for (const tab of tabs) {
      const heard = await tab.call('followed', there);
      const once = new Set<string>();
      expect(heard.filter((id) => once.size === once.add(id).size)).toEqual([]);
      expect([...heard].sort()).toEqual([...there].sort());
    }
    expect(errors).toEqual([]);
  });

  it('whose process dies with the tab that made it: the tabs that are left go on soon', async () => {
    const { tabs } = await openHosted('shared', 3);
    const [maker, left, right] = tabs as [HostedTab, HostedTab, HostedTab];
    const told: string[] = [];
    for (const tab of tabs) {
      await tab.call('follow');
      tab.onTold((text) => told.push(text));
    }
    const writing = [left, right].map((tab, n) => tab.call('putUntilStopped', `tab ${n}`));
    maker.call('putForEver', 'maker').catch(() => {}); // its page goes away
    await vi.waitFor(() => expect(told.length).toBeGreaterThan(60), PATIENCE);
    const crashed = maker.page.waitForEvent('crash');
    maker.page.goto('chrome://crash').catch(() => {});
    await crashed;
    const [before, began] = [told.length, performance.now()];
    await vi.waitFor(() => expect(told.length).toBeGreaterThan(before + 20), PATIENCE);
    expect(performance.now() - began).toBeLessThan(SOON_MS);
    for (const tab of [left, right])
      expect(new Set(await tab.call('stop'))).toEqual(new Set(['worker_terminated']));
    await Promise.all(writing);
    const { rows } = await left.run<{ rows: { key: string }[] }>('allDocs');
    const there = rows.map(({ key }) => key);
    const kept = new Set(there);
    expect(told.filter((id) => !kept.has(id))).toEqual([]);
    for (const tab of [left, right])
      expect((await tab.call('followed', there)).sort()).toEqual([...there].sort());
  });
});
