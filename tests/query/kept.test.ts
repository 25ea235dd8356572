/** Which indexes follow writes by themselves, and when: with a store and a clock that the test has in its hands. */
import type { DatabaseTables, Store, StoreEvent } from '@settledb/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { IndexDefinition, IndexPolicy } from '../../packages/query/src/index-reader';
import { type Due, KeptIndexes } from '../../packages/query/src/kept';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const index = (id: string, policy?: IndexPolicy): IndexDefinition => ({ id, map: () => {}, policy });

/** A database of which there is only how far it is, and how far its indexes are. */
class World {
  seq = 0;
  readonly states = new Map<string, number>();
  /** Passes, each with what it was to bring where. */
  readonly passes: Record<string, number>[] = [];
  readonly aborted: boolean[] = [];
  /** A pass takes as long as this. */
  takes: Promise<unknown> = Promise.resolve();
  reads = 0;
  readonly #watchers: ((event: StoreEvent) => void)[] = [];
  readonly kept: KeptIndexes;

  constructor() {
    const read = async (
      queries: readonly { from: string; keys: readonly string[] }[],
    ): Promise<unknown[]> => {
      this.reads++;
      return queries.map(({ from, keys }) =>
        from === 'info'
          ? [{ update_seq: this.seq }]
          : keys.map((view) => (this.states.has(view) ? { view, seq: this.states.get(view) } : undefined)),
      );
    };
    const watch = (listener: (event: StoreEvent) => void): void => void this.#watchers.push(listener);
    const store = { read, watch } as unknown as Store<DatabaseTables>;
    this.kept = new KeptIndexes(store, (due, signal) => this.#update(due, signal));
  }

  async #update(due: readonly Due[], signal: AbortSignal | undefined): Promise<void> {
    this.passes.push(Object.fromEntries(due.map(({ index: { id }, target }) => [id, target])));
    await this.takes;
    this.aborted.push(signal?.aborted === true);
    if (signal?.aborted) return; // before it committed anything
    for (const {
      index: { id },
      target,
    } of due) {
      this.kept.unasked(id, target - (this.states.get(id) ?? 0));
      this.states.set(id, target);
      this.#commit();
    }
  }

  write(changes: number): void {
    this.seq += changes;
    this.#commit();
  }

  /** As a query does: what was asked for is up to date. */
  ask(asked: IndexDefinition): void {
    this.kept.asked(asked);
    this.states.set(asked.id, this.seq);
  }

  #commit(): void {
    for (const watcher of this.#watchers) watcher({ type: 'commit' });
  }
}

const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('an index without a policy', () => {
  it('follows writes from the moment it was asked for', async () => {
    const world = new World();
    const one = index('one');
    world.kept.keep(one);
    world.write(1);
    await wait(1_000);
    expect(world.passes).toEqual([]);
    world.ask(one);
    world.write(1);
    await wait(1_000);
    expect(world.passes).toEqual([{ one: 2 }]);
  });

  it('does not follow because it was asked as it stands', async () => {
    const world = new World();
    const one = index('one');
    world.kept.asked(one, true);
    world.states.set('one', 0);
    world.write(1);
    await wait(1_000);
    expect(world.passes).toEqual([]);
  });

  it('is not made anew when it was dropped', async () => {
    const world = new World();
    world.ask(index('one'));
    world.states.delete('one');
    world.write(1);
    await wait(1_000);
    expect(world.passes).toEqual([]);
  });

  it('rests when 10,000 documents were mapped unasked, also within one pass, until it is asked', async () => {
    const world = new World();
    const one = index('one');
    world.ask(one);
    world.write(6_000);
    await wait(1_000);
    world.write(6_000);
    await wait(1_000);
    expect(world.passes).toEqual([{ one: 6_000 }, { one: 10_000 }]);
    world.write(1);
    await wait(1_000);
    expect(world.passes).toHaveLength(2);
    world.ask(one);
    world.write(1);
    await wait(1_000);
    expect(world.passes.slice(2)).toEqual([{ one: 12_002 }]);
  });

  it('is one of twenty at most, those asked for last', async () => {
    const world = new World();
    const all = Array.from({ length: 25 }, (_, i) => index(`i${i}`));
    for (const each of all) world.ask(each);
    world.ask(all[0]!);
    world.write(1);
    await wait(1_000);
    expect(Object.keys(world.passes[0]!).sort()).toEqual(['i0', ...all.slice(6).map(({ id }) => id)].sort());
  });
});

