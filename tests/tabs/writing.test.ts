/** Several tabs and a worker that write the same database at once: no write lost, no seq twice, counters right. */
import { describe, expect, it } from 'vitest';
import { canOpenPages, NAME, openTabs, twoTabsAndAWorker } from '../support/tabs';
import { consistent, expectKept } from './state';

const conflict = { name: 'conflict', status: 409 };

describe.skipIf(!canOpenPages())('contexts that write the same database', () => {
  it('keep every document of their own, each write with a seq of its own', async () => {
    const { tabs, errors } = await openTabs(2);
    const revs = await Promise.all(tabs.map((tab, i) => tab.call('putEach', `tab ${i}`, 100)));
    const state = await consistent(tabs);
    expect(state).toEqual({ doc_count: 200, update_seq: 200, revs: { ...revs[0], ...revs[1] } });
    expect(errors).toEqual([]);
  });

  it('race for one revision: exactly one wins, the other hears of a conflict and goes on from the new revision', async () => {
    const { tabs } = await openTabs(2);
    let rev: string | undefined;
    const wins = [0, 0];
    const ROUNDS = 40;
    for (let round = 0; round < ROUNDS; round++) {
      const edit = (by: number): object => ({ _id: 'one', by, round, ...(rev && { _rev: rev }) });
      const answers = await Promise.all(tabs.map((tab, i) => tab.call('run', 'put', edit(i))));
      const winner = answers.findIndex((answer) => 'value' in answer);
      expect(answers[1 - winner]).toEqual(conflict);
      wins[winner]!++;
      const loser = tabs[1 - winner]!;
      const won: { _rev: string } = await loser.run('get', 'one');
      expect(won).toMatchObject({ by: winner, round });
      rev = ((await loser.run('put', { ...won, retried: true })) as { rev: string }).rev;
    }
    expect(wins[0]! + wins[1]!).toBe(ROUNDS);
    expect(await consistent(tabs)).toEqual({ doc_count: 1, update_seq: 2 * ROUNDS, revs: { one: rev } });
  });

  it('lose no increment of shared counters', async () => {
    const { contexts } = await twoTabsAndAWorker();
    const ids = ['a', 'b', 'c'];
    await contexts[0]!.run(
      'bulkDocs',
      ids.map((_id) => ({ _id, n: 0 })),
    );
    let beaten = 0;
    let n = 0;
    // Until they have met: on a busy machine one may be through before the next begins.
    while (beaten === 0 && n < 450) {
      const met = await Promise.all(contexts.map((each) => each.call('increments', ids, 15)));
      beaten = met.reduce((sum, each) => sum + each);
      n += 45;
    }
    for (const id of ids) expect(await contexts[2]!.run('get', id)).toMatchObject({ n });
    const { update_seq, doc_count } = await consistent(contexts);
    expect({ update_seq, doc_count }).toEqual({ update_seq: 3 + 3 * n, doc_count: 3 });
    expect(beaten, 'they were to meet').toBeGreaterThan(0);
  });

  for (const seed of [1, 2, 3]) {
    it(`keep counters and sequences over a random mixture of edits (seed ${seed})`, async () => {
      const { contexts, opened } = await twoTabsAndAWorker();
      const accepted = (
        await Promise.all(contexts.map((each, i) => each.call('mixture', `context ${i}`, seed * 10 + i, 40)))
      ).flat();
      const { update_seq } = await consistent([...contexts, await opened.another()]);
      expect(update_seq).toBe(accepted.length);
      await expectKept(contexts[0]!, accepted);
      expect(opened.errors).toEqual([]);
    });
  }

  it('make few commits of many puts made at once', async () => {
    const { tabs } = await openTabs(2);
    const before = await tabs[0]!.call('stored', NAME);
    expect(await tabs[0]!.call('putAtOnce', 'alone', 500)).toBe(500);
    const after = await tabs[0]!.call('stored', NAME);
    expect(after.commits - before.commits).toBeLessThanOrEqual(5);
    await Promise.all(tabs.map((tab, i) => tab.call('putAtOnce', `together ${i}`, 500)));
    expect((await tabs[0]!.call('stored', NAME)).commits - after.commits).toBeLessThanOrEqual(10);
    expect(await consistent(tabs)).toMatchObject({ doc_count: 1500, update_seq: 1500 });
  });
});
