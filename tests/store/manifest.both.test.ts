/** Manifests: read as they were written, by lines as somebody looks, and those of older programs too. */
import { memory } from '@settledb/adapter-memory';
import type { Schema, Tables } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { BlockUse } from '../../packages/engine/src/block-use';
import { encodeManifest } from '../../packages/engine/src/encode';
import { layoutOf } from '../../packages/engine/src/layout';
import { decodeManifest, type Manifest } from '../../packages/engine/src/manifest';

const tables: Schema = {
  docs: { key: 'id', fields: ['id', 'seq', 'body'], orders: { seq: 'seq' }, texts: ['body'] },
  rows: { key: 'id', fields: ['id'] },
};
const layout = layoutOf(tables);

const manifest: Manifest = {
  tables: {
    docs: [
      {
        keys: ['a\n', 'ü', '\u{1f600}'],
        ids: [-1, -2, -3],
        counts: [256, 256, 7],
        runs: [0, [7, 'x', 9], 0],
      },
      { keys: [1], ids: [-4], counts: [519] },
    ],
    rows: [{ keys: [], ids: [], counts: [] }],
  },
  blocks: [
    [7, 1000, 10],
    [9, 500, 0],
  ],
  inline: [[-4, 'a page\nof lines']],
};

/** As formats 1 to 3 had it. */
const ofOneLine = (format: number): string => JSON.stringify({ format, ...manifest });

describe.each([
  ['of lines', encodeManifest(manifest)],
  ['of format 3', ofOneLine(3)],
  ['of format 1', ofOneLine(1)],
])('a manifest %s', (_, text) => {
  it('says what was put into it', () => {
    const { tables, blocks, inline } = decodeManifest(text, layout);
    const [byId, bySeq] = tables.docs!;
    expect([byId!.pages, byId!.rows, bySeq!.pages, bySeq!.rows]).toEqual([3, 519, 1, 519]);
    expect([byId!.read(), bySeq!.read()]).toEqual(manifest.tables.docs);
    expect(tables.rows!.map((order) => [order.pages, order.rows, order.read()])).toEqual([
      [0, 0, manifest.tables.rows![0]],
    ]);
    expect(blocks.characters).toBe(1500);
    expect(blocks.read()).toEqual(manifest.blocks);
    expect(inline).toEqual(manifest.inline);
  });

  it('is refused where it is of a newer program', () => {
    expect(() => decodeManifest(text.replace(/"format":\d/, '"format":6'), layout)).toThrow(/newer version/);
    expect(() => decodeManifest(text, layoutOf({ rows: tables.rows! }))).toThrow(/newer version/);
  });
});

it('is refused where it lacks a line, or has one too many; a line that is none, by who looks at it', () => {
  const text = encodeManifest(manifest);
  for (const cut of [
    text.slice(0, -1),
    text.slice(0, text.lastIndexOf('\n')),
    `${text}\n[]`,
    text.slice(1),
    '',
  ]) {
    expect(() => decodeManifest(cut, layout)).toThrow(/manifest/);
  }
  const spoilt = decodeManifest(text.replace('"ids":[-1', '"ids":{-1'), layout);
  expect(spoilt.tables.docs![1]!.read().ids).toEqual([-4]);
  for (let tries = 0; tries < 2; tries++)
    expect(() => spoilt.tables.docs![0]!.read()).toThrow(/cannot be read/);
});

it('counts of blocks what came while nobody looked, in its order', () => {
  const { blocks } = decodeManifest(encodeManifest(manifest), layout);
  const stored = new BlockUse(blocks);
  const plain = new BlockUse();
  for (const block of manifest.blocks) plain.add(...block);
  for (const use of [stored, plain]) {
    use.free(7, 90);
    use.add(11, 300);
    use.free(11, 20);
    use.free(1, 5);
    expect(use.characters).toBe(1800);
  }
  expect([...stored.sizes]).toEqual([...plain.sizes]);
  stored.free(9, 1);
  expect(stored.totals()).toEqual({ live: 1800 - 121, dead: 121 });
});

it('of an older program is read, and replaced by the next checkpoint', async () => {
  type Rows = Tables & { docs: { id: string; seq: number; body: string } };
  const world = memory();
  const open = async () => openLogStore<Rows>(await world.open('db'), tables, { checkpoint: false });
  const rowOf = (i: number) => ({ id: `k${String(i).padStart(4, '0')}`, seq: i, body: `"body ${i}"` });
  const store = await open();
  const put = Array.from({ length: 1_000 }, (_, i) => rowOf(i));
  await store.write([], () => ({ writes: [{ into: 'docs', put }], value: 0 }));
  await store.compact();
  const journal = await world.open('db');
  const { epoch, manifest: written, commits } = await journal.read();
  expect(commits).toEqual([]);
  const { tables: orders, blocks, inline } = decodeManifest(written!.text, layout);
  const older = {
    format: 3,
    tables: Object.fromEntries(
      Object.entries(orders).map(([name, of]) => [name, of.map((each) => each.read())]),
    ),
    blocks: blocks.read(),
    inline,
  };
  const text = JSON.stringify(older);
  await journal.rewrite({ manifest: { text, through: written!.through } }, { epoch, n: written!.through });
  await journal.close();
  const found = async () => {
    const [rows] = await store.read([{ from: 'docs', range: {}, texts: true }]);
    return rows;
  };
  expect(await found()).toEqual(put);
  await store.write([], () => ({ writes: [{ into: 'docs', put: [rowOf(1_000)] }], value: 0 }));
  await store.compact();
  expect(await found()).toEqual([...put, rowOf(1_000)]);
  await store.close();
  const again = await world.open('db');
  expect((await again.read()).manifest?.text.slice(0, 11)).toBe('{"format":4');
  await again.close();
});
