/**
 * Fences in blocks of their own, with bounds so small that a few thousand rows have dozens of them: every look is what a store of
 * maps answers, and a checkpoint writes what changed, names what is there and leaves nothing behind.
 */
import { memory } from '@settledb/adapter-memory';
import { ioError, type Schema, type Store } from '@settledb/core';
import { type Adapter, openLogStore } from '@settledb/engine';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { areBlocks, type Fences } from '../../packages/engine/src/fences';
import { layoutOf } from '../../packages/engine/src/layout';
import { decodeManifest } from '../../packages/engine/src/manifest';
import { type Hooks, hooked } from '../support/hooked-adapter';
import { naiveStore } from '../support/naive-store';
import { mulberry32 } from '../support/slow-adapter';

const PER_BLOCK = 3;
/** Pages whose fences lie together, of rows and of other orders, and pages that have room in memory. */
const SMALL = { rows: 4, others: 4, loaded: 4 };
const max = vi.hoisted(() => ({ rows: 4, others: 4, loaded: 4 }));

vi.mock('../../packages/engine/src/fences', async (original) => ({
  ...(await original<object>()),
  fencesWholeMax: (_: unknown, order: number) => (order === 0 ? max.rows : max.others),
  FENCES_PER_BLOCK: 3,
}));
// A row of a document is in one of hundreds of pages, of which mostly four have room, fences and all.
vi.mock('../../packages/engine/src/page', async (original) => ({
  ...(await original<object>()),
  PAGE_ROWS: 8,
  get PAGES_LOADED_MAX() {
    return max.loaded;
  },
}));

type Rows = { docs: { id: string; seq: number; body: string } };
const schema: Schema = {
  docs: { key: 'id', fields: ['id', 'seq', 'body'], orders: { seq: 'seq' }, texts: ['body'] },
};
const layout = layoutOf(schema);

/** What the storage has, and what of it is named: all, where a checkpoint has just ended. */
async function blocksOf(adapter: Adapter) {
  const journal = await adapter.open('db');
  const { manifest, commits } = await journal.read();
  const { tables, blocks } = decodeManifest(manifest!.text, layout);
  const pages: number[] = [];
  const fences: number[] = [];
  const tails = commits.filter(({ tail }) => tail !== '').map(({ n }) => n * 4096);
  const texts = [...blocks.read().map(([id]) => id), ...tails];
  let rows = 0;
  for (const order of tables.docs!) {
    const all = order.read();
    let stated = 0;
    if (!areBlocks(all)) pages.push(...all.ids);
    else {
      for (const [i, text] of (await journal.load(all.ids)).entries()) {
        const block = JSON.parse(text!) as Fences;
        expect(block.keys[0]).toBe(all.keys[i]);
        expect(block.ids.length).toBe(all.pages[i]);
        expect(block.counts.reduce((a, b) => a + b)).toBe(all.counts[i]);
        stated += block.ids.length;
        pages.push(...block.ids);
      }
      fences.push(...all.ids);
      expect(order.pages).toBe(stated);
    }
    rows = order.rows;
  }
  const there = (await journal.blockIds()).sort((a, b) => a - b);
  const format = (JSON.parse(manifest!.text.split('\n')[0]!) as { format: number }).format;
  await journal.close();
  const named = [...pages, ...fences, ...texts].sort((a, b) => a - b);
  return { format, pages, fences, rows, there, named, isCovered: commits.length === 0 };
}

const idOf = (n: number): string => `d${String(n).padStart(5, '0')}`;

class Run {
  readonly random: () => number;
  readonly model = naiveStore<Rows>(schema);
  readonly adapter: Adapter;
  stores: Store<Rows>[] = [];
  #seq = 0;

  constructor(seed: number, adapter: Adapter = memory()) {
    this.random = mulberry32(seed);
    this.adapter = adapter;
  }

  int(max: number): number {
    return Math.floor(this.random() * max);
  }

