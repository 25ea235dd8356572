/** What a manifest says of its pages, and a page without its damaged rows. */
import { schema } from '@settledb/core';
import { listed, mended, namedPages } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { encodeManifest, encodeOrderPage, encodeRowPage } from '../../packages/engine/src/encode';
import { layoutOf } from '../../packages/engine/src/layout';
import { decoderFor } from '../../packages/engine/src/page';

const docs = layoutOf(schema).get('docs')!;
const pageOf = { keys: ['a', 'g', 'n'], ids: [-1, -2, -3], counts: [256, 256, 188], runs: [0, 0, 0] };
const noRows = '[[],[],[],[],[],[],[]]';

const journal = (text: string, blocks: Record<number, string> = {}) => ({
  read: async () => ({ epoch: 1, manifest: { text, through: 1 }, commits: [] }),
  load: async (ids: readonly number[]) => ids.map((id) => blocks[id]),
});

describe('namedPages', () => {
  it('has the pages of every order, with their bounds, rows, and what would stand for each', async () => {
    const order = { keys: [1, 300], ids: [-4, -5], counts: [256, 444] };
    const text = encodeManifest({ tables: { docs: [pageOf, order] } as never, blocks: [] });
    expect([...(await namedPages(journal(text), schema))]).toEqual([
      [-1, { table: 'docs', order: 0, first: undefined, next: 'g', rows: 256, blank: noRows }],
      [-2, { table: 'docs', order: 0, first: 'g', next: 'n', rows: 256, blank: noRows }],
      [-3, { table: 'docs', order: 0, first: 'n', next: undefined, rows: 188, blank: noRows }],
      [-4, { table: 'docs', order: 1, first: undefined, next: 300, rows: 256, blank: '[[],[]]' }],
      [-5, { table: 'docs', order: 1, first: 300, next: undefined, rows: 444, blank: '[[],[]]' }],
    ]);
  });

  it('has those that blocks of fences list, and such a block itself, which may be gone', async () => {
    const blocks = { keys: ['a', 'q'], ids: [-10, -11], counts: [700, 90], pages: [3, 1] };
    const text = encodeManifest({ tables: { docs: [blocks] } as never, blocks: [] });
    const found = await namedPages(journal(text, { [-10]: JSON.stringify(pageOf) }), schema);
    const fences = '{"keys":[],"ids":[],"counts":[]}';
    expect([...found]).toEqual([
      [-10, { table: 'docs', order: 0, first: undefined, next: 'q', rows: 700, blank: fences }],
      [-11, { table: 'docs', order: 0, first: 'q', next: undefined, rows: 90, blank: fences }],
      [-1, expect.objectContaining({ first: undefined, next: 'g', rows: 256 })],
      [-2, expect.objectContaining({ first: 'g', next: 'n', rows: 256 })],
      [-3, expect.objectContaining({ first: 'n', next: 'q', rows: 188 })],
    ]);
  });

  it('leaves out pages that the manifest has in itself, and has none without a manifest', async () => {
    const text = encodeManifest({ tables: { docs: [pageOf] } as never, blocks: [], inline: [[-2, noRows]] });
    expect([...(await namedPages(journal(text), schema)).keys()]).toEqual([-1, -3]);
    const none = { ...journal(''), read: async () => ({ epoch: 0, commits: [] }) };
    expect((await namedPages(none, schema)).size).toBe(0);
  });
});

