/** Several tabs on one IndexedDB: nothing acknowledged is lost, whoever closes, crashes or runs out of room. */
import type { Page } from 'playwright';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { JournalPage } from '../support/journal-page';
import { canOpenPages, openPages, type Pages } from '../support/pages';

const entry = new URL('../support/journal-page.ts', import.meta.url);
/** For conditions that no event announces. */
const PATIENCE = { timeout: 20_000, interval: 50 };

async function tabs(count: number): Promise<Pages> {
  const opened = await openPages({ entry, count });
  onTestFinished(() => opened.close());
  for (const page of opened.pages) await call(page, 'open', 'tabs');
  return opened;
}

function call<Name extends keyof JournalPage>(
  page: Page,
  name: Name,
  ...args: Parameters<JournalPage[Name]>
): ReturnType<JournalPage[Name]> {
  return page.evaluate(
    ([method, list]) =>
      (globalThis as unknown as { calls: Record<string, (...list: unknown[]) => unknown> }).calls[method]!(
        ...list,
      ),
    [name, args] as const,
  ) as ReturnType<JournalPage[Name]>;
}

const becomesAlone = (page: Page): Promise<void> =>
  vi.waitFor(async () => expect(await call(page, 'alone')).toBe(true), PATIENCE);

describe.skipIf(!canOpenPages())('tabs on one IndexedDB', () => {
  it('keep every commit of two that write at once', async () => {
    const { pages, errors } = await tabs(2);
    await Promise.all(pages.map((page, i) => call(page, 'commits', `tab ${i}`, 100)));
    for (const page of pages) {
      const heads = await call(page, 'heads');
      expect(new Set(heads).size).toBe(200);
      expect(heads).toHaveLength(200);
    }
    expect(errors).toEqual([]);
  });

  it('show an acknowledged commit to a tab that was alone until then (I9)', async () => {
    const opened = await tabs(1);
    const [first] = opened.pages as [Page];
    await becomesAlone(first);
    const second = await opened.open();
    await call(second, 'open', 'tabs');
    expect(await call(second, 'commit', 'from the second')).toBe('done');
    expect(await call(first, 'heads')).toEqual(['from the second']);
    expect(await call(first, 'alone')).toBe(false);
    await second.close();
    await becomesAlone(first);
  });

  for (const end of ['closed', 'crashed'] as const) {
    it(`keep what was acknowledged to one that is ${end} while it writes`, async () => {
      const { pages } = await tabs(2);
      const [left, right] = pages as [Page, Page];
      const told: string[] = [];
      const enough = new Promise<void>((resolve) => {
        left.on('console', (message) => {
          told.push(message.text().replace('acknowledged ', ''));
          if (told.length === 40) resolve();
        });
      });
      call(left, 'commitForEver', 'left').catch(() => {}); // its page goes away
      const writing = call(right, 'commits', 'right', 60);
      await enough;
      await (end === 'closed' ? left.close() : crash(left));
      await writing;
      expect(await call(right, 'commit', 'after')).toBe('done');
      const heads = await call(right, 'heads');
      expect(new Set(heads).size).toBe(heads.length);
      expect(told.filter((head) => !heads.includes(head))).toEqual([]);
      expect(heads.filter((head) => head.startsWith('right'))).toHaveLength(60);
      await becomesAlone(right);
    });
  }

  it('are refused with quota_exceeded when the disk is full, read on, and write again when it is not', async () => {
    const { pages, context, url, close } = await openPages({ entry });
    onTestFinished(close);
    const [page] = pages as [Page];
    const cdp = await context.newCDPSession(page);
    const { origin } = new URL(url);
    // Before the database is opened: Chromium asks only once in a while how much room is left.
    await cdp.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1_000_000 });
    await call(page, 'open', 'tabs');
    expect(await call(page, 'commit', 'large', 3_000_000)).toBe('quota_exceeded');
    expect(await call(page, 'heads')).toEqual([]);
    await cdp.send('Storage.overrideQuotaForOrigin', { origin });
    await vi.waitFor(
      async () => expect(await call(page, 'commit', 'large', 3_000_000)).toBe('done'),
      PATIENCE,
    );
    expect(await call(page, 'heads')).toEqual(['large']);
  });
});

/** Kills the renderer of the page. */
async function crash(page: Page): Promise<void> {
  const crashed = page.waitForEvent('crash');
  page.goto('chrome://crash').catch(() => {});
  await crashed;
}
