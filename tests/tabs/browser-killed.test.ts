/** The whole browser ends at once, as when the system kills it: storage, tabs and all. What was acknowledged is in the next one. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { chromiumStorage } from '../support/chromium-storage';
import { canKillBrowser, killBrowser, logOf, untilGone } from '../support/kill-browser';
import { openPages, type Pages } from '../support/pages';
import { canOpenPages, listenTo, NAME, TabContext } from '../support/tabs';
import { consistent } from './state';

const entry = new URL('../support/tab-program.ts', import.meta.url);
const KILLS = Number(process.env.KILLS ?? 1);
/** Acknowledged before each. */
const PUTS = 60;

const isLevelDb = chromiumStorage() === 'profile';
const canKill = (): boolean => canKillBrowser() && canOpenPages();

describe.skipIf(!canKill())('a browser', () => {
  it('that is killed while a tab writes has all that was acknowledged when it is started again', async () => {
    const profile = mkdtempSync(join(tmpdir(), 'settledb-killed-'));
    onTestFinished(() => rmSync(profile, { recursive: true, force: true, maxRetries: 5 }));
    const opened: Pages[] = [];
    onTestFinished(async () => {
      for (const each of opened) await each.close().catch(() => {});
    });
    const acknowledged: string[] = [];
    for (let kill = 0; kill <= KILLS; kill++) {
      const log = kill > 0 && isLevelDb ? logOf(profile) : undefined;
      opened.push(await openPages({ entry, profile, count: 0 }));
      const page = await opened.at(-1)!.context.newPage();
      await page.goto(opened[0]!.url); // of one origin, whose server stays
      const tab = new TabContext(page);
      await tab.call('open', NAME);
      const { revs, update_seq } = await consistent([tab]);
      expect(acknowledged.filter((id) => !(id in revs))).toEqual([]);
      expect(update_seq).toBe(Object.keys(revs).length);
      if (kill === KILLS) return;
      if (log !== undefined) await untilGone(log);
      const { told, enough } = listenTo(tab, PUTS);
      tab.call('putForEver', `life ${kill}`).catch(() => {}); // its browser goes away
      await enough;
      const gone = new Promise((resolve) => opened.at(-1)!.context.once('close', resolve));
      killBrowser(profile);
      await gone;
      acknowledged.push(...told);
    }
  });
});