describe('listed', () => {
  const page = (from: number): string => `[[${from},${from + 1}],["id ${from}","id ${from + 1}"]]`;
  const all = async (text: string, blocks: Record<number, string>): Promise<unknown[]> => {
    const found: unknown[] = [];
    for await (const entry of listed(journal(text, blocks), schema, 'docs', 1)) found.push(entry);
    return found;
  };

  it('reads the pages of an order that there are, those in the manifest too', async () => {
    const order = { keys: [1, 3, 5], ids: [-4, -5, -6], counts: [2, 2, 2] };
    const text = encodeManifest({
      tables: { docs: [pageOf, order] } as never,
      blocks: [],
      inline: [[-6, page(5)]],
    });
    expect(await all(text, { [-4]: page(1) })).toEqual([
      [1, 'id 1'],
      [2, 'id 2'],
      [5, 'id 5'],
      [6, 'id 6'],
    ]);
  });

  it('goes on behind a block of fences that is gone, and has nothing of what no manifest names', async () => {
    const blocks = { keys: [1, 300], ids: [-10, -11], counts: [299, 2], pages: [2, 1] };
    const text = encodeManifest({ tables: { docs: [pageOf, blocks] } as never, blocks: [] });
    const fences = JSON.stringify({ keys: [300], ids: [-12], counts: [2] });
    expect(await all(text, { [-11]: fences, [-12]: page(300) })).toEqual([
      [300, 'id 300'],
      [301, 'id 301'],
    ]);
    expect(await all(encodeManifest({ tables: { docs: [pageOf] } as never, blocks: [] }), {})).toEqual([]);
  });
});

describe('mended', () => {
  const ids = Array.from({ length: 100 }, (_, i) => `id ${String(i).padStart(3, '0')}`);
  const columns = [ids, ids.map((_, i) => i + 1), ids.map(() => '1-a'), null, null, null, null];
  const page = encodeRowPage({ keys: ids, columns }, docs);
  const named = { table: 'docs', order: 0, first: 'id 0', next: 'j', rows: 100, blank: noRows };
  const damaged = (text: string, at: number): string => `${text.slice(0, at)}\0\0${text.slice(at + 2)}`;
  const all = { text: noRows, lost: [{ first: 'id 0', next: 'j', rows: 100 }] };

  it('keeps the groups of rows that are sound, and names what was between the others', () => {
    const lines = page.split('\n');
    const bounds = [
      { first: 'id 0', next: 'id 032', rows: 32 },
      { first: 'id 032', next: 'id 064', rows: 32 },
      { first: 'id 064', next: 'id 096', rows: 32 },
      { first: 'id 096', next: 'j', rows: 4 },
    ];
    for (const [group, lost] of bounds.entries()) {
      const at = lines.slice(0, group + 1).join('\n').length + 5;
      const mend = mended(named, damaged(page, at));
      expect(mend.lost).toEqual([lost]);
      const left = decoderFor(docs, 0)(mend.text).within();
      expect(left.flatMap(({ keys }) => keys)).toEqual(ids.filter((_, i) => Math.floor(i / 32) !== group));
    }
  });

  it('loses both groups when the end of a line is damaged', () => {
    const at = page.indexOf('\n', page.indexOf('\n') + 1);
    expect(mended(named, damaged(page, at - 1)).lost).toHaveLength(1);
    expect(mended(named, damaged(page, at)).lost).toHaveLength(1);
    expect(mended(named, `${page.slice(0, at - 1)}\0\0\0${page.slice(at + 2)}`).lost).toHaveLength(2);
  });

  it('keeps nothing of a page whose first line is damaged, or that has none, or of which nothing is left', () => {
    expect(mended(named, damaged(page, 3))).toEqual(all);
    expect(mended(named, damaged(JSON.stringify(columns), 9))).toEqual(all);
    expect(mended(named, '')).toEqual(all);
    // Of the second format, which does not say where its groups are.
    const [, ...groups] = page.split('\n');
    expect(
      mended(named, damaged([JSON.stringify(['id 032', 'id 064', 'id 096']), ...groups].join('\n'), 99)),
    ).toEqual(all);
  });

  it('mends pages of other orders as well', () => {
    const seqs = ids.map((_, i) => i + 1);
    const order = encodeOrderPage({ keys: seqs, primary: ids });
    const mend = mended({ ...named, order: 1, blank: '[[],[]]' }, damaged(order, order.length - 5));
    expect(mend.lost).toMatchObject([{ first: 97, next: 'j', rows: 4 }]);
    const left = decoderFor(docs, 1)(mend.text).within();
    expect(left.flatMap(({ keys }) => keys)).toEqual(seqs.slice(0, 96));
  });
});
