/** Storage that the browser takes away or refuses, under a hosted database: by the DevTools protocol of a real Chromium. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { clearData } from '../support/pages';
import { canOpenPages, HostedTab, type HostedTabs, killShared, openHosted, WORKERS } from './tabs';

const PATIENCE = { timeout: 20_000, interval: 20 };
/** Far below a minute. After some ten seconds a worker whose lock nobody sees, and that does not answer, is given up. */
const UNSEEN_MS = 45_000;

async function storageOf({ context, url }: HostedTabs, { page }: HostedTab) {
  const session = await context.newCDPSession(page);
  const origin = new URL(url).origin;
  return {
    /** @param quotaSize bytes; without, as before */
    allow: (quotaSize?: number) =>
      session.send('Storage.overrideQuotaForOrigin', {
        origin,
        ...(quotaSize === undefined ? {} : { quotaSize }),
      }),
  };
}

describe.skipIf(!canOpenPages())('storage under a hosted database', () => {
  it.each(
    Object.entries(WORKERS),
  )('that is evicted, of %s: every tab hears of it, and goes on with an empty database of another id', async (_, worker) => {
    const opened = await openHosted('dedicated', 2, false, worker);
    const [owner, other] = opened.tabs as [HostedTab, HostedTab];
    await other.run('put', { _id: 'before' });
    const id = await other.run<string>('id');
    await clearData(opened, owner.page);
    // Chromium says nothing to those that have it open: a write finds out, and is answered by nothing at all or by the new database.
    await other.call('run', 'put', { _id: 'meanwhile' });
    for (const tab of opened.tabs) expect(await tab.call('heard', 'evicted')).toContain('evicted');
    // One may be refused and there all the same.
    await other.call('putEach', 'after', 1);
    expect(await owner.run('get', 'after 0')).toMatchObject({ _id: 'after 0' });
    expect(await owner.call('run', 'get', 'before')).toMatchObject({ error: 'not_found' });
    expect(await owner.run('id')).not.toBe(id);
  });

  it.each([
    'dedicated',
    'shared',
    'service',
  ] as const)('that is evicted from a %s worker: tabs that come later, with locks of their own, are served like those from before', async (kind) => {
    const opened = await openHosted(kind, 2);
    const [stays, reloaded] = opened.tabs as [HostedTab, HostedTab];
    await stays.run('put', { _id: 'before' });
    await clearData(opened, stays.page);
    await stays.call('run', 'put', { _id: 'meanwhile' });
    await stays.call('putEach', 'stays', 1);
    await reloaded.page.reload();
    await reloaded.call('open', kind, 'hosted', 'indexeddb');
    const tabs = [stays, reloaded, await opened.another()];
    for (const tab of tabs) await tab.call('follow');
    const ids = (await Promise.all(tabs.map((tab, n) => tab.call('putEach', `tab ${n}`, 20)))).flat();
    for (const tab of tabs) {
      expect(await tab.call('followed', ids)).toEqual(expect.arrayContaining(ids));
      expect((await tab.run<{ rows: unknown[] }>('allDocs', { keys: ids })).rows).toHaveLength(ids.length);
      expect(await tab.run('info')).toMatchObject({ doc_count: expect.any(Number) });
    }
    const counts = await Promise.all(tabs.map((tab) => tab.run<{ doc_count: number }>('info')));
    expect(new Set(counts.map(({ doc_count }) => doc_count)).size).toBe(1);
  });

  it('that was evicted from a shared worker which is killed later: tabs with locks of their own go on long before a minute', async () => {
    // While one is reloaded, the other keeps the worker.
    const opened = await openHosted('shared', 2);
    const [stays, reloaded] = opened.tabs as [HostedTab, HostedTab];
    await clearData(opened, stays.page);
    await stays.call('run', 'put', { _id: 'meanwhile' });
    await reloaded.page.reload();
    await reloaded.call('open', 'shared', 'hosted', 'indexeddb');
    await reloaded.call('putEach', 'before', 1);
    await killShared(opened);
    const { ms, ...answer } = await reloaded.call('run', 'get', 'before 0');
    expect(answer).toMatchObject({ value: { _id: 'before 0' } });
    expect(ms).toBeLessThan(UNSEEN_MS);
    await reloaded.run('put', { _id: 'after' });
  });

  it.each([
    ['dedicated', 'IndexedDB'],
    ['shared', 'IndexedDB'],
    ['service', 'IndexedDB'],
    ['dedicated', 'private files'],
  ] as const)('that is full, in a %s worker, of %s: writes of every tab are refused as that, reads are not, and there is room again later', async (kind, what) => {
    const opened = await openHosted(kind, 0, false, WORKERS[what]);
    // Before the database is opened: Chromium asks only once in a while how much room is left.
    const storage = await storageOf(opened, new HostedTab(await opened.open()));
    await storage.allow(8_000_000); // of which a service worker's script, with the map of its sources, takes some
    const [owner, other] = [await opened.another(), await opened.another()];
    await other.run('put', { _id: 'before', text: 'kept' });
    for (const tab of [owner, other]) {
      // That no browser can compress.
      const large = { text: randomBytes(7_500_000).toString('base64') };
      expect(await tab.call('run', 'post', large)).toMatchObject({ error: 'quota_exceeded' });
      expect(await tab.run('get', 'before')).toMatchObject({ text: 'kept' });
    }
    await storage.allow();
    await vi.waitFor(() => other.run('put', { _id: 'after' }), PATIENCE);
    expect(await owner.run('get', 'after')).toMatchObject({ _id: 'after' });
  });
});
