/** A storage of Chromium's that is full to the last byte: what makes room goes through, and then there is some. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright';
import { describe, expect, it, onTestFinished } from 'vitest';
import { chromiumStorage } from '../support/chromium-storage';
import { call, canOpenPages, openPages } from '../support/pages';

const entry = new URL('../support/full-page.ts', import.meta.url);
const isSqlite = chromiumStorage() === 'sqlite';

describe.skipIf(!canOpenPages())('a storage that is full', () => {
  it.each([
    { kind: 'document', length: 15_000, quota: 24e6, share: 0.6, most: 0.7 },
    { kind: 'attachment', length: 300_000, quota: 20e6, share: 0.7, most: 0.7 },
  ] as const)('of $quota bytes takes removals and a compaction, and then others ($kind, $length)', async (given) => {
    const { kind, length, quota, share, most } = given;
    // SQLite counts at once what goes, LevelDB does not (decisions/0023).
    const storage = isSqlite ? 'sqlite' : 'private';
    const { pages, context, url, close, errors } = await openPages({ entry, storage });
    onTestFinished(close);
    const [page] = pages as [Page];
    const cdp = await context.newCDPSession(page);
    await cdp.send('Storage.overrideQuotaForOrigin', { origin: new URL(url).origin, quotaSize: quota });
    await call(page, 'open', 'full');
    expect(await call(page, 'fill', kind, length)).toBe('quota_exceeded');
    expect(await call(page, 'fill', 'document', 10)).toBe('quota_exceeded');
    expect(await call(page, 'put', length)).toBe('quota_exceeded');
    const { removed, refused } = await call<{ removed: number; refused: number }>(page, 'remove');
    expect(removed).toBeGreaterThan((removed + refused) * share);
    expect(await call(page, 'compact')).toBe('ok');
    // Chromium, a process of its own, may count what went a while later.
    await expect.poll(() => call(page, 'usage')).toBeLessThan(quota * most);
    await expect.poll(() => call(page, 'put', length)).toBe('ok');
    expect(await call(page, 'look')).toMatchObject({ wrong: 0 });
    await call(page, 'again', 'full');
    expect(await call(page, 'look')).toMatchObject({ wrong: 0 });
    expect(errors).toEqual([]);
  });

  // On the disk. LevelDB keeps what is gone until it merges its files, and Chromium counts it.
  it('of documents that all came at once takes removals and a compaction too', async () => {
    const profile = mkdtempSync(join(tmpdir(), 'settledb-full-'));
    onTestFinished(() => rmSync(profile, { recursive: true, force: true }));
    const storage = isSqlite ? 'sqlite' : 'profile';
    const { pages, context, url, close } = await openPages({ entry, profile, storage });
    onTestFinished(close);
    const [page] = pages as [Page];
    const cdp = await context.newCDPSession(page);
    const quota = 16e6;
    await cdp.send('Storage.overrideQuotaForOrigin', { origin: new URL(url).origin, quotaSize: quota });
    await call(page, 'open', 'full');
    // The write-ahead log of SQLite counts too while such a write is under way. And of documents of 2,000 characters, put one by one, it
    // stores nearly twice as much as Chromium has it ask for, so that more is stored than may be (decisions/0023).
    const length = isSqlite ? 3_500 : 2_000;
    await call(page, 'fillAtOnce', isSqlite ? 1_700 : 6_200, length);
    expect(await call(page, 'fill', 'document', length)).toBe('quota_exceeded');
    expect(await call(page, 'fill', 'document', 10)).toBe('quota_exceeded');
    const { removed, refused } = await call<{ removed: number; refused: number }>(page, 'remove');
    expect(removed).toBeGreaterThan((removed + refused) * (isSqlite ? 0.6 : 0.3));
    // Once in 14 runs the first compaction found no room, and where the machine stood still now and then the second did not either;
    // Chromium may count what it merged for long, once for all of 20 seconds (decisions/0023); and one that just went through may leave
    // room for one document only. As the reference says, more is removed then.
    let outcomes: unknown[] = [];
    for (let more = 0; more < 8; more++) {
      if (more > 0) await call(page, 'remove');
      outcomes = [await call(page, 'compact')];
      for (let puts = 0; puts < 10; puts++) outcomes.push(await call(page, 'put', length));
      if (outcomes.every((outcome) => outcome === 'ok')) break;
    }
    expect(new Set(outcomes)).toEqual(new Set(['ok']));
    expect(await call(page, 'look')).toMatchObject({ wrong: 0 });
    await call(page, 'again', 'full');
    expect(await call(page, 'look')).toMatchObject({ wrong: 0 });
  });
});
