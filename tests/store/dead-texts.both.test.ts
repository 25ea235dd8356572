/** Texts that were replaced make a checkpoint due, also if few commits have them: what a store holds is bounded by what is in use. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, type Store, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Hooks, hooked } from '../support/hooked-adapter';

type TestStore = Store<DatabaseTables>;

const MB = 1024 * 1024;
/** Fewer commits than make a checkpoint due. */
const EDITS = 20;

async function setUp() {
  const hooks: Hooks = {};
  const world = memory();
  const adapter = hooked(world, hooks);
  const open = async (checkpoint = true): Promise<TestStore> =>
    openLogStore<DatabaseTables>(await adapter.open('db'), schema, { checkpoint });
  return { hooks, world, open };
}

let seq = 0;

const text = (length: number): string => JSON.stringify('x'.repeat(length));

/** Puts documents with these ids and bodies, in one commit. */
const put = (store: TestStore, ids: readonly string[], body: string): Promise<number> =>
  store.write([], () => ({
    writes: [{ into: 'docs', put: ids.map((id) => ({ id, seq: ++seq, rev: `${seq}-x`, body })) }],
    value: 0,
  }));

const ids = (count: number): string[] => Array.from({ length: count }, (_, i) => `d${i}`);

async function edit(store: TestStore, length: number, edits = EDITS): Promise<void> {
  for (let i = 0; i < edits; i++) await put(store, ['large'], text(length + i));
}

/** Characters of all blocks. */
async function heldIn(world: ReturnType<typeof memory>): Promise<number> {
  const journal = await world.open('db');
  const texts = await journal.load(await journal.blockIds());
  await journal.close();
  return texts.reduce((sum, block) => sum + (block ?? '').length, 0);
}

const realTimeout = setTimeout;
const macrotask = (): Promise<void> => new Promise((resolve) => realTimeout(resolve, 0));

/** Until the test ends, timers fire when it says so. */
function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

describe('dead texts', () => {
  it('go on closing, and no pages are made anew for it but those that changed', async () => {
    const { hooks, world, open } = await setUp();
    const store = await open();
    await put(store, ids(5_000), text(10));
    await store.compact();
    await edit(store, MB);
    let blocks = 0;
    hooks.before = (step) => {
      if (step.kind === 'rewrite') blocks += step.change.put?.length ?? 0;
    };
    await store.close();
    expect(await heldIn(world)).toBeLessThan(3 * MB);
    expect(blocks).toBeLessThan(5);
    const [[row]] = await (await open()).read([{ from: 'docs', keys: ['large'], texts: true }]);
    expect(row?.body).toBe(text(MB + EDITS - 1));
  });

  it('go when nothing is written for a while', async () => {
    const { world, open } = await setUp();
    fakeTimers();
    const store = await open();
    await edit(store, MB);
    await vi.waitUntil(() => vi.advanceTimersByTime(100) && store.stats().epoch === 1);
    expect(await heldIn(world)).toBeLessThan(2 * MB);
    await store.close();
  });

  it('go while writes go on without a pause', async () => {
    const { open } = await setUp();
    fakeTimers();
    const store = await open();
    let most = 0;
    for (let i = 0; i < 100; i++) {
      await edit(store, MB, 1);
      vi.advanceTimersByTime(60); // Less than what counts as a pause.
      await macrotask();
      most = Math.max(most, store.stats().deadTextLength);
    }
    expect(most).toBeLessThan(50 * MB);
    expect(store.stats().epoch).toBeGreaterThan(1);
    await store.close();
  });

  it('go as soon where all ends with the process, although other checkpoints wait longer there', async () => {
    const { world } = await setUp();
    fakeTimers();
    const store = await openLogStore<DatabaseTables>(await world.open('db'), schema);
    for (let i = 0; i < 40; i++) await put(store, ['small'], text(1)); // Sets the longer timer.
    await edit(store, MB);
    vi.advanceTimersByTime(200); // It is looked at while they are written, and once more.
    for (let turns = 0; turns < 100 && store.stats().epoch === 0; turns++) {
      await macrotask();
      vi.advanceTimersByTime(10); // Standing aside.
    }
    expect(store.stats().epoch).toBe(1);
    await store.close();
  });

  it('that were there already go once a store is open for a while', async () => {
    const { world, open } = await setUp();
    const before = await open(false);
    await edit(before, MB);
    await before.close();
    fakeTimers();
    const store = await open();
    await vi.waitUntil(() => vi.advanceTimersByTime(1_000) && store.stats().epoch === 1);
    expect(await heldIn(world)).toBeLessThan(2 * MB);
    await store.close();
  });

  it('count as well if they died while a checkpoint was being made', async () => {
    const { hooks, world, open } = await setUp();
    const store = await open();
    await put(store, ids(300), text(10));
    let during: Promise<void> | undefined;
    hooks.before = async (step) => {
      if (step.kind === 'rewrite') {
        during ??= edit(store, MB);
        await during;
      }
    };
    await store.compact();
    await store.close();
    expect(await heldIn(world)).toBeLessThan(3 * MB);
  });

  it('are left where they are while they are few, or no more than half of all', async () => {
    const [few, half] = [await setUp(), await setUp()];
    const store = await few.open();
    await edit(store, MB / 8);
    await store.close();
    expect((await few.open()).stats().epoch).toBe(0);
    const other = await half.open();
    for (let round = 0; round < 2; round++) await put(other, ids(40), text(MB / 2));
    await other.close();
    expect((await half.open()).stats().epoch).toBe(0);
  });
});
