/** What is read ahead of what is asked for: documents while they have room in memory, other orders while they leave room. */
import { expect, it } from 'vitest';
import { Ahead } from '../../packages/engine/src/ahead';
import { BlockCache } from '../../packages/engine/src/block-cache';
import { BlockUse } from '../../packages/engine/src/block-use';
import { Directory, orderOf } from '../../packages/engine/src/directory';
import type { Fences } from '../../packages/engine/src/fences';
import { layoutOf } from '../../packages/engine/src/layout';
import { PAGES_LOADED_MAX } from '../../packages/engine/src/page';
import { PAGE_GROUPS, StoredPage } from '../../packages/engine/src/stored-page';

const layout = layoutOf({
  docs: { key: 'id', fields: ['id', 'seq', 'body'], orders: { seq: 'seq' }, texts: ['body'] },
  rows: { key: 'id', fields: ['id'] },
});
/** Whole: it has one group, and that is there. */
const page = new StoredPage([], [{ keys: ['a'], columns: [['a']] }], 0);

/** Asks often enough for eight at a time, for what lies by a page of an order that has so many. */
function aheadOf(name: string, order: number, count: number, held = 0): number {
  const pages = new BlockCache<StoredPage>(PAGES_LOADED_MAX * PAGE_GROUPS, ({ weight }) => weight);
  for (let i = 0; i < held; i++) pages.set(-10_000 - i, page);
  const directory = new Directory(layout, pages);
  const ids = Array.from({ length: count }, (_, i) => -1 - i);
  const fences: Fences = { keys: ids.map((_, i) => i), ids, counts: ids.map(() => 256) };
  orderOf(directory.table(name), order).fences = fences;
  const memory = { directory, pages, texts: new BlockCache<string>(1e6, () => 1), use: new BlockUse() };
  const ahead = new Ahead();
  const found = Array.from({ length: 8 }, () => ahead.of(memory, [-5], new Map()).length);
  expect(found.slice(0, 2)).toEqual([0, 0]); // who was merely opened for a document or two reads no more
  return found.at(-1)!;
}

it('reads up to 768 pages of documents ahead, and of other orders and tables 256', () => {
  expect(aheadOf('docs', 0, 768)).toBe(8);
  expect(aheadOf('docs', 0, 769)).toBe(0);
  for (const [name, order] of [
    ['docs', 1],
    ['rows', 0],
  ] as const) {
    expect(aheadOf(name, order, 256)).toBe(8);
    expect(aheadOf(name, order, 257)).toBe(0);
  }
});

it('puts nothing out of memory for what nobody asked for', () => {
  expect(aheadOf('docs', 0, 400, PAGES_LOADED_MAX - 8)).toBe(8);
  expect(aheadOf('docs', 0, 400, PAGES_LOADED_MAX - 7)).toBe(0);
});
