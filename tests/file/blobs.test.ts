/**
 * Attachments on a disk that fails, loses power or rots: a database over the file adapter, on a disk in memory. What was acknowledged
 * must be there, byte for byte, and what a document names must never be other bytes.
 */
import { readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { type DatabaseTables, type Durability, LocalDatabase, schema } from '@settledb/core';
import { type Adapter, openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { bytesOf, noise, same } from '../conformance/database/attachment-bytes';
import { mulberry32 } from '../support/slow-adapter';
import { type Call, Disk, failure } from './disk';
import { home } from './support';

const FOLDER = '/settledb-no-such-folder/db';
const SIZES = [0, 5, 300, 3000, 3000, 20_000, 70_000, 530_000];

async function openOn(adapter: Adapter, name: string, durability: Durability): Promise<LocalDatabase> {
  const store = await openLogStore<DatabaseTables>(await adapter.open(name), schema);
  return LocalDatabase.open(store, { name, adapter: adapter.name, durability });
}
const openDisk = (disk: Disk, durability: Durability): Promise<LocalDatabase> =>
  openOn(file({ files: disk }), FOLDER, durability);

/** What each document's attachment is, by seed and size; and what a call under way may have made of it. */
interface Told {
  readonly acknowledged: Map<string, string>;
  readonly possible: Map<string, Set<string>>;
  errors: { readonly name?: string; readonly message?: string }[];
}
const NOTHING = 'none';
/** Made once: hundreds of trials put the same. */
const made = new Map<string, Uint8Array<ArrayBuffer>>();
const bytesFor = (mark: string): Uint8Array<ArrayBuffer> => {
  const [seed, size] = mark.split(' ').map(Number) as [number, number];
  const bytes = made.get(mark) ?? noise(size, seed);
  made.set(mark, bytes);
  return bytes;
};
const LAST = bytesFor('9 700000');

/** Puts, replaces, removes and compacts until the disk gives up, or it is done. */
async function workload(disk: Disk, random: () => number, durability: Durability): Promise<Told> {
  const told: Told = { acknowledged: new Map(), possible: new Map(), errors: [] };
  const db = await openDisk(disk, durability).catch((error) => void told.errors.push(error));
  if (db === undefined) return told;
  for (let step = 0; step < 12; step++) {
    const id = `d${Math.floor(random() * 4)}`;
    const kind = random();
    const mark = `${1 + Math.floor(random() * 3)} ${SIZES[Math.floor(random() * SIZES.length)]}`;
    const becomes = kind < 0.65 ? mark : NOTHING;
    const possible = told.possible.get(id) ?? new Set([NOTHING]);
    told.possible.set(id, possible);
    try {
      if (kind > 0.85) {
        await db.compact();
        continue;
      }
      possible.add(becomes);
      const doc = await db.get(id).catch((error) => {
        if (error.status !== 404) throw error;
        return undefined;
      });
      const attachments = becomes === NOTHING ? {} : { f: { content_type: 'x/y', data: bytesFor(mark) } };
      await db.put({ ...doc, _id: id, _attachments: attachments });
      told.acknowledged.set(id, becomes);
      told.possible.set(id, new Set([becomes]));
    } catch (error) {
      told.errors.push(error as Error);
    }
  }
  await db.close().catch((error) => told.errors.push(error));
  return told;
}

/** Opens what is left. @param damage what was not acknowledged for good may be damaged, and says so */
async function check(disk: Disk, told: Told, isStrict: boolean, label: string): Promise<void> {
  const db = await openDisk(disk, 'strict').catch((error) =>
    expect.fail(`${label}: refused: ${error.name} ${error.reason}`),
  );
  for (const [id, possible] of told.possible) {
    const doc = await db.get(id).catch(() => undefined);
    const names = Object.keys(doc?._attachments ?? {});
    if (names.length === 0) {
      expect(possible.has(NOTHING), `${label}: ${id} lost its attachment`).toBe(true);
      continue;
    }
    const { digest } = doc!._attachments!.f!;
    const found = await db.getAttachment(id, 'f').then(bytesOf, (error: Error) => error);
    if (found instanceof Error) {
      expect(isStrict, `${label}: ${id} ${digest} ${found.name} ${found.message}`).toBe(false);
      expect(found.name, label).toBe('corrupt');
      continue;
    }
    const marks = [...possible].filter((mark) => mark !== NOTHING);
    expect(
      marks.some((mark) => same(found, bytesFor(mark))),
      `${label}: ${id} has other bytes`,
    ).toBe(true);
  }
  // It goes on, and what is put again is there, whatever became of it.
  for (const id of told.possible.keys()) {
    const doc = await db.get(id).catch(() => undefined);
    const data = await (doc?._attachments?.f === undefined
      ? undefined
      : db.getAttachment(id, 'f').catch(() => undefined));
    if (doc?._attachments?.f === undefined || data !== undefined) continue;
    const mark = [...(told.possible.get(id) ?? [])].find((each) => each !== NOTHING)!;
    const { rev } = await db.putAttachment(id, 'f', doc._rev, bytesFor(mark), 'x/y');
    expect(same(await bytesOf(await db.getAttachment(id, 'f', { rev })), bytesFor(mark)), label).toBe(true);
  }
  await db.compact();
  await db.putAttachment('new', 'f', LAST, 'x/y');
  expect(same(await bytesOf(await db.getAttachment('new', 'f')), LAST), label).toBe(true);
  const places = await db.store.read([{ from: 'blobs', range: {} }]);
  const names = new Set(places[0].flatMap(({ place }) => place || []));
  await db.close();
  expect(new Set(await placesOn(disk)), `${label}: leftovers`).toEqual(names);
}

/** What there is of content, named or not. */
async function placesOn(disk: Disk): Promise<string[]> {
  const journal = await file({ files: disk }).open(FOLDER);
  const places = await journal.blobs.places();
  await journal.close();
  return places;
}

const healthy = (): undefined => undefined;

describe('content on a disk', () => {
  it('loses nothing acknowledged, and mixes nothing up, when the power goes at any call', async () => {
    let losses = 0;
    for (let seed = 1; seed <= 150; seed++) {
      const disk = new Disk();
      const at = 8 + ((seed * 37) % 150);
      let calls = 0;
      let isOff = false;
      disk.fail = () => {
        if (++calls >= at) isOff = true;
        if (isOff) throw failure('POWER');
        return undefined;
      };
      const durability = seed % 3 === 0 ? 'relaxed' : 'strict';
      const told = await workload(disk, mulberry32(seed), durability);
      if (isOff) losses++;
      disk.fail = healthy;
      disk.powerLoss(mulberry32(seed * 7));
      if (durability === 'relaxed') {
        // Any prefix may be left: whatever a document ever was is possible.
        const again = await workload(new Disk(), mulberry32(seed), 'relaxed');
        for (const id of told.possible.keys()) told.possible.set(id, everything(again, told, id));
      }
      await check(
        disk,
        told,
        durability === 'strict',
        `seed ${seed} (${durability}), power off at call ${at}`,
      );
    }
    expect(losses).toBeGreaterThan(100);
  });

  it('loses nothing acknowledged, whichever call fails, once or for good', async () => {
    const counts = new Map<Call, number>();
    const counting = new Disk();
    counting.fail = (call) => void counts.set(call, (counts.get(call) ?? 0) + 1);
    expect((await workload(counting, mulberry32(5), 'strict')).errors).toEqual([]);
    let runs = 0;
    for (const [call, times] of counts) {
      // Every call of a few, every third of many.
      for (let nth = 1; nth <= times; nth += times > 30 ? 9 : times > 8 ? 3 : 1) {
        for (const how of ['ENOSPC once', 'EIO for good']) {
          runs++;
          const disk = new Disk();
          let count = 0;
          disk.fail = (each) => {
            if (each === call) count++;
            const now = each === call && (how.endsWith('good') ? count >= nth : count === nth);
            if (now) throw failure(how.split(' ')[0]!);
            return undefined;
          };
          const told = await workload(disk, mulberry32(5), 'strict');
          disk.fail = healthy;
          disk.kill();
          await check(disk, told, true, `${call} ${nth} ${how}`);
          // A write whose sync failed was refused, and yet may be there: the next one then conflicts with it.
          for (const { name } of told.errors)
            expect(name).toMatch(/^(io|quota_exceeded|corrupt|locked|conflict)$/);
        }
      }
    }
    expect(runs).toBeGreaterThan(60);
  });

  it('that was put before a process was killed, but not named, is a leftover that compaction removes', async () => {
    const disk = new Disk();
    const journal = await file({ files: disk }).open(FOLDER);
    await journal.blobs.put('0'.repeat(32), [noise(10)], 'strict');
    await journal.blobs.put(journal.blobs.placeFor!(10)!, [noise(10)], 'strict');
    disk.kill();
    let db = await openDisk(disk, 'relaxed');
    await db.putAttachment('a', 'f', noise(10, 2), 'x/y');
    await db.close();
    expect(await placesOn(disk)).toHaveLength(3);
    db = await openDisk(disk, 'relaxed');
    await db.compact();
    expect(same(await bytesOf(await db.getAttachment('a', 'f')), noise(10, 2))).toBe(true);
    await db.close();
    expect(await placesOn(disk)).toHaveLength(1);
  });
});

function everything(again: Told, told: Told, id: string): Set<string> {
  const marks = SIZES.flatMap((size) => [1, 2, 3].map((seed) => `${seed} ${size}`));
  return new Set([NOTHING, ...marks, ...(again.possible.get(id) ?? []), ...(told.possible.get(id) ?? [])]);
}

describe('a damaged file', () => {
  const base = home();

  it('fails alone, naming file and byte, until it is put again', async () => {
    const folder = join(base, 'damaged');
    let db = await openOn(file(), folder, 'relaxed');
    await db.putAttachment('bad', 'f', noise(1_200_000), 'x/y');
    await db.putAttachment('good', 'f', noise(1000, 2), 'x/y');
    await db.put({ _id: 'small', _attachments: { f: { data: noise(300, 3) } } });
    const blobs = join(folder, 'log.blobs');
    for (const name of readdirSync(blobs)) {
      const bytes = readFileSync(join(blobs, name));
      // The last content of the pack is the small one.
      bytes[bytes.length - 20]! ^= 1;
      writeFileSync(join(blobs, name), bytes);
    }
    await db.close();
    db = await openOn(file(), folder, 'relaxed');
    for (const id of ['bad', 'small']) {
      const error = await db.getAttachment(id, 'f').catch((cause: Error) => cause);
      expect(error).toMatchObject({ name: 'corrupt', status: 500 });
      expect((error as Error).message).toMatch(/log\.blobs\/(pack\.0|[0-9a-f]{32}): damaged at byte \d+/);
      expect(await db.get(id)).toHaveProperty('_attachments');
    }
    // A part of it that is whole can be read.
    const part = await db.openAttachment('bad', 'f', { end: 500_000 });
    expect(
      (await new Response(part.stream as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer()).byteLength,
    ).toBe(500_000);
    const { results } = await db.bulkGet({
      docs: [{ id: 'bad' }, { id: 'good' }, { id: 'small' }],
      attachments: true,
    });
    expect(results.map(({ docs }) => ('ok' in docs[0]! ? 'ok' : docs[0]!.error.error))).toEqual([
      'corrupt',
      'ok',
      'corrupt',
    ]);
    // Writes that bring the same bytes mend it, however much or little it is.
    await db.putAttachment('again', 'f', noise(1_200_000), 'x/y');
    await db.put({ _id: 'once more', _attachments: { f: { data: noise(300, 3) } } });
    expect(same(await bytesOf(await db.getAttachment('bad', 'f')), noise(1_200_000))).toBe(true);
    expect(same(await bytesOf(await db.getAttachment('small', 'f')), noise(300, 3))).toBe(true);
    expect(readdirSync(blobs)).toHaveLength(2);
    await db.close();
  });

  it('that is missing is damage too', async () => {
    const folder = join(base, 'missing');
    let db = await openOn(file(), folder, 'relaxed');
    const { rev } = await db.putAttachment('a', 'f', noise(1000), 'x/y');
    await db.close();
    const [name] = readdirSync(join(folder, 'log.blobs'));
    unlinkSync(join(folder, 'log.blobs', name!));
    db = await openOn(file(), folder, 'relaxed');
    await expect(db.getAttachment('a', 'f')).rejects.toMatchObject({ name: 'corrupt' });
    await db.putAttachment('a', 'f', rev, noise(1000), 'x/y');
    expect(same(await bytesOf(await db.getAttachment('a', 'f')), noise(1000))).toBe(true);
    await db.close();
  });

  it('goes with its database, and no other file does', async () => {
    const adapter = file();
    const folder = join(base, 'destroyed');
    const db = await openOn(adapter, folder, 'relaxed');
    await db.putAttachment('a', 'f', noise(1000), 'x/y');
    await db.close();
    writeFileSync(join(folder, 'log.blobs', 'mine.txt'), 'mine');
    await adapter.destroy(folder);
    expect(readdirSync(folder)).toEqual(['log.blobs']);
    expect(readdirSync(join(folder, 'log.blobs'))).toEqual(['mine.txt']);
  });
});
