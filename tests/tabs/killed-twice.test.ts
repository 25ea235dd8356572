/**
 * Chromium's LevelDB may go on with a log that ends with a part of a record, since its process was killed; at the start after that, the
 * part is in the midst of the log, and all that the origin has stored is thrown away (`adapters/indexeddb/src/fresh-log.ts`).
 */
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { canKillBrowser, killBrowser, logOf, untilGone } from '../support/kill-browser';
import { openPages, type Pages } from '../support/pages';
import { canOpenPages, listenTo, NAME, TabContext } from '../support/tabs';
import { consistent } from './state';

const entry = new URL('../support/tab-program.ts', import.meta.url);
const canKill = (): boolean => canKillBrowser() && canOpenPages();
/** What LevelDB writes first of a record of 75 bytes: a checksum, its length, and that it is a whole one. */
const HEADER = new Uint8Array([0xdf, 0x75, 0x83, 0x8c, 75, 0, 1]);

describe.skipIf(!canKill())('a browser that is killed in the middle of a write', () => {
  it('loses nothing when it has been started twice', async () => {
    const profile = mkdtempSync(join(tmpdir(), 'settledb-twice-'));
    onTestFinished(() => rmSync(profile, { recursive: true, force: true, maxRetries: 5 }));
    const opened: Pages[] = [];
    onTestFinished(async () => {
      for (const each of opened) await each.close().catch(() => {});
    });
    const start = async (): Promise<TabContext> => {
      opened.push(await openPages({ entry, profile, count: 0, storage: 'profile' }));
      const page = await opened.at(-1)!.context.newPage();
      await page.goto(opened[0]!.url); // of one origin, whose server stays
      const tab = new TabContext(page);
      await tab.call('open', NAME);
      return tab;
    };
    const stop = async (how: () => unknown): Promise<void> => {
      const gone = new Promise((resolve) => opened.at(-1)!.context.once('close', resolve));
      await how();
      await gone;
    };

    const first = await start();
    const { told, enough } = listenTo(first, 60);
    first.call('putForEver', 'first').catch(() => {}); // its browser goes away
    await enough;
    await stop(() => killBrowser(profile));
    const log = logOf(profile);
    appendFileSync(log, HEADER);

    await consistent([await start()]);
    await untilGone(log);
    await stop(() => opened.at(-1)!.context.close());

    const { revs } = await consistent([await start()]);
    expect(told.filter((id) => !(id in revs))).toEqual([]);
  });
});
