/** Hosted databases under load: tabs that write at once, and hosts that are killed while they do. */
import { describe, expect, it, vi } from 'vitest';
import { canOpenPages, type HostedTab, openHosted } from './tabs';

const EACH = 1_000;
/** Tabs killed in mid-write: as many as asked for, `KILLS=1000 npx vitest run tests/worker/load.test.ts`. */
const KILLS = Number(process.env.KILLS ?? 40);
vi.setConfig({ testTimeout: 600_000 * Math.max(1, KILLS / 40) });
const PATIENCE = { timeout: 20_000, interval: 5 };

describe.skipIf(!canOpenPages())('under load', () => {
  for (const kind of ['dedicated', 'shared'] as const) {
    it(`three tabs with a ${kind} worker write ${EACH} documents each: every feed tells each change once, in order`, async () => {
      const { tabs, errors } = await openHosted(kind, 3);
      for (const tab of tabs) await tab.call('follow');
      const ids = (await Promise.all(tabs.map((tab, n) => tab.call('putEach', `tab ${n}`, EACH)))).flat();
      expect(ids).toHaveLength(3 * EACH);
      const { results } = await tabs[0]!.run<{ results: { id: string; seq: number }[] }>('changes');
      const order = results.map(({ id }) => id);
      expect(results.map(({ seq }) => seq)).toEqual(Array.from({ length: 3 * EACH }, (_, n) => n + 1));
      for (const tab of tabs) expect(await tab.call('followed', ids)).toEqual(order);
      expect(errors).toEqual([]);
    });
  }

  it(`${KILLS} tabs are killed in mid-write, owners among them: nothing acknowledged is lost`, async () => {
    const opened = await openHosted('dedicated', 1);
    const [observer] = opened.tabs as [HostedTab];
    await observer.call('follow');
    const told: string[] = [];
    for (let killed = 0; killed < KILLS; killed++) {
      const tab = await opened.another();
      const before = told.length;
      tab.onTold((text) => told.push(text));
      tab.call('putForEver', `tab ${killed}`).catch(() => {}); // its page goes away
      // Killed after a different number of acknowledgements each time, always with a write under way.
      await vi.waitFor(() => expect(told.length - before).toBeGreaterThan(killed % 7), PATIENCE);
      await tab.page.close({ runBeforeUnload: false });
      // The owner itself, now and then: the oldest tab, which is the observer's worker, resigns.
      if (killed % 10 === 9) await observer.page.evaluate(() => document.dispatchEvent(new Event('freeze')));
      if (killed % 10 === 0) await observer.page.evaluate(() => document.dispatchEvent(new Event('resume')));
    }
    const kept = told.filter((text) => text.startsWith('tab '));
    expect(kept.length).toBeGreaterThan(KILLS);
    const { rows } = await observer.run<{ rows: { key: string }[] }>('allDocs');
    const there = new Set(rows.map(({ key }) => key));
    expect(kept.filter((id) => !there.has(id))).toEqual([]);
    const heard = await observer.call('followed', [...there]);
    expect(heard.filter((id, at) => heard.indexOf(id) !== at)).toEqual([]);
  });
});
