/** Checkpoints that happen by themselves: when, what they keep small, and that their failures trouble nobody. */
import { memory } from '@settledb/adapter-memory';
import { afterTimer, DatabaseError, type DatabaseTables, type Store, schema } from '@settledb/core';
import { type Journal, openLogStore, type Rewrite } from '@settledb/engine';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { rewriteCode } from '../../packages/engine/src/rewrite-code';
import { type Hooks, hooked, type Step } from '../support/hooked-adapter';

type TestStore = Store<DatabaseTables>;

/** Small commits after which a checkpoint of few rows is due. */
const DUE = 256;
/** A checkpoint is due after this many, whatever the size of the database. */
const COMMITS_MAX = 2048;

const quota = (): DatabaseError =>
  new DatabaseError({ status: 507, name: 'quota_exceeded', reason: 'the disk is full' });

const isManifest = (step: Step): boolean => step.kind === 'rewrite' && step.change.manifest !== undefined;

async function setUp() {
  const hooks: Hooks = {};
  const world = memory();
  const adapter = hooked(world, hooks);
  const open = async (): Promise<TestStore> => openLogStore<DatabaseTables>(await adapter.open('db'), schema);
  return { hooks, world, open, store: await open() };
}

/** Resolves when a step for which `test` holds has been done. */
const done = (hooks: Hooks, test: (step: Step) => boolean): Promise<void> =>
  new Promise((resolve) => {
    hooks.after = (step) => {
      if (test(step)) resolve();
    };
  });

let seq = 0;

/** As many small commits, to a hundred documents in turn. */
async function writes(store: TestStore, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const row = { id: `d${i % 100}`, seq: ++seq, rev: `${seq}-x`, body: `"${seq}"` };
    await store.write([], () => ({ writes: [{ into: 'docs', put: [row] }], value: 0 }));
  }
}

const row = (i: number) => ({
  id: `s${String(i).padStart(5, '0')}`,
  seq: ++seq,
  rev: `${seq}-x`,
  body: '""',
});

/** In each page of 40,000 documents. */
const scattered = Array.from({ length: 2_500 }, (_, i) => i * 16);

/** Puts documents by their numbers, in one commit. */
const put = (store: TestStore, numbers: readonly number[]): Promise<number> =>
  store.write([], () => ({ writes: [{ into: 'docs', put: numbers.map(row) }], value: 0 }));

/** So many documents, in pages. */
async function fill(store: TestStore, count: number): Promise<void> {
  await put(
    store,
    Array.from({ length: count }, (_, i) => i),
  );
  await store.compact();
}

/** Until the test ends, timers fire when it says so. */
function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

/** Waits until what has the turn now, as an installation, is done. */
const turn = (store: TestStore): Promise<number> => store.write([], () => ({ writes: [], value: 0 }));

async function check(store: TestStore): Promise<void> {
  const [rows, bySeq] = await store.read([
    { from: 'docs', range: {}, texts: true },
    { from: 'docs', by: 'seq', range: {} },
  ]);
  expect(rows.length).toBe(100);
  expect(bySeq.length).toBe(100);
  expect(rows.map((row) => row.body)).toEqual(rows.map((row) => `"${row.seq}"`));
}

