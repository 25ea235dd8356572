/** Databases in each kind of worker, in Chromium; and what becomes of calls and feeds when the worker ends. */
import { describe, expect, it, vi } from 'vitest';
import { canOpenPages, type HostedTab, openHosted } from './tabs';

const PATIENCE = { timeout: 15_000, interval: 50 };
/** Told by its lock or by an error, at once; not by a minute's silence. */
const SOON_MS = 15_000;

describe.skipIf(!canOpenPages())('a database hosted in', () => {
  for (const kind of ['dedicated', 'shared', 'service'] as const) {
    it(`a ${kind} worker serves two tabs: calls, feeds, one replication, and its end`, async () => {
      const { tabs, errors } = await openHosted(kind, 2);
      const [one, two] = tabs as [HostedTab, HostedTab];
      for (const tab of tabs) await tab.call('follow');
      const ids = (await Promise.all(tabs.map((tab, n) => tab.call('putEach', `tab ${n}`, 50)))).flat();
      for (const tab of tabs) expect((await tab.call('followed', ids)).sort()).toEqual([...ids].sort());
      expect(await two.run('info')).toMatchObject({ doc_count: 100, update_seq: 100 });
      const starts = await Promise.all(tabs.map((tab) => tab.call('replicate', 'copy')));
      expect(starts[0]).toBe(starts[1]);
      await one.run('destroy');
      expect(await two.call('heard', 'destroyed')).toContain('destroyed');
      expect(await two.run('info')).toMatchObject({ doc_count: 0 });
      expect(errors).toEqual([]);
    });
  }

  it('a worker that is terminated: calls in flight reject, the next ones are served by another', async () => {
    const { tabs } = await openHosted('dedicated', 1);
    const [tab] = tabs as [HostedTab];
    await tab.call('follow');
    await tab.run('put', { _id: 'before' });
    const { error, ms } = await tab.call('callAndTerminate', undefined, 'put', { _id: 'in flight' });
    expect(error).toBe('worker_terminated');
    expect(ms).toBeLessThan(SOON_MS);
    await tab.run('put', { _id: 'after' });
    expect(await tab.run('get', 'before')).toMatchObject({ _id: 'before' });
    await tab.run('put', { _id: 'last' });
    const heard = await tab.call('followed', ['before', 'after', 'last']);
    expect(heard.filter((id) => id !== 'in flight')).toEqual(['before', 'after', 'last']);
  });

  for (const [when, pauseMs] of [
    ['while a stream of it is read', 0],
    ['long before a stream of it is read on', 500],
  ] as const)
    it(`a worker that is terminated ${when}: reading fails, soon`, async () => {
      const { tabs } = await openHosted('dedicated', 1);
      const { error, ms } = await tabs[0]!.call('readAndTerminate', 20_000_000, pauseMs);
      expect(error).toBe('worker_terminated');
      expect(ms).toBeLessThan(SOON_MS);
    });

  it('a worker given as such, and terminated: every call rejects from then on, soon', async () => {
    const { tabs } = await openHosted('instance', 1);
    const [tab] = tabs as [HostedTab];
    expect(await tab.call('callAndTerminate', undefined, 'info')).toMatchObject({
      error: 'worker_terminated',
    });
    for (let again = 0; again < 2; again++) {
      const { error, ms } = await tab.call('run', 'info');
      expect(error).toBe('worker_terminated');
      expect(ms).toBeLessThan(SOON_MS);
    }
  });

  it('a worker that is terminated again and again under four writers: none acknowledged is lost', async () => {
    const { tabs } = await openHosted('dedicated', 1);
    const [tab] = tabs as [HostedTab];
    await tab.call('follow');
    const kept: string[] = [];
    for (let round = 0; round < 25; round++) {
      const { acknowledged, errors } = await tab.call('writeAndTerminate', `round ${round}`, 1 + round * 2);
      kept.push(...acknowledged);
      expect(errors).toEqual(Array.from({ length: 4 }, () => 'worker_terminated'));
    }
    const { rows }: { rows: { key: string }[] } = await tab.run('allDocs');
    const there = rows.map(({ key }) => key);
    expect(kept.filter((id) => !there.includes(id))).toEqual([]);
    // The feed went from worker to worker, and told of everything exactly once.
    expect((await tab.call('followed', there)).sort()).toEqual([...there].sort());
  });

  it('a service worker that the browser stops: feeds and calls go on in the next one', async () => {
    const opened = await openHosted('service', 1);
    const [tab] = opened.tabs as [HostedTab];
    await tab.call('follow');
    await tab.run('put', { _id: 'before' });
    const cdp = await opened.context.newCDPSession(tab.page);
    await cdp.send('ServiceWorker.enable');
    for (let round = 0; round < 3; round++) {
      await cdp.send('ServiceWorker.stopAllWorkers');
      // One that the worker stored as its last deed is refused, and there.
      await tab.call('putEach', `after ${round},`, 1);
    }
    const ids = ['before', 'after 0, 0', 'after 1, 0', 'after 2, 0'];
    expect(await tab.call('followed', ids)).toEqual(ids);
  });

  it('a worker leaves nothing behind when the page lets it go', async () => {
    const opened = await openHosted('shared', 2);
    const [one, two] = opened.tabs as [HostedTab, HostedTab];
    expect((await two.call('locks')).filter((name) => name.startsWith('settledb:page:'))).toHaveLength(4);
    await one.call('disconnect');
    expect(await one.call('run', 'info')).toMatchObject({ error: 'worker_terminated' });
    await vi.waitFor(
      async () =>
        expect((await two.call('locks')).filter((name) => name.startsWith('settledb:page:'))).toHaveLength(2),
      PATIENCE,
    );
    expect(await two.run('info')).toMatchObject({ doc_count: 0 });
  });
});
