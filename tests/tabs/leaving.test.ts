/** Tabs that go away in the middle of their work, and databases that do: the others lose nothing, or are told. */
import { describe, expect, it } from 'vitest';
import {
  canOpenPages,
  crash,
  listenTo,
  NAME,
  openTabs,
  type TabContext,
  twoTabsAndAWorker,
} from '../support/tabs';
import { consistent } from './state';

const leave = {
  closed: ({ page }: TabContext): Promise<unknown> => page.close(),
  crashed: crash,
  reloaded: ({ page }: TabContext): Promise<unknown> => page.reload(),
};

describe.skipIf(!canOpenPages())('when a tab leaves', () => {
  for (const end of ['closed', 'crashed', 'reloaded'] as const) {
    it(`${end} while it writes, the others go on and have all that was acknowledged to it`, async () => {
      const opened = await openTabs(2);
      const [leaving, right] = opened.tabs as [TabContext, TabContext];
      const worker = await opened.worker(right);
      const { told, enough } = listenTo(leaving, 40);
      leaving.call('putForEver', 'left').catch(() => {}); // its page goes away
      const writing = Promise.all([right.call('putEach', 'right', 80), worker.call('putEach', 'worker', 80)]);
      await enough;
      await leave[end](leaving);
      await writing;
      await right.run('put', { _id: 'after' });
      const { revs, update_seq } = await consistent([right, worker, await opened.another()]);
      const kept = Object.keys(revs);
      expect(told.filter((id) => !kept.includes(id))).toEqual([]);
      expect(kept.filter((id) => !id.startsWith('left'))).toHaveLength(161);
      // Of its last writes nobody may have heard; but none is missing among them.
      const left = kept.filter((id) => id.startsWith('left'));
      expect(left.sort()).toEqual(left.map((_, i) => `left ${i}`).sort());
      expect(update_seq).toBe(kept.length);
    });
  }

  for (const end of ['closed', 'crashed'] as const) {
    it(`${end} within a large bulk write, that call was done wholly or not at all`, async () => {
      const opened = await openTabs(2);
      const [left, right] = opened.tabs as [TabContext, TabContext];
      const PER_CALL = 1500;
      const { told, enough } = listenTo(left, 3);
      left.call('bulkForEver', 'bulk', PER_CALL).catch(() => {});
      await enough;
      await leave[end](left);
      const { revs } = await consistent([right]);
      const counts = new Map<string, number>();
      for (const id of Object.keys(revs)) {
        const call = id.slice(0, id.lastIndexOf(' '));
        counts.set(call, (counts.get(call) ?? 0) + 1);
      }
      for (const call of told) expect(counts.get(call)).toBe(PER_CALL);
      expect([...counts.values()].filter((count) => count !== PER_CALL)).toEqual([]);
    });
  }
});

describe.skipIf(!canOpenPages())('when a tab destroys the database', () => {
  it('every context hears of it; the destroyed handle rejects, the others and new ones begin empty', async () => {
    const { contexts, opened } = await twoTabsAndAWorker();
    const [first, ...others] = contexts as [TabContext, TabContext, TabContext];
    for (const each of contexts) await each.call('follow');
    await Promise.all(contexts.map((each, i) => each.call('putEach', `own ${i}`, 20)));
    expect(await first.call('destroy')).toEqual({ value: { ok: true } });
    for (const each of contexts) {
      expect(await each.call('destroyed')).toBe(1);
      expect(await each.call('feedEnd')).toEqual({ value: { status: 'cancelled' } });
    }
    expect(await first.call('run', 'info')).toMatchObject({ name: 'closed', status: 412 });
    const empty = { doc_count: 0, update_seq: 0 };
    for (const each of contexts) expect(await each.call('infoOfNew', NAME)).toMatchObject(empty);
    for (const each of others) expect(await each.run('info')).toMatchObject(empty);
    await others[0]!.run('put', { _id: 'anew' });
    expect(await others[1]!.run('get', 'anew')).toMatchObject({ _id: 'anew' });
    expect(await consistent([...others, await opened.another()])).toMatchObject({
      doc_count: 1,
      update_seq: 1,
    });
    for (const each of contexts) expect(await each.call('destroyed')).toBe(1);
  });

  it('while the others write, every write is answered, and nothing of before comes back', async () => {
    const { contexts } = await twoTabsAndAWorker();
    const [first, ...others] = contexts as [TabContext, TabContext, TabContext];
    await first.call('putEach', 'before', 30);
    const writing = others.map((each, i) =>
      each.call('putEach', `own ${i}`, 60).then(
        () => 'done',
        (error) => String(error),
      ),
    );
    expect(await first.call('destroy')).toEqual({ value: { ok: true } });
    for (const end of await Promise.all(writing)) expect(end).toMatch(/^done$|database is closed/);
    for (const each of others) expect(await each.call('destroyed')).toBe(1);
    const { revs } = await consistent(others);
    expect(Object.keys(revs).filter((id) => id.startsWith('before'))).toEqual([]);
  });
});