describe('checkpoints by themselves', () => {
  it('happen again and again under many small commits, and keep what is recent small', async () => {
    const { store, hooks, world, open } = await setUp();
    for (let epoch = 1; epoch <= 4; epoch++) {
      const installed = done(hooks, isManifest);
      await writes(store, DUE);
      await installed;
      await turn(store);
      expect(store.stats().epoch).toBe(epoch);
      expect(store.stats().recentRows).toBe(0);
      await check(store);
    }
    const state = await (await world.open('db')).read();
    expect(state.commits.length).toBeLessThan(COMMITS_MAX);
    await store.close();
    await check(await open());
  });

  it('trouble nobody when the storage is full, and are tried again later', async () => {
    const { store, hooks } = await setUp();
    const refused = new Promise<void>((resolve) => {
      hooks.before = (step) => {
        if (step.kind !== 'rewrite') return;
        resolve();
        throw quota();
      };
    });
    await writes(store, DUE);
    await refused;
    await check(store);
    await writes(store, 100);
    await check(store);
    expect(store.stats().epoch).toBe(0);
    hooks.before = undefined;
    const installed = done(hooks, isManifest);
    await writes(store, DUE);
    await installed;
    await turn(store);
    await check(store);
    expect(store.stats().epoch).toBe(1);
  });

  it('that failed are not tried with each write that follows', async () => {
    const { store, hooks } = await setUp();
    await rewriteCode.load();
    fakeTimers();
    onTestFinished(() => void vi.restoreAllMocks());
    let tries = 0;
    hooks.before = (step) => {
      if (step.kind !== 'rewrite' || step.change.put === undefined) return;
      tries++;
      throw quota();
    };
    const later = async (count: number): Promise<number> => {
      await writes(store, count);
      for (let turns = 0; turns < 20; turns++) {
        await vi.advanceTimersByTimeAsync(50);
        await afterTimer(1); // the storage's turns are no timers, and the pauses of a rewrite are timers of the platform
      }
      return tries;
    };
    expect(await later(DUE)).toBe(1);
    for (let times = 0; times < 5; times++) expect(await later(10)).toBe(1);
    const timers = vi.spyOn(globalThis, 'setTimeout');
    await later(0);
    expect(timers.mock.calls.length).toBeLessThan(3); // one each 100 ms would be ten
    expect(await later(DUE)).toBe(2);
    hooks.before = undefined;
    await store.close();
  });

  it('are put off for a while where their code cannot be loaded', async () => {
    const { store } = await setUp();
    fakeTimers();
    const load = vi.spyOn(rewriteCode, 'load').mockRejectedValueOnce(new Error('offline'));
    onTestFinished(() => load.mockRestore());
    for (let times = 0; times < 2; times++) {
      await writes(store, 40);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(load).toHaveBeenCalledTimes(1);
    expect(store.stats().epoch).toBe(0);
    await writes(store, 256);
    await vi.waitUntil(() => vi.advanceTimersByTime(1_000) && store.stats().epoch === 1);
    expect(load).toHaveBeenCalledTimes(2);
    await check(store);
    await store.close();
  });

  for (const discard of [false, true]) {
    it(`keep nobody waiting who ${discard ? 'destroys' : 'closes'} it, where their code does not come`, async () => {
      const code = await rewriteCode.load();
      const { store, hooks } = await setUp();
      fakeTimers();
      let come: (late: typeof code) => void = () => {};
      const coming = new Promise<typeof code>((resolve) => {
        come = resolve;
      });
      const load = vi.spyOn(rewriteCode, 'load').mockReturnValue(coming);
      onTestFinished(() => load.mockRestore());
      await writes(store, DUE);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(load).toHaveBeenCalledTimes(1);
      const compacting = store.compact();
      const closing = store.close(discard);
      if (!discard) await vi.advanceTimersByTimeAsync(5_000);
      await closing;
      hooks.before = (step) => {
        throw new Error(`${step.kind} after the end`);
      };
      come(code);
      await expect(compacting).rejects.toMatchObject({ name: 'closed' });
      expect(vi.getTimerCount()).toBe(0);
    });
  }

  it('are made on closing when one is due, and a failure does not keep the store from closing', async () => {
    const { store, hooks, open } = await setUp();
    hooks.before = (step) => {
      if (step.kind === 'rewrite') throw quota();
    };
    await writes(store, DUE);
    await store.close();
    hooks.before = undefined;
    const second = await open();
    expect(second.stats().epoch).toBe(0);
    await writes(second, 1);
    await second.close();
    const third = await open();
    expect(third.stats()).toMatchObject({ epoch: 1, recentRows: 0 });
    await check(third);
  });

  it('are not made for a storage that is removed next', async () => {
    const { store, hooks, open } = await setUp();
    hooks.before = (step) => {
      if (step.kind === 'rewrite') throw new Error('rewritten');
    };
    await writes(store, DUE);
    await store.close(true);
    hooks.before = undefined;
    const second = await open();
    expect(second.stats().epoch).toBe(0);
    await check(second); // It was not removed after all.
  });

  it('wait for a longer pause where all ends with the process', async () => {
    const journal = await memory().open('db');
    expect(journal.transient).toBe(true);
    fakeTimers();
    const store = await openLogStore<DatabaseTables>(journal, schema);
    await writes(store, DUE);
    vi.advanceTimersByTime(1_999);
    await turn(store);
    expect(store.stats()).toMatchObject({ epoch: 0, recentRows: 100 });
    vi.advanceTimersByTime(2_001); // It is looked at while they are written, and once more.
    await vi.waitUntil(() => store.stats().epoch === 1);
    await check(store);
    await store.close();
  });

  it('go on while the store closes, and are not begun anew', async () => {
    const { store, hooks, open } = await setUp();
    const put = Array.from({ length: 10_000 }, (_, i) => ({ id: `d${i}`, seq: ++seq, rev: '1-x' }));
    const changes: Rewrite[] = [];
    // Its pages take more than one slice: between two it looks whether it is to end.
    const closed = new Promise<void>((resolve) => {
      hooks.before = (step) => {
        if (step.kind !== 'rewrite') return;
        if (changes.push(step.change) === 1) resolve(store.close());
      };
    });
    await store.write([], () => ({ writes: [{ into: 'docs', put }], value: 0 }));
    await closed;
    expect(changes.filter(({ manifest }) => manifest !== undefined)).toHaveLength(1);
    expect(changes.filter(({ drop, manifest }) => drop !== undefined && manifest === undefined)).toEqual([]);
    const again = await open();
    expect(again.stats()).toMatchObject({ epoch: 1, recentRows: 0 });
    expect((await again.read([{ from: 'docs', range: {} }]))[0]).toHaveLength(10_000);
  });

  it('are made of little where they cost little, as soon as nothing is written', async () => {
    const { store, hooks, open } = await setUp();
    const installed = done(hooks, isManifest);
    await writes(store, 40);
    await installed;
    await turn(store);
    expect(store.stats()).toMatchObject({ epoch: 1, recentRows: 0 });
    await writes(store, 40);
    await store.close(); // What is due when it pauses is due when it closes.
    expect((await open()).stats()).toMatchObject({ epoch: 2, recentRows: 0 });
  });

  it('wait where few changes lie in many pages', async () => {
    const { store, open } = await setUp();
    await fill(store, 10_000);
    for (let i = 0; i < 40; i++) await put(store, [i * 250]);
    await store.close();
    expect((await open()).stats()).toMatchObject({ epoch: 1, recentRows: 40 });
  });

  it('wait no longer if the changes have so much text that each opening would read for long', async () => {
    const { store, open } = await setUp();
    await fill(store, 20_000);
    const body = JSON.stringify('x'.repeat(60_000));
    const rows = Array.from({ length: 141 }, (_, i) => ({ ...row(i * 140), body }));
    for (const each of rows)
      await store.write([], () => ({ writes: [{ into: 'docs', put: [each] }], value: 0 }));
    await store.close();
    const second = await open();
    expect(second.stats()).toMatchObject({ epoch: 2, recentRows: 0 });
    const [found] = await second.read([{ from: 'docs', keys: rows.map(({ id }) => id), texts: true }]);
    expect(found.every((each) => each?.body === body)).toBe(true);
    await put(second, [7]);
    await second.close();
    expect((await open()).stats()).toMatchObject({ epoch: 2, recentRows: 1 }); // What a checkpoint covers counts no more.
  });

  it('wait no longer once nothing was written for a while, if opening would read many such changes', async () => {
    const { store, open } = await setUp();
    await fill(store, 40_000);
    await put(store, scattered);
    await store.close();
    fakeTimers();
    const second = await open();
    expect(second.stats()).toMatchObject({ epoch: 1, recentRows: 2_500 });
    vi.advanceTimersByTime(4_999);
    await put(second, [3]);
    vi.advanceTimersByTime(5_000); // It is looked at again from then on.
    await turn(second);
    expect(second.stats()).toMatchObject({ epoch: 1, recentRows: 2_501 });
    vi.advanceTimersByTime(5_000);
    await vi.waitUntil(() => vi.advanceTimersByTime(1_000) && second.stats().epoch === 2);
    expect(second.stats().recentRows).toBe(0);
    await put(second, scattered);
    await put(second, [3]);
    await vi.waitUntil(() => vi.advanceTimersByTime(1_000) && second.stats().epoch === 3);
    await second.close();
  });

  it('are not asked about again, where changes lie in too many pages, until something is written', async () => {
    const { store, open } = await setUp();
    await fill(store, 40_000);
    for (let i = 0; i < 300; i++) await put(store, [i * 130]);
    await store.close();
    fakeTimers();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const asked = (): number => timers.mock.calls.filter(([, ms]) => ms === 5_000).length;
    const second = await open();
    for (const times of [1, 2]) {
      if (times > 1) await put(second, [7]);
      for (let seconds = 0; seconds < 12; seconds++) {
        expect(asked()).toBe(times);
        vi.advanceTimersByTime(1_000);
        await turn(second);
      }
    }
    expect(second.stats().epoch).toBe(1);
    await second.close();
    timers.mockRestore();
  });

  it('wait again if another context writes before they begin', async () => {
    const { world, store, open } = await setUp();
    await fill(store, 40_000);
    await put(store, scattered);
    await store.close();
    const other = await openLogStore<DatabaseTables>(await world.open('db'), schema, { checkpoint: false });
    const journal = await hooked(world, {}).open('db');
    let turns = 0;
    const interrupted: Journal = {
      ...journal,
      exclusively: async (work) => {
        if (++turns === 1) await put(other, [4]);
        return journal.exclusively(work);
      },
    };
    fakeTimers();
    const second = await openLogStore<DatabaseTables>(interrupted, schema);
    await vi.waitUntil(() => vi.advanceTimersByTime(1_000) && second.stats().epoch === 2);
    expect(turns).toBe(2);
    await second.close();
    expect((await open()).stats()).toMatchObject({ epoch: 2, recentRows: 0 });
  });

  it('end on closing if they were made only because nothing happened', async () => {
    const { store, hooks, open } = await setUp();
    await fill(store, 40_000);
    await put(store, scattered);
    await store.close();
    fakeTimers();
    const second = await open();
    let closing: Promise<void> | undefined;
    hooks.before = (step) => {
      if (step.kind === 'rewrite' && step.change.put !== undefined) closing ??= second.close();
    };
    await vi.waitUntil(() => vi.advanceTimersByTime(500) && closing !== undefined);
    await closing;
    expect((await open()).stats()).toMatchObject({ epoch: 1, recentRows: 2_500 });
  });

  it('are not made twice when two contexts had one due', async () => {
    const { store, open } = await setUp();
    const other = await open();
    await writes(store, DUE);
    await other.write([{ from: 'docs', keys: ['d1'] }], ([[row]]) => ({
      writes: [{ into: 'docs', put: row === undefined ? [] : [{ ...row, seq: ++seq }] }],
      value: 0,
    }));
    await store.compact();
    await other.close();
    await store.read([]);
    expect(store.stats().epoch).toBe(1);
  });

  it('end with the store: destroying the database leaves no error that nobody catches', async () => {
    const { store, world } = await setUp();
    const gone = new Promise((resolve) => store.watch((event) => event.type === 'destroyed' && resolve(0)));
    await writes(store, DUE);
    await world.destroy('db');
    await gone;
    await expect(store.read([])).rejects.toMatchObject({ name: 'closed' });
    await expect(store.compact()).rejects.toMatchObject({ name: 'closed' });
    await store.close();
  });
});
