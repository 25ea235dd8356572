/** Texts read out of a block without the rest of it: right, and checked as the whole is. */
import { closeSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { type DatabaseTables, type Store, schema } from '@settledb/core';
import { type Journal, openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { crc32ByTable } from '../../packages/log/src/crc32';
import { Parts } from '../../packages/log/src/parts';
import { timeless } from '../support/turns';
import { act, home, logName, tail } from './support';

const base = home();
const LATIN = 'Wörter, wie sie sind. '.repeat(3_000);
const WIDE = '文書は改訂の木である。'.repeat(6_000);
const TEXTS = [LATIN, WIDE, 'short'];
const BLOCKS = TEXTS.map((_, i) => tail(1) + 1 + i);
/** Beginnings, ends, and across what is checked together. */
const PARTS = [
  [0, 1],
  [0, 300],
  [4_000, 200],
  [8_100, 9_000],
  [60_000, 5_000],
] as const;

async function filled(name: string): Promise<Journal> {
  const journal = await file().open(join(base, name));
  const segments = TEXTS.map((text, i) => ({ id: BLOCKS[i]!, text }));
  await act(journal, { append: { n: 1, head: 'head', tail: '', segments } });
  return journal;
}

async function expectParts(journal: Journal): Promise<void> {
  const asked = BLOCKS.flatMap((block, i) =>
    [...PARTS, [TEXTS[i]!.length - 3, 3] as const]
      .filter(([at, length]) => at + length <= TEXTS[i]!.length)
      .map(([at, length]) => ({ block, at, length })),
  );
  const whole = asked.map(({ block, at, length }) => TEXTS[BLOCKS.indexOf(block)]!.slice(at, at + length));
  expect(await journal.loadParts!(asked)).toEqual(whole);
}

/** Another byte in place of one of a log. */
function spoil(folder: string, at: number): void {
  const path = logName(folder);
  const fd = openSync(path, 'r+');
  writeSync(fd, Buffer.from([readFileSync(path)[at]! ^ 1]), 0, 1, at);
  closeSync(fd);
}

describe('a part of a block', () => {
  it('is the text that stands there: just written, opened anew, vacuumed', async () => {
    const journal = await filled('plain');
    await expectParts(journal);
    await expectParts(journal);
    await journal.vacuum?.({ force: true });
    await expectParts(journal);
    await journal.close();
    const again = await file().open(join(base, 'plain'));
    await expectParts(again);
    expect(await again.loadParts!([{ block: tail(9) + 1, at: 0, length: 1 }])).toEqual([undefined]);
    await again.close();
  });

  it('is checked: what rotted since is told, naming file and byte, by whoever reads it', async () => {
    const folder = join(base, 'rotten');
    await (await filled('rotten')).close();
    const journal = await file().open(folder);
    const at = readFileSync(logName(folder)).indexOf(Buffer.from(LATIN.slice(0, 20), 'latin1'));
    spoil(folder, at + 30_000);
    const part = async (from: number) => journal.loadParts!([{ block: BLOCKS[0]!, at: from, length: 10 }]);
    expect(await part(0)).toEqual([LATIN.slice(0, 10)]);
    await expect(part(29_995)).rejects.toMatchObject({
      name: 'corrupt',
      reason: expect.stringContaining(`${logName(folder)}: damaged at byte `),
    });
    await expect(journal.load([BLOCKS[0]!])).rejects.toMatchObject({ name: 'corrupt' });
    await journal.close();
  });
});

describe('when texts are read without the rest of their block', () => {
  const BYTES = 100_000;
  const taken = (parts: Parts, count: number, meanwhile = 0) =>
    Array.from({ length: count }, () => {
      for (let i = 0; i < meanwhile; i++) parts.take(100 + i, 1, BYTES, false);
      return parts.take(1, 1, BYTES, false);
    });

  it('is ten times, then the block is read, and it begins anew', () => {
    const parts = new Parts();
    expect(taken(parts, 12)).toEqual([...Array(10).fill(true), false, false]);
    parts.forget(1);
    expect(taken(parts, 11)).toEqual([...Array(10).fill(true), false]);
  });

  it('is counted for 100,000 blocks at most', () => {
    const parts = new Parts();
    const takes = (block: number) => parts.take(block, 1, BYTES, true);
    for (let block = 0; block < 100_000; block++) takes(block);
    expect([takes(99_999), takes(100_000), takes(99_999)]).toEqual([false, true, true]);
  });

  it('is always where so much else is read that the block would not stay in memory', () => {
    expect(taken(new Parts(), 40, 500)).toEqual(Array(40).fill(true));
    expect(taken(new Parts(), 40, 300)).toContain(false);
  });

  it('is never of a short block, of many texts at once, or a second time where all have room', () => {
    const parts = new Parts();
    expect(parts.take(1, 1, 1_000, false)).toBe(false);
    expect(parts.take(1, 9, BYTES, false)).toBe(false);
    expect([parts.take(1, 1, BYTES, true), parts.take(1, 1, BYTES, true)]).toEqual([true, false]);
  });
});

describe('what need not be waited for', () => {
  it('is every block but the longest, checked', async () => {
    const folder = join(base, 'now');
    const journal = await filled('now');
    const long = { id: tail(2) + 1, text: 'long '.repeat(60_000) };
    await act(journal, { append: { n: 2, head: 'head', tail: 'a tail', segments: [long] } });
    expect(journal.loadNow!([...BLOCKS, tail(2), tail(9)])).toEqual([...TEXTS, 'a tail', undefined]);
    expect(journal.loadNow!([BLOCKS[0]!, long.id])).toBeUndefined();
    expect(await journal.load([long.id])).toEqual([long.text]);
    spoil(folder, readFileSync(logName(folder)).indexOf(Buffer.from(LATIN.slice(0, 20), 'latin1')) + 50);
    expect(() => journal.loadNow!(BLOCKS)).toThrow(/damaged at byte/);
    await journal.close();
    expect(() => journal.loadNow!(BLOCKS)).toThrow(/closed/);
  });

  it('answers the store at once; of damage nothing, and whoever waits is told', async () => {
    timeless();
    const folder = join(base, 'store now');
    const rows = Array.from({ length: 2_000 }, (_, i) => ({
      id: `k${i}`,
      n: i,
      text: `text ${i} `.repeat(30),
    }));
    const tables = { docs: { key: 'id', fields: ['id', 'n', 'text'], texts: ['text'] } } as const;
    type Rows = { docs: { id: string; n: number; text: string } };
    const open = async () => openLogStore<Rows>(await file().open(folder), tables, { checkpoint: false });
    const store = await open();
    await store.write([], () => ({ writes: [{ into: 'docs', put: rows }], value: 0 }));
    await store.compact();
    await store.close();
    const again = await open();
    const one = (i: number) => [{ from: 'docs', keys: [`k${i}`], texts: true }] as const;
    expect(again.readNow(one(700))).toEqual([[rows[700]]]);
    expect(again.readNow([{ from: 'docs', range: {}, texts: true }])?.[0]).toHaveLength(2_000);
    await again.close();
    const writer = await open();
    const writes = (i: number) => [{ into: 'docs', put: [{ ...rows[i]!, text: 'new' }] }] as const;
    await writer.write([], () => ({ writes: writes(5), value: 0 })); // it waits for the lock's name to be on the disk
    expect(writer.writeNow!([], () => ({ writes: writes(1_500), value: 7 }))).toEqual({ value: 7 });
    await writer.close();
    const bytes = readFileSync(logName(folder));
    const damaged = await open();
    for (let at = bytes.indexOf('text 900 '); at > 0; at = bytes.indexOf('text 900 ', at + 1))
      spoil(folder, at);
    expect(damaged.readNow(one(900))).toBeUndefined();
    await expect(damaged.read(one(900))).rejects.toMatchObject({ name: 'corrupt' });
    await damaged.close();
  });
});

/** As a program left it that knew of no sums (before version 3), or of sums of large pieces (3). */
function makeOlder(folder: string, version: number): void {
  const log = readFileSync(logName(folder));
  log.writeUInt32LE(version, 8);
  log.writeUInt32LE(crc32ByTable(log.subarray(0, 40)), 40);
  writeFileSync(logName(folder), log);
}

describe('sums of pieces', () => {
  const segments = TEXTS.map((text, i) => ({ id: BLOCKS[i]!, text }));

  it.each([
    { version: 2, what: 'none' },
    { version: 3, what: 'of large pieces' },
  ])('stay as a log of version $version has them, $what, until it is written anew; parts are read of both', async ({
    version,
  }) => {
    const folder = join(base, `older ${version}`);
    await (await file().open(folder)).close();
    makeOlder(folder, version);
    let journal = await file().open(folder);
    await act(journal, { append: { n: 1, head: 'head', tail: '', segments } });
    const read = () =>
      BLOCKS.map((id) => journal.readIn!(id, (part) => part(4, 2) + part(0, 4) + part(9, 1)));
    const begun = (text: string) => text.slice(4, 6) + text.slice(0, 4) + text.slice(9, 10);
    expect(read()).toEqual([begun(LATIN), begun(WIDE), undefined]);
    await expectParts(journal);
    await journal.close();
    const bytes = readFileSync(logName(folder)).length;
    journal = await file().open(folder);
    await expectParts(journal);
    expect(await journal.load(BLOCKS)).toEqual(TEXTS);
    expect(readFileSync(logName(folder)).readUInt32LE(8)).toBe(version);
    await journal.vacuum?.({ force: true });
    expect(readFileSync(logName(folder)).readUInt32LE(8)).toBe(4);
    await expectParts(journal);
    expect(read()).toEqual([begun(LATIN), begun(WIDE), undefined]);
    expect(read()).toEqual([begun(LATIN), begun(WIDE), undefined]);
    expect(journal.readIn!(tail(9), () => 'there')).toBeUndefined();
    await journal.close();
    expect(readFileSync(logName(folder)).length).toBeGreaterThan(bytes);
    journal = await file().open(folder);
    await expectParts(journal);
    expect(await journal.load(BLOCKS)).toEqual(TEXTS);
    await journal.close();
  });

  it('of a log that has none are not made of a part of a long block', async () => {
    const folder = join(base, 'older and long');
    await (await file().open(folder)).close();
    makeOlder(folder, 2);
    // More than is read of a file at once.
    const text = `${'and so on '.repeat(110_000)}end`;
    let journal = await file().open(folder);
    await act(journal, { append: { n: 1, head: 'head', tail: '', segments: [{ id: BLOCKS[0]!, text }] } });
    await journal.close();
    // With the note the log would not be read.
    rmSync(join(folder, 'log.places'));
    journal = await file().open(folder);
    expect(journal.takesParts!(BLOCKS[0]!, 1, false)).toBe(false);
    expect(await journal.load([BLOCKS[0]!])).toEqual([text]);
    await journal.close();
  });

  it('are checked, and spoil nothing but the block they belong to', async () => {
    const folder = join(base, 'spoilt');
    await (await filled('spoilt')).close();
    const bytes = readFileSync(logName(folder));
    const wideAt = bytes.indexOf(Buffer.from(WIDE.slice(0, 20), 'utf16le'));
    const textEnd = bytes.indexOf(Buffer.from(LATIN, 'latin1')) + LATIN.length;
    expect(wideAt - textEnd).toBeGreaterThan(60); // the sums, and the next frame's beginning
    const [latin, , short] = BLOCKS as [number, number, number];
    const part = { block: latin, at: 40_000, length: 10 };
    for (let at = textEnd; at < textEnd + 60; at += 7) {
      const journal = await file().open(folder);
      spoil(folder, at);
      const named = { name: 'corrupt', reason: expect.stringContaining(': damaged at byte ') };
      await expect(async () => journal.loadParts!([part])).rejects.toMatchObject(named);
      expect(() => journal.readIn!(latin, (text) => text(40_000, 10))).toThrow(/damaged at byte/);
      await expect(journal.load([latin])).rejects.toMatchObject(named);
      expect(await journal.load([short])).toEqual(['short']);
      await journal.close();
      spoil(folder, at);
    }
  });

  it('say where the text ends, whatever is asked for beyond it', async () => {
    const journal = await filled('beyond');
    const asked = BLOCKS.slice(0, 2).map((block) => ({ block, at: 100, length: 1e6 }));
    expect(await journal.loadParts!(asked)).toEqual([LATIN.slice(100), WIDE.slice(100)]);
    await journal.close();
  });

  it.each([16_339, 16_340, 16_341, 16_384, 20_480, 20_489])('fit a text of %d characters', async (length) => {
    const folder = join(base, `length ${length}`);
    const text = 'abcdefghij'.repeat(3_000).slice(0, length);
    let journal = await file().open(folder);
    await act(journal, { append: { n: 1, head: '', tail: '', segments: [{ id: tail(1) + 1, text }] } });
    const ends = { block: tail(1) + 1, at: length - 5, length: 5 };
    for (let again = 0; again < 2; again++) {
      expect(await journal.loadParts!([ends])).toEqual([text.slice(-5)]);
      expect(await journal.load([tail(1) + 1])).toEqual([text]);
      await journal.close();
      journal = await file().open(folder);
    }
    await journal.close();
  });
});

/** Which texts a store loads by themselves, and which blocks. */
async function watched(folder: string, textCacheLength: number) {
  const journal = await file().open(folder);
  const loaded = { parts: 0, blocks: 0 };
  const proxy = new Proxy(journal, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        if (name === 'loadParts') loaded.parts += (given[0] as unknown[]).length;
        if (name === 'load' || name === 'loadNow')
          loaded.blocks += (given[0] as number[]).filter((id) => id > 0).length;
        return value.apply(target, given);
      };
    },
  });
  const store: Store<DatabaseTables> = await openLogStore(proxy, schema, { textCacheLength });
  return { store, loaded };
}