  /** @param checkpoint Made by closing, so that it is known when; `false`: never */
  async open(checkpoint = true): Promise<Store<Rows>> {
    const options = { textCacheLength: 3_000, checkpoint };
    const store = await openLogStore<Rows>(await this.adapter.open('db'), schema, options);
    this.stores.push(store);
    return store;
  }

  /** To one of the stores that are open, and to the model. */
  async write(ids: readonly string[], isGone = false): Promise<void> {
    const rows = [...new Set(ids)].map((id) => {
      const seq = ++this.#seq;
      return { id, seq, body: JSON.stringify(`${id} ${seq}`.repeat(1 + (seq % 9))) };
    });
    const write = isGone
      ? { into: 'docs' as const, delete: rows.map(({ id }) => id) }
      : { into: 'docs' as const, put: rows };
    const store = this.stores[this.int(this.stores.length)]!;
    for (const each of [store, this.model]) await each.write([], () => ({ writes: [write], value: 0 }));
  }

  /** Some forty small commits near each other, or one of thousands anywhere: either has a checkpoint made on closing. */
  async change(): Promise<void> {
    const kind = this.random();
    if (kind < 0.3) await this.write(Array.from({ length: 2_100 }, () => idOf(this.int(4_000))));
    else if (kind < 0.4)
      await this.write(
        Array.from({ length: 2_100 }, () => idOf(this.int(4_000))),
        true,
      );
    else {
      const near = this.int(4_000);
      for (let i = 0; i < 36; i++)
        await this.write([idOf(near + this.int(20))], kind > 0.9 || this.random() < 0.2);
    }
  }

  async close(): Promise<void> {
    for (const store of this.stores.splice(0)) await store.close();
  }

