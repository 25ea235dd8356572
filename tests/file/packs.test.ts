/**
 * Packs, on a disk in memory: little contents that share a file. Whatever becomes of the file, a place means the bytes that were put
 * there or none, and one that is damaged harms no other.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { type DatabaseTables, isDatabaseError, LocalDatabase, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { crc32ByTable } from '../../packages/log/src/crc32';
import { SLOTS } from '../../packages/log/src/pack';
import { isPacked, PACKED_BYTES, Packs } from '../../packages/log/src/packs';
import { bytesOf, noise, same } from '../conformance/database/attachment-bytes';
import { mulberry32 } from '../support/slow-adapter';
import { Disk, failure } from './disk';
import { home } from './support';

const FOLDER = '/blobs';
const PACK = join(FOLDER, 'pack.0');
/** Bytes that fill a pack, when they are only promised. */
const MUCH = 8 * 1024 * 1024;
const TABLE_BYTES = 8 + SLOTS * 24;

const newPacks = (disk: Disk): Packs => new Packs(disk, FOLDER, false);

async function putOne(packs: Packs, bytes: Uint8Array, promised = bytes.length): Promise<string> {
  const place = packs.reserve(promised);
  await packs.put([{ place, bytes }]);
  return place;
}

/** At once: the first of a pack makes it. */
const putMany = (count: number, put: (i: number) => Promise<string>): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => put(i)));

/** A disk with one file. */
function diskOf(bytes: Uint8Array): Disk {
  const disk = new Disk();
  disk.writeSync(disk.open(PACK, 'w+'), bytes, 0, bytes.length, 0);
  return disk;
}

function contentOf(disk: Disk): Buffer {
  const fd = disk.open(PACK, 'r');
  const bytes = Buffer.alloc(disk.stat(fd).size);
  disk.readSync(fd, bytes, 0, bytes.length, 0);
  return bytes;
}

/** The bytes there, nothing, or that they are damaged. */
function look(packs: Packs, place: string): Uint8Array | undefined | 'corrupt' {
  try {
    return packs.get(place);
  } catch (error) {
    if (isDatabaseError(error) && error.name === 'corrupt') return 'corrupt';
    throw error;
  }
}

const isWhole = (found: ReturnType<typeof look>, bytes: Uint8Array): boolean =>
  found instanceof Uint8Array && same(found, bytes);