const bodyOf = (i: number): string => JSON.stringify({ i, text: `${i} `.repeat(200) });
const rows = Array.from({ length: 2_000 }, (_, i) => ({
  id: `doc-${String(i).padStart(5, '0')}`,
  seq: i + 1,
  rev: '1-a',
  body: bodyOf(i),
}));

describe('a store', () => {
  const folder = join(base, 'store');
  const read = async (store: Store<DatabaseTables>, i: number) => {
    const [[row]] = await store.read([{ from: 'docs', keys: [rows[i]!.id], texts: ['body'] }]);
    expect(row).toEqual(rows[i]);
  };

  it('reads single texts without their blocks, and blocks of which it needs more', async () => {
    const first = await watched(folder, 32e6);
    await first.store.write([], () => ({ writes: [{ into: 'docs', put: rows }], value: undefined }));
    await first.store.close();
    const { store, loaded } = await watched(folder, 32e6);
    await read(store, 7);
    expect(loaded).toEqual({ parts: 1, blocks: 0 });
    await read(store, 8); // all would have room: now the block
    await read(store, 9);
    expect(loaded).toEqual({ parts: 1, blocks: 1 });
    const [all] = await store.read([{ from: 'docs', range: {}, texts: ['body'] }]);
    expect(all).toEqual(rows);
    expect(loaded.parts).toBeLessThanOrEqual(9);
    await store.close();
  });

  it('reads a block that has no room in memory when many texts of it were read', async () => {
    const { store, loaded } = await watched(folder, 150_000);
    for (let i = 0; i < 10; i++) await read(store, i * 2);
    expect(loaded).toEqual({ parts: 10, blocks: 0 });
    await read(store, 21);
    await read(store, 22);
    expect(loaded).toEqual({ parts: 10, blocks: 1 });
    await store.close();
  });
});
