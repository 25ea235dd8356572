/** Attachments in real pages: a disk that is full, a tab that crashes between content and commit, and a large file. */
import type { Page } from 'playwright';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { call, canOpenPages, openPages } from '../support/pages';

const entry = new URL('../support/attachments-page.ts', import.meta.url);
/** Chromium asks only once in a while how much room is left. */
const PATIENCE = { timeout: 60_000, interval: 200 };

describe.skipIf(!canOpenPages())('attachments in a page', () => {
  it('on a full disk are refused with 507, read on, and can be removed and written when there is room', async () => {
    const { pages, context, url, close } = await openPages({ entry });
    onTestFinished(close);
    const [page] = pages as [Page];
    const cdp = await context.newCDPSession(page);
    const { origin } = new URL(url);
    await cdp.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 3_000_000 });
    await call(page, 'open', 'full');
    expect(await call(page, 'put', 'small', 50_000)).toBe('ok');
    for (const size of [20_000_000, 6_000_000]) {
      expect(await call(page, 'put', 'large', size)).toEqual({ name: 'quota_exceeded', status: 507 });
    }
    expect(await call(page, 'read', 'small')).toBe(50_000);
    expect(await call(page, 'read', 'large')).toMatchObject({ status: 404 });
    expect(await call(page, 'places')).toBe(1);
    await cdp.send('Storage.overrideQuotaForOrigin', { origin });
    await vi.waitFor(async () => expect(await call(page, 'put', 'large', 20_000_000)).toBe('ok'), PATIENCE);
    expect(await call(page, 'read', 'large')).toBe(20_000_000);
    expect(await call(page, 'remove', 'large')).toBe('ok');
    expect(await call(page, 'places')).toBe(1);
  });

  it('of a tab that crashed while it put them are leftovers, which the next compaction removes', async () => {
    const { pages, close } = await openPages({ entry, count: 2 });
    onTestFinished(close);
    const [one, other] = pages as [Page, Page];
    await call(one, 'open', 'crashing');
    await call(other, 'open', 'crashing');
    await call(other, 'put', 'kept', 700_000);
    const reached = one.waitForEvent('console', (message) => message.text() === 'half of it');
    call(one, 'putHalf', 'lost').catch(() => {});
    await reached;
    expect(await call(other, 'places')).toBe(2);
    // While the other is there, what it puts is not touched.
    await call(other, 'compact');
    expect(await call(other, 'places')).toBe(2);
    const crashed = one.waitForEvent('crash');
    one.goto('chrome://crash').catch(() => {});
    await crashed;
    await vi.waitFor(async () => {
      await call(other, 'compact');
      expect(await call(other, 'places')).toBe(1);
    }, PATIENCE);
    expect(await call(other, 'read', 'kept')).toBe(700_000);
  });

  it('of 50 MB, and 2,000 of 10 KB, come back byte for byte', async () => {
    const { pages, close } = await openPages({ entry });
    onTestFinished(close);
    const [page] = pages as [Page];
    await call(page, 'open', 'exact');
    expect(await call(page, 'exact', 50_000_000, 1)).toBe('exact');
    expect(await call(page, 'exact', 10_000, 2000)).toBe('exact');
  });
});