it('an index that is lazy by its policy never follows', async () => {
  const world = new World();
  world.ask(index('one', 'lazy'));
  world.write(1);
  await wait(1_000);
  expect(world.passes).toEqual([]);
});

it('an idle index follows unasked, from the beginning', async () => {
  const world = new World();
  world.write(5);
  world.kept.keep(index('one', 'idle'));
  await wait(1_000);
  expect(world.passes).toEqual([{ one: 5 }]);
});

it.each([
  'idle',
  'eager',
] as const)('an %s index that was dropped is not made anew, until it is asked', async (policy) => {
  const world = new World();
  const one = index('one', policy);
  world.ask(one);
  await wait(1_000);
  world.states.delete('one');
  world.write(1);
  await wait(1_000);
  expect(world.passes).toEqual([]);
  world.ask(one);
  world.write(1);
  await wait(1_000);
  expect(world.states.get('one')).toBe(2);
});

it('an index of the program’s own is made anew', async () => {
  const world = new World();
  world.kept.keep(index('one', 'idle'));
  world.write(1);
  await wait(1_000);
  world.states.delete('one');
  world.write(1);
  await wait(1_000);
  expect(world.passes).toEqual([{ one: 1 }, { one: 2 }]);
});

it('an eager index follows at once, and idle ones with it, but none without a policy', async () => {
  const world = new World();
  world.ask(index('plain'));
  world.kept.keep(index('soon', 'idle'));
  world.kept.keep(index('now', 'eager'));
  await wait(1_000);
  world.write(1);
  await wait(0);
  expect(world.passes).toEqual([{ now: 1, soon: 1 }]);
  await wait(1_000);
  expect(world.passes.slice(1)).toEqual([{ plain: 1 }]);
});

/** A world in which a pass over one change is under way, until `done` is called. */
async function inPass(): Promise<{ world: World; done: () => void }> {
  const world = new World();
  world.ask(index('one'));
  world.write(1);
  let done = (): void => {};
  world.takes = new Promise<void>((resolve) => (done = resolve));
  await wait(150);
  return { world, done };
}

describe('a stream of writes', () => {
  it('is let end before indexes follow', async () => {
    const world = new World();
    world.ask(index('one'));
    for (let i = 0; i < 100; i++) {
      world.write(50);
      await wait(20);
    }
    expect(world.passes).toEqual([]);
    await wait(1_000);
    expect(world.passes).toEqual([{ one: 5_000 }]);
  });

  it('breaks off a pass that is under way', async () => {
    const { world, done } = await inPass();
    expect(world.passes).toEqual([{ one: 1 }]);
    for (let i = 0; i < 10; i++) {
      world.write(50);
      await wait(20);
    }
    done();
    await wait(0);
    expect(world.aborted).toEqual([true]);
    await wait(1_000);
    expect(world.states.get('one')).toBe(world.seq);
  });

  it('is followed when it ended, also where the pass that was broken off took longer to end', async () => {
    const { world, done } = await inPass();
    world.write(50);
    await wait(1_000);
    done();
    await wait(1_000);
    expect(world.aborted).toEqual([true, false]);
    expect(world.states.get('one')).toBe(world.seq);
  });

  it('of a few changes is none: indexes follow all the while', async () => {
    const world = new World();
    world.ask(index('one'));
    for (let i = 0; i < 100; i++) {
      world.write(1);
      await wait(30);
    }
    expect(world.passes.length).toBeGreaterThan(20);
  });
});

it('while nothing is written, nothing is read and no timer runs', async () => {
  const world = new World();
  const one = index('one');
  world.ask(one);
  world.write(3);
  await wait(1_000);
  const { reads } = world;
  for (let i = 0; i < 10; i++) world.ask(one);
  await wait(10_000);
  expect(world.reads).toBe(reads);
  expect(vi.getTimerCount()).toBe(0);
});

it('what a pass rejects with, and a closed database, is nobody’s unhandled rejection', async () => {
  const world = new World();
  world.ask(index('one'));
  let fail = (): void => {};
  world.takes = new Promise((_, reject) => (fail = () => reject(new Error('closed'))));
  world.write(1);
  await wait(500);
  fail();
  await wait(500);
  expect(world.passes).toEqual([{ one: 1 }]);
  world.takes = Promise.resolve();
  world.write(1);
  await wait(1_000);
  expect(world.states.get('one')).toBe(2);
});
