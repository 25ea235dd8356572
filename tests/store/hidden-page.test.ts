/** Rewriting in a page that nobody looks at, whose timers come late: here, not at all. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { beforeEach, expect, it, vi } from 'vitest';
import { Aside } from '../../packages/engine/src/aside';
import type { Rewritable } from '../../packages/engine/src/checkpoint';

vi.mock('../../packages/core/src/store/timers', async (original) => ({
  ...(await original<object>()),
  afterTimer: () => new Promise(() => {}),
}));

beforeEach(() => {
  vi.stubGlobal('document', { hidden: true });
  return () => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
    vi.useRealTimers();
  };
});

it('a compaction in a hidden page waits for no timer', async () => {
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

it('a checkpoint in a hidden page stands aside for nobody, which takes a timer', async () => {
  vi.useFakeTimers();
  const image = { n: 1, recentRows: 0, recentLength: 0 };
  const store = { image, turn: { over: 0 } } as unknown as Rewritable;
  const waiting = new Aside(store, new AbortController().signal).whileCalled();
  expect(vi.getTimerCount()).toBe(0);
  await waiting;
});