  async look(store: Store<Rows>): Promise<void> {
    const from = this.int(4_000);
    const limit = this.random() < 0.3 ? undefined : 1 + this.int(90);
    const gte = this.random() < 0.8 ? idOf(from) : undefined;
    const lt = this.random() < 0.5 ? idOf(from + this.int(900)) : undefined;
    const range = { ...(gte && { gte }), ...(lt && { lt }) };
    const seqs = { gte: this.int(this.#seq), ...(this.random() < 0.5 && { lt: this.int(this.#seq) }) };
    const how = {
      ...(limit && { limit }),
      reverse: this.random() < 0.4,
      skip: this.random() < 0.3 ? this.int(50) : 0,
    };
    const texts = this.random() < 0.5;
    const queries = [
      { from: 'docs' as const, range, ...how, texts },
      { from: 'docs' as const, by: 'seq', range: seqs, ...how, texts },
      { from: 'docs' as const, count: range },
      { from: 'docs' as const, by: 'seq', count: seqs },
      { from: 'docs' as const, count: {} },
      { from: 'docs' as const, keys: Array.from({ length: 9 }, () => idOf(this.int(4_100))), texts: true },
    ];
    const shown = (answer: unknown): string =>
      JSON.stringify(answer, (key, value) =>
        key === 'body' && typeof value === 'object' ? undefined : value,
      );
    const [there, expected] = [await store.read(queries), await this.model.read(queries)];
    for (const [i, query] of queries.entries())
      if (shown(there[i]) !== shown(expected[i])) expect.fail(`another answer to ${JSON.stringify(query)}`);
  }
}

afterEach(() => {
  vi.restoreAllMocks();
  Object.assign(max, SMALL);
});

describe('fences in blocks', () => {
  it.each([
    [1, SMALL],
    [2, SMALL],
    [3, SMALL],
    // As in a database of 100,000 documents: only orders by something else have so many pages, and all have room.
    [4, { rows: 1_000, others: 4, loaded: 1_000 }],
    [5, { rows: 1_000, others: 4, loaded: 1_000 }],
  ])('are looked through as if they lay together (%i)', async (seed, bounds) => {
    Object.assign(max, bounds);
    const run = new Run(seed);
    await run.open();
    await run.write(Array.from({ length: 3_000 }, (_, i) => idOf(i)));
    let most = 0;
    for (let round = 0; round < 9; round++) {
      await run.close();
      const { fences, there, named, isCovered, pages } = await blocksOf(run.adapter);
      if (isCovered) expect(there).toEqual(named);
      expect(fences.length > 0).toBe(pages.length > 2 * max.others);
      most = Math.max(most, fences.length);
      await run.open();
      if (run.random() < 0.5) await run.open();
      for (let i = 0; i < 3; i++) for (const store of run.stores) await run.look(store);
      await run.change();
      if (run.random() < 0.3) await run.stores[0]!.compact();
      for (let i = 0; i < 3; i++) for (const store of run.stores) await run.look(store);
    }
    await run.close();
    expect(most).toBeGreaterThan(bounds === SMALL ? 60 : 30);
  });

  it('are written anew where a page changed, and stay where none did', async () => {
    const hooks: Hooks = {};
    const run = new Run(7, hooked(memory(), hooks));
    await run.open();
    await run.write(Array.from({ length: 4_000 }, (_, i) => idOf(i)));
    await run.close();
    const before = await blocksOf(run.adapter);
    expect(before.format).toBe(5);
    expect(before.fences.length).toBeGreaterThan(2 * Math.floor(4_000 / 8 / PER_BLOCK));
    await run.open();
    for (let i = 0; i < 40; i++) await run.write([idOf(2_000 + (i % 8))]);
    let put = 0;
    hooks.after = (step) => {
      if (step.kind === 'rewrite') put += step.change.put?.length ?? 0;
    };
    await run.close();
    hooks.after = undefined;
    const after = await blocksOf(run.adapter);
    expect(after.there).toEqual(after.named);
    const stayed = after.fences.filter((id) => before.fences.includes(id)).length;
    // The documents' pages with their texts, the last and the first of their seqs, and a block of fences for each.
    expect(before.fences.length - stayed).toBeLessThanOrEqual(4);
    expect(put).toBeLessThan(24);
  });

  it.each([
    [12, SMALL],
    [14, { rows: 1_000, others: 4, loaded: 1_000 }],
    [15, { rows: 1_000, others: 1_000, loaded: 1_000 }],
  ])('and pages that a rewrite left which never ended go with the first checkpoint of the next context (%i)', async (seed, bounds) => {
    Object.assign(max, bounds);
    const run = new Run(seed);
    await run.open();
    await run.write(Array.from({ length: 3_000 }, (_, i) => idOf(i)));
    await run.close();
    let covered = 0;
    for (let round = 0; round < 9; round++) {
      const journal = await run.adapter.open('db');
      const { epoch } = await journal.read();
      const put = [1, 2, 3].map((n) => ({ id: -(round * 10 + n), text: '[[],[]]' }));
      await journal.rewrite({ put }, { epoch, n: 0 });
      await journal.close();
      await run.open();
      await run.change();
      await run.close();
      const { there, named, isCovered } = await blocksOf(run.adapter);
      if (!isCovered) continue;
      covered++;
      expect(there).toEqual(named);
      const store = await run.open(false);
      for (let i = 0; i < 3; i++) await run.look(store);
      await run.close();
    }
    expect(covered).toBeGreaterThan(1);
  });

  it.each([
    ['near each other', 1, true],
    ['far from each other', 100, false],
  ])('are looked at, though none are in memory, to tell whether edits %s are worth a checkpoint', async (_, step, isCovered) => {
    const run = new Run(11);
    await run.open();
    await run.write(Array.from({ length: 4_000 }, (_, i) => idOf(i)));
    await run.close();
    await run.open(false);
    for (let i = 0; i < 36; i++) await run.write([idOf(100 + i * step)]);
    await run.close();
    expect(await blocksOf(run.adapter)).toMatchObject({ isCovered: false });
    await run.open();
    await run.close();
    expect(await blocksOf(run.adapter)).toMatchObject({ isCovered });
  });

  it('lie together again, in a manifest that older programs read, where a compaction left few pages', async () => {
    const run = new Run(8);
    const ids = Array.from({ length: 600 }, (_, i) => idOf(i));
    await run.open();
    await run.write(ids);
    await run.stores[0]!.compact();
    expect(await blocksOf(run.adapter)).toMatchObject({ format: 5, rows: 600 });
    await run.write(ids.slice(10), true);
    await run.stores[0]!.compact();
    expect(await blocksOf(run.adapter)).toMatchObject({ format: 4, rows: 10, fences: [] });
    await run.write(ids, true);
    await run.stores[0]!.compact();
    expect(await blocksOf(run.adapter)).toMatchObject({ format: 4, rows: 0, fences: [], pages: [] });
    await run.close();
  });

  it('are read anew by who had them when another context wrote them', async () => {
    const run = new Run(9);
    const [first, second] = [await run.open(), await run.open()];
    await run.write(Array.from({ length: 2_000 }, (_, i) => idOf(i)));
    for (let round = 0; round < 6; round++) {
      await first.compact();
      for (let i = 0; i < 4; i++) await run.look(second);
      await run.change();
      await second.compact();
      for (let i = 0; i < 4; i++) await run.look(first);
    }
    await run.close();
  });

  it.each([
    'before',
    'after',
  ] as const)('survive a crash %s any step of a checkpoint or a compaction', async (when) => {
    for (const how of ['close', 'compact'] as const) {
      let steps = Number.POSITIVE_INFINITY;
      for (let n = 1; n <= steps; n++) {
        const hooks: Hooks = {};
        const run = new Run(n, hooked(memory(), hooks));
        await run.open();
        await run.write(Array.from({ length: 300 }, (_, i) => idOf(i)));
        await run.stores[0]!.compact();
        await run.write([idOf(77)], true);
        for (let i = 0; i < 36; i++) await run.write([idOf(200 + i)]);
        let done = 0;
        hooks[when] = () => {
          if (++done >= n) throw ioError('the storage stopped');
        };
        await run.stores[0]![how]().catch(() => undefined);
        if (done < n) steps = 0;
        await run.close().catch(() => undefined);
        hooks[when] = undefined;
        await run.open();
        for (let i = 0; i < 4; i++) await run.look(run.stores[0]!);
        await run.stores[0]!.compact();
        for (let i = 0; i < 2; i++) await run.look(run.stores[0]!);
        await run.close();
        const { there, named, fences } = await blocksOf(run.adapter);
        expect(there).toEqual(named);
        expect(fences.length).toBeGreaterThan(20);
        if (steps === 0) expect(n).toBeGreaterThan(3);
      }
    }
  });

  it('that are gone from the storage are a corrupt of what needs them, and of nothing else', async () => {
    const run = new Run(10);
    await run.open();
    await run.write(Array.from({ length: 800 }, (_, i) => idOf(i)));
    await run.close();
    const { fences } = await blocksOf(run.adapter);
    const journal = await run.adapter.open('db');
    const { epoch, manifest } = await journal.read();
    await journal.rewrite({ drop: [fences[0]!] }, { epoch, n: manifest!.through });
    await journal.close();
    const store = await run.open();
    const get = (id: string) => store.read([{ from: 'docs', keys: [id] }]);
    await expect(get(idOf(0))).rejects.toMatchObject({ name: 'corrupt' });
    await expect(store.read([{ from: 'docs', range: {} }])).rejects.toMatchObject({ name: 'corrupt' });
    expect(await get(idOf(700))).toMatchObject([[{ id: idOf(700) }]]);
    expect(await store.read([{ from: 'docs', count: {} }])).toEqual([800]);
    for (let i = 0; i < 36; i++) await run.write([idOf(700 + (i % 8))]);
    await run.close();
    const after = await run.adapter.open('db');
    expect(await after.read()).toMatchObject({ epoch: epoch + 1, commits: [] });
    await after.close();
  });
});
