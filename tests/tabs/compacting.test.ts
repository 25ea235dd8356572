/** The storage rewritten by one tab under the hands of others: of one that writes, and of one that slept through it. */
import { describe, expect, it, vi } from 'vitest';
import { canOpenPages, debugged, NAME, openTabs, type TabContext } from '../support/tabs';
import { consistent, expectKept } from './state';

/** The checkpoint that many writes make due is done: a tab that is stopped within one keeps all others from writing. */
async function checkpointed(tabs: readonly TabContext[]): Promise<void> {
  const [first] = tabs as [TabContext];
  await vi.waitFor(async () => expect((await first.call('stored', NAME)).epoch).toBeGreaterThanOrEqual(1), {
    timeout: 20_000,
    interval: 50,
  });
  for (const tab of tabs) await tab.run('info');
}

describe.skipIf(!canOpenPages())('when one tab compacts', () => {
  it('others that write meanwhile lose nothing, and all see the same', async () => {
    const opened = await openTabs(2);
    const [compacting, writing] = opened.tabs as [TabContext, TabContext];
    await compacting.call('putEach', 'first', 50, 2000);
    await compacting.run('put', { _id: 'counter', n: 0 });
    let over = false;
    const accepted = Promise.all([
      writing.call('mixture', 'writing', 7, 80),
      writing.call('putEach', 'own', 100, 2000),
      // Leaves dead commits behind, whose records compaction takes away: their numbers are free, but not to be used again.
      writing.call('increments', ['counter'], 100),
    ]).finally(() => {
      over = true;
    });
    let compactions = 0;
    for (; !over || compactions < 3; compactions++) await compacting.run('compact');
    const [mixed, own] = await accepted;
    expect((await writing.call('stored', NAME)).epoch).toBeGreaterThanOrEqual(3);
    const { revs, update_seq } = await consistent([compacting, writing, await opened.another()]);
    expect(revs).toMatchObject(own);
    expect(update_seq).toBe(50 + 1 + mixed.length + 100 + 100);
    expect(await compacting.run('get', 'counter')).toMatchObject({ n: 100 });
    await expectKept(compacting, mixed);
    for (const id of ['first 49', 'own 0', 'own 99']) {
      expect(await writing.run('get', id)).toMatchObject({ text: 'x'.repeat(2000) });
    }
  });

  for (const how of ['frozen', 'blocked'] as const) {
    it(`one that was ${how} with a write begun goes on in the new storage, and loses its races`, async () => {
      const opened = await openTabs(2);
      const [asleep, awake] = opened.tabs as [TabContext, TabContext];
      await asleep.call('putEach', 'before', 60, 2000);
      await checkpointed([asleep]);
      const { rev } = (await asleep.run('put', { _id: 'shared', n: 1 })) as { rev: string };
      const { stopped, goOn } = await debugged(opened, asleep);
      if (how === 'frozen') await asleep.call('hear', 'freeze');
      const still = stopped();
      const writing = asleep.call('runThenStop', 'bulkDocs', [
        { _id: 'shared', _rev: rev, n: 3 },
        { _id: 'begun', text: 'x'.repeat(2000) },
      ]);
      await still;
      await awake.run('put', { _id: 'shared', _rev: rev, n: 2 });
      await awake.run('put', { _id: 'counter', n: 0 });
      await awake.call('increments', ['counter'], 60);
      for (let i = 0; i < 3; i++) await awake.run('compact');
      await awake.run('put', { _id: 'last' });
      await goOn();
      expect(await writing).toMatchObject({
        value: [
          { id: 'shared', status: 409 },
          { ok: true, id: 'begun' },
        ],
      });
      if (how === 'frozen') await asleep.call('hear', 'resume');
      await asleep.run('put', { _id: 'after' });
      expect(await asleep.run('get', 'before 30')).toMatchObject({ text: 'x'.repeat(2000) });
      const contexts = [asleep, awake, await opened.another()];
      const { revs, update_seq } = await consistent(contexts);
      expect(Object.keys(revs)).toHaveLength(60 + 5);
      expect(update_seq).toBe(60 + 2 + 61 + 3);
      for (const each of contexts) expect(await each.run('get', 'counter')).toMatchObject({ n: 60 });
    });
  }

  it('one that was blocked with a read begun answers from the storage of before or after, not from a mixture', async () => {
    const opened = await openTabs(2);
    const [asleep, awake] = opened.tabs as [TabContext, TabContext];
    await awake.call('putEach', 'doc', 40, 2000);
    await checkpointed([awake, asleep]);
    const { stopped, goOn } = await debugged(opened, asleep);
    const still = stopped();
    const reading = asleep.call('runThenStop', 'allDocs', { include_docs: true });
    await still;
    await awake.call('putEach', 'more', 40, 2000);
    for (let i = 0; i < 3; i++) await awake.run('compact');
    await goOn();
    const answer = (await reading) as { value: { total_rows: number; rows: { doc: { text: string } }[] } };
    expect(answer.value.total_rows).toBeOneOf([40, 80]);
    expect(answer.value.rows).toHaveLength(answer.value.total_rows);
    for (const { doc } of answer.value.rows) expect(doc.text).toHaveLength(2000);
  });
});
