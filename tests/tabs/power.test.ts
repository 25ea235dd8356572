/**
 * Chromium keeps large values in files that it does not sync (`adapters/indexeddb/src/pieces.ts`): after a power failure they may be
 * empty, while what names them is there. Here they are removed. Nothing of a database lies in them but attachments, and room.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { canKillBrowser, killBrowser } from '../support/kill-browser';
import { call, openPages } from '../support/pages';
import { canOpenPages } from '../support/tabs';

const entry = new URL('./power-program.ts', import.meta.url);
const canKill = (): boolean => canKillBrowser() && canOpenPages();

describe.skipIf(!canKill())('a power failure', () => {
  it.each([
    'at once',
    'after a checkpoint',
    'after a compaction',
  ])('that leaves no file of large values costs no document (%s)', async (when) => {
    const profile = mkdtempSync(join(tmpdir(), 'settledb-power-'));
    onTestFinished(() => rmSync(profile, { recursive: true, force: true, maxRetries: 5 }));
    const before = await openPages({ entry, profile, count: 0, storage: 'profile' });
    onTestFinished(() => before.close().catch(() => {}));
    const page = await before.context.newPage();
    await page.goto(before.url);
    expect(await call(page, 'fill')).toBe(3_000);
    if (when === 'after a checkpoint') await page.waitForTimeout(1_500);
    if (when === 'after a compaction') await call(page, 'narrow');
    const gone = new Promise((resolve) => before.context.once('close', resolve));
    killBrowser(profile);
    await gone;
    for (const folder of readdirSync(join(profile, 'Default', 'IndexedDB')))
      if (folder.endsWith('.blob'))
        rmSync(join(profile, 'Default', 'IndexedDB', folder), { recursive: true });
    const after = await openPages({ entry, profile, count: 0, storage: 'profile' });
    onTestFinished(() => after.close());
    const again = await after.context.newPage();
    await again.goto(before.url); // of the same origin, whose server stays
    expect(await call(again, 'look', when === 'after a compaction')).toEqual([]);
  });
});
