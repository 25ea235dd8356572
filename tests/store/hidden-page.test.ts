/** Rewriting in a page that nobody looks at, whose timers come late: here, not at all. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { expect, it, onTestFinished, vi } from 'vitest';

vi.mock('../../packages/core/src/store/timers', async (original) => ({
  ...(await original<object>()),
  afterTimer: () => new Promise(() => {}),
}));

it('a compaction in a hidden page waits for no timer', async () => {
  vi.stubGlobal('document', { hidden: true });
  onTestFinished(() => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });
  const store = await openLogStore<DatabaseTables>(await memory().open('db'), schema);
  const put = Array.from({ length: 2_000 }, (_, i) => ({
    id: `d${i}`,
    seq: i + 1,
    rev: '1-a',
    body: '"text"',
  }));
  await store.write([], () => ({ writes: [{ into: 'docs', put }], value: 0 }));
  let now = Date.now();
  vi.spyOn(Date, 'now').mockImplementation(() => (now += 20)); // each page takes longer than a slice of the work
  await store.compact();
  expect(store.stats()).toMatchObject({ epoch: 1, recentRows: 0 });
  await store.close();
});
