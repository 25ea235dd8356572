/** What one context wrote, seen by the others: by reads at once (I9), by live feeds as soon as they hear of it. */
import { afterTimer } from '@settledb/core';
import { describe, expect, it, vi } from 'vitest';
import { mortalChannels } from '../support/mortal-channels';
import { canOpenPages, debugged, NAME, openTabs, type TabContext, twoTabsAndAWorker } from '../support/tabs';
import { consistent, expectRising } from './state';

/** For the one condition that no event announces. */
const PATIENCE = { timeout: 20_000, interval: 50 };

/** Every way to read that answers from memory where it may: each must see the write of document `id`, the `seq`-th. */
const reads = [
  async (tab: TabContext, id: string) => expect(await tab.run('get', id)).toMatchObject({ _id: id }),
  async (tab: TabContext, id: string) =>
    expect(await tab.run('allDocs', { key: id })).toMatchObject({ rows: [{ id }] }),
  async (tab: TabContext, id: string) =>
    expect((await tab.call('changes')).results.at(-1)).toMatchObject({ id }),
  async (tab: TabContext, _id: string, seq: number) =>
    expect(await tab.run('info')).toMatchObject({ doc_count: seq, update_seq: seq }),
  async (tab: TabContext, id: string) =>
    expect(await tab.call('run', 'put', { _id: id, beaten: true })).toMatchObject({ status: 409 }),
];

describe.skipIf(!canOpenPages())('what another context wrote', () => {
  it('is seen by every read begun after it was acknowledged, both ways (I9)', async () => {
    const [left, right] = (await openTabs(2)).tabs as [TabContext, TabContext];
    for (let seq = 1; seq <= 400; seq++) {
      const [writer, reader] = seq % 2 ? [left, right] : [right, left];
      await writer.run('put', { _id: `doc ${seq}` });
      await reads[Math.floor(seq / 2) % reads.length]!(reader, `doc ${seq}`, seq);
    }
  });

  it('is seen between a tab and its own worker', async () => {
    const opened = await openTabs(1);
    const page = opened.tabs[0]!;
    const worker = await opened.worker(page);
    for (let seq = 1; seq <= 100; seq++) {
      const [writer, reader] = seq % 2 ? [page, worker] : [worker, page];
      await writer.run('put', { _id: `doc ${seq}` });
      await reads[Math.floor(seq / 2) % reads.length]!(reader, `doc ${seq}`, seq);
    }
  });

  it('is seen right after a second tab came to one that was alone (I9)', async () => {
    const opened = await openTabs(1);
    const first = opened.tabs[0]!;
    let seq = 0;
    for (let round = 0; round < 5; round++) {
      await vi.waitFor(async () => expect(await first.call('isSolo', NAME)).toBe(true), PATIENCE);
      // Answered from memory: alone, it has no reason to ask the storage.
      await first.run('put', { _id: `doc ${++seq}` });
      const second = await opened.another();
      const order = round % 2 ? [first, second] : [second, first];
      for (const read of reads) {
        await order[0]!.run('put', { _id: `doc ${++seq}` });
        await read(order[1]!, `doc ${seq}`, seq);
        order.reverse();
      }
      await second.page.close();
    }
  });

  for (const how of ['frozen', 'blocked'] as const) {
    it(`is seen by a tab that was alone, and ${how} when the other came (I9)`, async () => {
      const opened = await openTabs(1);
      const first = opened.tabs[0]!;
      const { stopped, goOn } = await debugged(opened, first);
      await first.run('put', { _id: 'first' });
      await vi.waitFor(async () => expect(await first.call('isSolo', NAME)).toBe(true), PATIENCE);
      expect(await first.run('get', 'first')).toMatchObject({ _id: 'first' });
      if (how === 'frozen') await first.call('hear', 'freeze');
      const still = stopped();
      const reading = first.call('stopThenRun', 'get', 'second');
      await still;
      const second = await opened.another();
      await second.run('put', { _id: 'second' });
      await goOn();
      expect(await reading).toMatchObject({ value: { _id: 'second' } });
      if (how === 'frozen') await first.call('hear', 'resume');
      await first.run('put', { _id: 'third' });
      expect(await second.run('get', 'third')).toMatchObject({ _id: 'third' });
    });
  }

  it('is seen by one that took itself for alone while the writer was blocked in its write (I9)', async () => {
    const opened = await openTabs(1);
    const writer = opened.tabs[0]!;
    const { stopped, goOn } = await debugged(opened, writer);
    await writer.run('put', { _id: 'first' });
    await vi.waitFor(async () => expect(await writer.call('isSolo', NAME)).toBe(true), PATIENCE);
    const still = stopped();
    const writing = writer.call('runThenStop', 'put', { _id: 'late' });
    await still;
    const other = await opened.another();
    await vi.waitFor(async () => expect(await other.call('isSolo', NAME)).toBe(true), PATIENCE);
    expect(await other.run('info')).toMatchObject({ doc_count: 1 });
    await goOn();
    expect(await writing).toMatchObject({ value: { ok: true } });
    expect(await other.run('get', 'late')).toMatchObject({ _id: 'late' });
    await consistent([writer, other]);
  });

  it('reaches the live feeds of all tabs and workers: the last change of every document, in rising order', async () => {
    const { contexts, opened } = await twoTabsAndAWorker();
    await contexts[0]!.call('putEach', 'before', 5);
    for (const each of contexts) await each.call('follow');
    await Promise.all(contexts.map((each, i) => each.call('putEach', `own ${i}`, 50)));
    await Promise.all(contexts.map((each, i) => each.call('mixture', `context ${i}`, 100 + i, 20)));
    const { revs, update_seq } = await consistent(contexts);
    expect(Object.keys(revs).length).toBeGreaterThan(155);
    for (const each of contexts) {
      const changes = await each.call('followed', revs);
      expectRising(changes.map(({ seq }) => seq as number));
      expect(changes.at(-1)!.seq).toBe(update_seq);
    }
    expect(opened.errors).toEqual([]);
  });

  it('reaches a feed again as soon as it has looked, when its page has lost its channel without a word', async () => {
    const opened = await openTabs(1);
    const writer = opened.tabs[0]!;
    await opened.context.addInitScript(mortalChannels);
    const reader = await opened.another();
    await reader.call('follow');
    await reader.call('followed', await writer.call('putEach', 'heard', 1));
    await reader.page.evaluate(() => (globalThis as never as { endChannels(): void }).endChannels());
    await afterTimer(200); // before that, nobody looks whether it lives
    const unheard = await writer.call('putEach', 'unheard', 1);
    // As its timer does after a while.
    await reader.page.evaluate(() => void document.dispatchEvent(new Event('visibilitychange')));
    await reader.call('followed', unheard);
    await reader.call('followed', await writer.call('putEach', 'heard again', 1));
    expect(opened.errors).toEqual([]);
  });

  it('reaches an idle feed, whoever writes', async () => {
    const { contexts } = await twoTabsAndAWorker();
    for (const each of contexts) await each.call('follow');
    for (let round = 0; round < 10; round++) {
      for (const [i, writer] of contexts.entries()) {
        const revs = await writer.call('putEach', `round ${round} of ${i}`, 1);
        for (const each of contexts) await each.call('followed', revs);
      }
    }
  });
});