describe('a pack', () => {
  const contents = Array.from({ length: 5 }, (_, i) => noise(20 + i * 7, i));

  async function filled(): Promise<{ bytes: Buffer; places: string[]; ends: number[] }> {
    const disk = new Disk();
    const packs = newPacks(disk);
    const places = contents.map(({ length }) => packs.reserve(length));
    await packs.put(places.map((place, i) => ({ place, bytes: contents[i]! })));
    let end = TABLE_BYTES;
    const ends = contents.map(({ length }) => (end += length));
    const bytes = contentOf(disk);
    expect(bytes.length).toBe(end);
    return { bytes, places, ends };
  }

  it('cut at any byte has what lay before, none of the rest, and takes more', async () => {
    const { bytes, places, ends } = await filled();
    for (let cut = 0; cut <= bytes.length; cut++) {
      if (cut > 8 + contents.length * 24 && cut < TABLE_BYTES - 2) continue;
      const packs = newPacks(diskOf(bytes.subarray(0, cut)));
      const more = await putOne(packs, noise(50, 9));
      for (const [i, place] of places.entries()) {
        const found = look(packs, place);
        const what = `${place}, cut at ${cut}`;
        if (ends[i]! <= cut) expect(isWhole(found, contents[i]!), what).toBe(true);
        else expect([undefined, 'corrupt'], what).toContain(found);
      }
      expect(isWhole(look(packs, more), noise(50, 9)), `cut at ${cut}`).toBe(true);
    }
  });

  it('with any byte damaged lacks that one content, and never gives other bytes', async () => {
    const { bytes, places } = await filled();
    const random = mulberry32(3);
    for (let at = 0; at < bytes.length; at++) {
      if (at > 8 + (contents.length + 1) * 24 && at < TABLE_BYTES - 2) continue;
      const damaged = Buffer.from(bytes);
      damaged[at]! ^= 1 << Math.floor(random() * 8);
      const disk = diskOf(damaged);
      const packs = newPacks(disk);
      const lost = places.filter((place, i) => !isWhole(look(packs, place), contents[i]!));
      expect(lost.length, `byte ${at}`).toBe(at >= 8 && at < 8 + 120 ? 1 : at >= TABLE_BYTES ? 1 : 0);
      for (const place of lost) expect(['corrupt', undefined]).toContain(look(packs, place));
      // Moved it is as damaged as before.
      if (lost.length === 0 || at % 5 > 0) continue;
      await putOne(packs, noise(300, 8), MUCH);
      await putOne(packs, noise(300, 8), MUCH);
      await packs.drop(places.slice(0, 4).filter((place) => !lost.includes(place)));
      for (const place of lost) expect(['corrupt', undefined]).toContain(look(packs, place));
      if (!lost.includes(places[4]!)) expect(isWhole(look(packs, places[4]!), contents[4]!)).toBe(true);
    }
  });

  it('takes as many as it has slots, or as many bytes, and then comes another', () => {
    const packs = newPacks(new Disk());
    const numbers = Array.from({ length: SLOTS + 1 }, () => Number(packs.reserve(10).split('.')[0]));
    expect(new Set(numbers.slice(0, SLOTS))).toEqual(new Set([0]));
    expect(numbers.at(-1)).toBe(1);
    expect(packs.reserve(MUCH)).toMatch(/^2\.0\./);
    expect(packs.reserve(1)).toMatch(/^3\.0\./);
  });

  it('goes on where another opening left it, whose places are never given again', async () => {
    const disk = new Disk();
    const first = newPacks(disk);
    const one = await putOne(first, noise(30, 1));
    const never = first.reserve(30);
    const second = newPacks(disk);
    const two = await putOne(second, noise(30, 2));
    expect(two).toMatch(/^0\.1\./);
    expect(never.split('.').slice(0, 2)).toEqual(two.split('.').slice(0, 2));
    expect(second.get(never)).toBeUndefined();
    await second.drop([never]);
    expect(isWhole(look(second, one), noise(30, 1))).toBe(true);
    expect(isWhole(look(second, two), noise(30, 2))).toBe(true);
    expect(second.get(one.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')))).toBeUndefined();
  });

  it('may be one of very many', async () => {
    const packs = newPacks(new Disk());
    const places = await putMany(100, (i) => putOne(packs, noise(10, i), MUCH));
    await packs.sync();
    for (const [i, place] of places.entries()) expect(isWhole(look(packs, place), noise(10, i))).toBe(true);
    expect(new Set(await packs.places())).toEqual(new Set(places));
  });

  it.each([
    'open',
    'openFolder',
  ] as const)('is brought to the disk later where no more files may be open: %s', async (call) => {
    const disk = new Disk();
    const packs = newPacks(disk);
    const places = await putMany(40, (i) => putOne(packs, noise(10, i), MUCH));
    disk.fail = (each) => {
      if (each === call) throw failure('EMFILE');
      return undefined;
    };
    await expect(packs.sync()).rejects.toThrow('EMFILE');
    disk.fail = () => undefined;
    await packs.sync();
    disk.powerLoss(() => 0.99);
    const after = newPacks(disk);
    for (const [i, place] of places.entries()) expect(isWhole(look(after, place), noise(10, i))).toBe(true);
  });

  it('that failed to take contents has none of them, and takes them when they come again', async () => {
    for (const call of ['writeSync', 'open', 'truncate'] as const) {
      for (let nth = 1; nth <= 3; nth++) {
        const disk = new Disk();
        const packs = newPacks(disk);
        const before = nth === 3 ? await putOne(packs, noise(100)) : undefined;
        const place = packs.reserve(300_000);
        const more = packs.reserve(10);
        const chunks = [
          { place, bytes: noise(300_000, 1) },
          { place: more, bytes: noise(10, 2) },
        ];
        let count = 0;
        disk.fail = (each) => {
          if (each === 'writeSync' && ++count === nth) throw failure('ENOSPC');
          if (each === call && call !== 'writeSync') throw failure('EIO');
          return undefined;
        };
        await expect(packs.put(chunks)).rejects.toThrow();
        disk.fail = () => undefined;
        expect(look(packs, place)).toBeUndefined();
        await packs.put(chunks);
        for (const { place: at, bytes } of chunks) expect(isWhole(look(packs, at), bytes)).toBe(true);
        if (before !== undefined) expect(isWhole(look(packs, before), noise(100))).toBe(true);
      }
    }
  });
});

describe('what is gone', () => {
  it('gives its room back: the pack is written anew, and in the end removed', async () => {
    const disk = new Disk();
    const packs = newPacks(disk);
    const places = await putMany(40, (i) => putOne(packs, noise(1000, i)));
    await packs.drop(places.slice(0, 30));
    expect(contentOf(disk).length).toBeGreaterThan(40_000); // The last pack is left as it is.
    const last = await putOne(packs, noise(10, 99), MUCH);
    await packs.drop(places.slice(30, 31));
    expect(contentOf(disk).length).toBe(TABLE_BYTES + 9000);
    for (let i = 31; i < 40; i++) expect(isWhole(look(packs, places[i]!), noise(1000, i))).toBe(true);
    expect(await packs.places()).toEqual([...places.slice(31), last]);
    await packs.drop(places.slice(31));
    expect(disk.list(FOLDER)).toEqual(['pack.1']);
    await packs.drop([last]);
    await packs.close(true);
    expect(disk.list(FOLDER)).toEqual([]);
  });

  it('is found by a later opening, with the file that a killed one left', async () => {
    const disk = new Disk();
    const first = newPacks(disk);
    const places = await putMany(10, (i) => putOne(first, noise(1000, i)));
    await first.drop(places.slice(0, 9));
    disk.open(`${PACK}.tmp`, 'w+');
    // Of a pack that is not written anew again, which would take its place.
    disk.open(join(FOLDER, 'pack.7.tmp'), 'w+');
    const second = newPacks(disk);
    second.reserve(MUCH);
    expect(await second.places()).toEqual([places[9]]);
    expect(disk.list(FOLDER)).toEqual(['pack.0']);
    expect(contentOf(disk).length).toBe(TABLE_BYTES + 1000);
    expect(isWhole(look(second, places[9]!), noise(1000, 9))).toBe(true);
  });

  it('gives room back though another pack cannot be read', async () => {
    const disk = new Disk();
    const packs = newPacks(disk);
    const [unread, other] = [await putOne(packs, noise(10, 1), MUCH), await putOne(packs, noise(10, 2))];
    const again = newPacks(disk);
    const open = disk.open.bind(disk);
    disk.open = (path, flag) => {
      if (path === PACK) throw failure('EIO');
      return open(path, flag);
    };
    expect(await again.places()).toEqual([other]);
    expect(() => again.get(unread)).toThrow(/pack\.0.*EIO/);
  });

  it('takes nothing with it, wherever writing anew is cut short or the power goes', async () => {
    for (let nth = 1; nth <= 24; nth++) {
      for (const loses of [false, true]) {
        const disk = new Disk();
        const packs = newPacks(disk);
        const places = await putMany(10, (i) => putOne(packs, noise(1000, i)));
        await putOne(packs, noise(10, 99), MUCH);
        await packs.sync();
        await disk.syncFolder(FOLDER);
        let count = 0;
        disk.fail = () => {
          if (++count >= nth) throw failure('EIO');
          return undefined;
        };
        await packs.drop(places.slice(0, 8));
        disk.fail = () => undefined;
        if (loses) disk.powerLoss(mulberry32(nth));
        else disk.kill();
        const again = newPacks(disk);
        for (const i of [8, 9]) expect(isWhole(look(again, places[i]!), noise(1000, i)), `${nth}`).toBe(true);
        const left = await again.places();
        expect(left).toContain(places[8]);
        await again.drop(left.filter((place) => !places.slice(8).includes(place)));
        expect((await again.places()).sort()).toEqual(places.slice(8).sort());
        for (const i of [8, 9]) expect(isWhole(look(again, places[i]!), noise(1000, i)), `${nth}`).toBe(true);
      }
    }
  });

  it.each([
    'while',
    'after',
  ])('takes nothing of what was promised a place before, and put %s the pack is written anew', async (when) => {
    const disk = new Disk();
    const packs = newPacks(disk);
    const promised = packs.reserve(50);
    const kept = await putOne(packs, noise(50, 1));
    const gone = await putOne(packs, noise(300, 2));
    await putOne(packs, noise(50, 3), MUCH);
    await packs.sync();
    const late = [{ place: promised, bytes: noise(50, 4) }];
    const sync = disk.sync.bind(disk);
    disk.sync = async (fd) => {
      disk.sync = sync;
      if (when === 'while') await packs.put(late);
      await sync(fd);
    };
    await packs.drop([gone]);
    if (when === 'after') await packs.put(late);
    await packs.sync();
    disk.powerLoss(() => 0.99);
    const after = newPacks(disk);
    expect(isWhole(look(after, kept), noise(50, 1))).toBe(true);
    expect(isWhole(look(after, promised), noise(50, 4))).toBe(true);
  });

  it('goes beside reads and new contents', async () => {
    const disk = new Disk();
    const packs = newPacks(disk);
    const random = mulberry32(5);
    const live = new Map<string, number>();
    const drops: Promise<void>[] = [];
    for (let step = 0; step < 400; step++) {
      if (random() < 0.6) live.set(await putOne(packs, noise(200, step), random() < 0.05 ? MUCH : 200), step);
      else {
        const gone = [...live.keys()].filter(() => random() < 0.3);
        for (const place of gone) live.delete(place);
        drops.push(packs.drop(gone));
      }
      if (random() < 0.2) drops.push(Promise.resolve(packs.sync()));
      const [place, seed] = [...live][Math.floor(random() * live.size)] ?? [];
      if (place !== undefined) expect(isWhole(look(packs, place), noise(200, seed!))).toBe(true);
      if (random() < 0.1) await drops.shift();
    }
    await Promise.all(drops);
    expect(new Set(await packs.places())).toEqual(new Set(live.keys()));
    await packs.close(true);
    const again = newPacks(disk);
    for (const [place, seed] of live) expect(isWhole(look(again, place), noise(200, seed))).toBe(true);
  });
});

describe('a database with packs', () => {
  const base = home();
  const openAt = async (folder: string, files?: Disk): Promise<LocalDatabase> => {
    const journal = await file(files && { files }).open(folder);
    const store = await openLogStore<DatabaseTables>(journal, schema, { cachedBytes: 0 });
    return LocalDatabase.open(store, { name: folder, adapter: 'file', durability: 'strict' });
  };
  const blobsIn = (folder: string): string[] => readdirSync(join(folder, 'log.blobs')).sort();
  const placesOf = async (db: LocalDatabase): Promise<string[]> =>
    (await db.store.read([{ from: 'blobs', range: {} }]))[0].map(({ place }) => place);

  it('has little contents in packs, more than that in files, and each once', async () => {
    const folder = join(base, 'sizes');
    const db = await openAt(folder);
    await db.putAttachment('a', 'f', noise(PACKED_BYTES), 'x/y');
    await db.putAttachment('b', 'f', noise(PACKED_BYTES), 'x/y');
    await db.putAttachment('c', 'f', noise(PACKED_BYTES + 1), 'x/y');
    expect((await placesOf(db)).filter(isPacked)).toHaveLength(1);
    expect(blobsIn(folder)).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), 'pack.0']);
    // More than is held back for a commit.
    const docs = Array.from({ length: 150 }, (_, i) => ({
      _id: `bulk ${i}`,
      _attachments: { f: { content_type: 'x/y', data: noise(PACKED_BYTES, i + 1) } },
    }));
    for (const row of await db.bulkDocs(docs)) expect(row).toHaveProperty('ok', true);
    expect(blobsIn(folder)).toHaveLength(3);
    await db.close();
    const again = await openAt(folder);
    for (const i of [0, 77, 149])
      expect(
        same(await bytesOf(await again.getAttachment(`bulk ${i}`, 'f')), noise(PACKED_BYTES, i + 1)),
      ).toBe(true);
    await again.close();
    await file().destroy(folder);
    expect(() => readdirSync(folder)).toThrow();
  });

  it('of the version before keeps to files until its log is written anew', async () => {
    const folder = join(base, 'older');
    await (await openAt(folder)).close();
    const log = readFileSync(join(folder, 'log.1'));
    log.writeUInt32LE(1, 8);
    log.writeUInt32LE(crc32ByTable(log.subarray(0, 40)), 40);
    writeFileSync(join(folder, 'log.1'), log);
    let db = await openAt(folder);
    await db.putAttachment('a', 'f', noise(100, 1), 'x/y');
    expect((await placesOf(db)).map(isPacked)).toEqual([false]);
    await db.close();
    expect(readFileSync(join(folder, 'log.1')).readUInt32LE(8)).toBe(1);
    db = await openAt(folder);
    await db.compact();
    await db.putAttachment('b', 'f', noise(100, 2), 'x/y');
    expect((await placesOf(db)).filter(isPacked)).toHaveLength(1);
    await db.close();
    expect(readFileSync(join(folder, 'log.2')).readUInt32LE(8)).toBe(4);
    db = await openAt(folder);
    expect(same(await bytesOf(await db.getAttachment('a', 'f')), noise(100, 1))).toBe(true);
    expect(same(await bytesOf(await db.getAttachment('b', 'f')), noise(100, 2))).toBe(true);
    await db.close();
  });

  it('takes no more writes when a pack could not be synced: what was put before may be lost', async () => {
    const disk = new Disk();
    const db = await openAt('/settledb-no-such-folder/unsynced', disk);
    await db.putAttachment('a', 'f', noise(100, 1), 'x/y');
    let fails = true;
    disk.fail = (call) => {
      if (call === 'sync' && fails) {
        fails = false;
        throw failure('EIO');
      }
      return undefined;
    };
    await expect(db.putAttachment('b', 'f', noise(100, 2), 'x/y')).rejects.toMatchObject({ name: 'io' });
    await expect(db.put({ _id: 'c' })).rejects.toMatchObject({ name: 'io' });
    expect(same(await bytesOf(await db.getAttachment('a', 'f')), noise(100, 1))).toBe(true);
    await db.close();
  });
});
