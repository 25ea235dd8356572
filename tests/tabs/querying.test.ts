/** Several tabs that ask the same index while another writes: every answer is that of one moment, and nothing is mapped twice. */
import { describe, expect, it } from 'vitest';
import { canOpenPages, openTabs, type TabContext } from '../support/tabs';

const DOCS = 200;

/** What the writer has written up to each seq: `[id, n]` by n. */
function expectedAt(): [string, number][][] {
  const moments: [string, number][][] = [[]];
  const now = new Map<string, number>();
  const wrote = (id: string, n: number): void => {
    now.set(id, n);
    moments.push([...now].sort(([, a], [, b]) => a - b));
  };
  for (let n = 0; n < DOCS; n++) {
    if (n > 0 && n % 2 === 0) wrote(`d${n - 1}`, n - 0.5);
    wrote(`d${n}`, n);
  }
  return moments;
}

describe.skipIf(!canOpenPages())('tabs that query while another writes', () => {
  it('never see a wrong or doubled row, and map every revision at most once together', async () => {
    const { tabs } = await openTabs(3);
    const [one, two, writer] = tabs as [TabContext, TabContext, TabContext];
    const asking = [one.call('queryUntil', DOCS - 1), two.call('queryUntil', DOCS - 1)];
    await writer.call('putAndChange', DOCS);
    const moments = expectedAt();
    for (const answers of await Promise.all(asking)) {
      let before = 0;
      for (const { update_seq, rows } of answers) {
        expect(rows).toEqual(moments[update_seq as number]);
        expect(update_seq).toBeGreaterThanOrEqual(before);
        before = update_seq as number;
      }
    }
    const mapped = (await Promise.all(tabs.map((tab) => tab.call('mapped')))).flat();
    expect(mapped.filter((each, i) => mapped.indexOf(each) < i)).toEqual([]);
    expect(mapped.length).toBeGreaterThanOrEqual(DOCS);
  });

  it('build a new index together: each document is mapped once', async () => {
    const { tabs } = await openTabs(3);
    const [one] = tabs as [TabContext, TabContext, TabContext];
    const docs = Array.from({ length: 4_000 }, (_, n) => ({ _id: `d${n}`, n, text: 'x'.repeat(200) }));
    await one.run('bulkDocs', docs);
    const answers = await Promise.all(tabs.map((tab) => tab.run('query', 'byN', { limit: 3 })));
    for (const answer of answers)
      expect(answer).toMatchObject({ total_rows: 4_000, rows: [{ key: 0 }, { key: 1 }, { key: 2 }] });
    const mapped = (await Promise.all(tabs.map((tab) => tab.call('mapped')))).flat();
    expect(mapped.length).toBe(4_000);
    expect(new Set(mapped).size).toBe(4_000);
  });
});
