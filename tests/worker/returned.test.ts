/**
 * A page that is online again, or looked at again: its worker hears nothing of it, and the replication that waits there must. It would
 * wait for ten minutes, so it is the page's word that makes it try. Nobody ever answers it.
 */
import type { Replication } from '@settledb/replication';
import { named } from '@settledb/worker';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { hostAndPage } from './support';
import { canOpenPages, type HostedTab, openHosted } from './tabs';

const NOBODY = 'http://127.0.0.1:9/notes';
const PATIENCE = { timeout: 20_000, interval: 20 };

function stubPage(): { realm: EventTarget; page: EventTarget & { visibilityState: string } } {
  const [realm, page] = [new EventTarget(), Object.assign(new EventTarget(), { visibilityState: 'visible' })];
  vi.stubGlobal('document', page);
  vi.stubGlobal('addEventListener', realm.addEventListener.bind(realm));
  vi.stubGlobal('removeEventListener', realm.removeEventListener.bind(realm));
  return { realm, page };
}

describe('a replication that waits at the host', () => {
  it('tries again at once when the page is online or looked at again, and not when it is hidden', async () => {
    // The page is a stub, and another, of which nothing is heard, when the replication begins: it is as in a worker.
    onTestFinished(() => void vi.unstubAllGlobals()); // after the handles are gone, which listen
    const { realm, page } = stubPage();
    const { Hosted } = hostAndPage({}, { functions: { late: () => 600_000 } });
    stubPage();
    const show = (state: 'visible' | 'hidden'): void => {
      page.visibilityState = state;
      page.dispatchEvent(new Event('visibilitychange'));
    };
    const db = new Hosted('notes');
    const options = { live: true, retry: true, back_off_function: named('late') };
    const feed: Replication = db.replicate.to(NOBODY, options);
    feed.catch(() => undefined);
    const failed = (attempts: number): Promise<void> =>
      vi.waitFor(() => expect(feed.status()).toMatchObject({ phase: 'waiting', attempts }), PATIENCE);
    await failed(1);
    realm.dispatchEvent(new Event('online'));
    await failed(2);
    show('hidden');
    show('visible');
    await failed(3);
    show('hidden');
    await db.info();
    expect(feed.status()).toMatchObject({ phase: 'waiting', attempts: 3 });
    feed.cancel();
    await feed;
  });

  it.skipIf(!canOpenPages())('hears so from any tab, in Chromium', async () => {
    const { tabs } = await openHosted('dedicated', 2);
    const [owner, other] = tabs as [HostedTab, HostedTab];
    for (const tab of tabs) await tab.call('replicateLate', NOBODY);
    const failed = (attempts: number): Promise<void> =>
      vi.waitFor(async () => {
        for (const tab of tabs) expect(await tab.call('attempts')).toEqual({ phase: 'waiting', attempts });
      }, PATIENCE);
    await failed(1);
    await other.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await failed(2);
    await owner.page.evaluate(() => dispatchEvent(new Event('online')));
    await failed(3);
  });
});
