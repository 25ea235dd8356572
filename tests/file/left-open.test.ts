/**
 * What a process wrote that was killed, and the next one found: the next one answers for it. And compaction beside writers that
 * replace little attachments, which a file holds before any commit names them.
 */
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { type DatabaseTables, type Durability, LocalDatabase, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { lockToRead, takeLock } from '../../adapters/file/src/lock';
import { bytesOf, noise, same } from '../conformance/database/attachment-bytes';
import { type Hooks, hooked } from '../support/hooked-adapter';
import { mulberry32 } from '../support/slow-adapter';
import { Disk, failure } from './disk';
import { commitOf, tail } from './support';

const FOLDER = '/settledb-no-such-folder/left';
const BLOBS = join(FOLDER, 'log.blobs');
const COMMITS = 12;
/** For a sweep of two files, which takes some turns. Were it slower, the test would prove less, and not fail. */
const SWEEP_MS = 50;

/** @param hooks with them, each content has a file of its own */
async function openDisk(disk: Disk, durability: Durability, hooks?: Hooks): Promise<LocalDatabase> {
  const adapter = file({ files: disk });
  const journal = await (hooks === undefined ? adapter : hooked(adapter, hooks)).open(FOLDER);
  const store = await openLogStore<DatabaseTables>(journal, schema, { cachedBytes: 0 });
  return LocalDatabase.open(store, { name: FOLDER, adapter: 'file', durability });
}

const dead = (): never => {
  throw failure('POWER');
};

/** Some commits that nobody synced, by a process that was killed. */
async function killed(): Promise<Disk> {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  for (let n = 1; n <= COMMITS; n++) {
    const commit = commitOf(n, 1);
    const segments = [{ id: tail(n) + 1, text: `${n}`.repeat(3000) }];
    await journal.append({ ...commit, segments }, { epoch: 0, n: n - 1 }, 'relaxed');
  }
  disk.kill();
  return disk;
}

/** The database is opened and closed, and then the power goes. */
async function expectOnDisk(disk: Disk, seed: number): Promise<void> {
  await (await file({ files: disk }).open(FOLDER)).close();
  disk.powerLoss(mulberry32(seed));
  const journal = await file({ files: disk }).open(FOLDER);
  const { commits } = await journal.read();
  expect(commits, `seed ${seed}`).toHaveLength(COMMITS);
  await journal.close();
}

describe('what a killed process left', () => {
  it('is on the disk when the next one has closed the database, though it wrote nothing', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      await expectOnDisk(await killed(), seed);
    }
  });

  it('is on the disk when its torn end has been cut off, which does not come back either', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const disk = await killed();
      const log = disk.open(join(FOLDER, 'log.1'), 'r+');
      disk.writeSync(log, Buffer.from('torn'), 0, 4, disk.stat(log).size);
      disk.close(log);
      await expectOnDisk(disk, seed);
    }
  });

  it('is not taken for torn by a loss of power because a reader was killed', async () => {
    const disk = await killed();
    await (await file({ files: disk }).open(FOLDER)).close();
    const log = disk.open(join(FOLDER, 'log.1'), 'r+');
    disk.writeSync(log, Buffer.from('damaged'), 0, 7, disk.stat(log).size / 2);
    disk.close(log);
    await lockToRead(disk, FOLDER);
    disk.powerLoss(() => 0);
    await expect(file({ files: disk }).open(FOLDER)).rejects.toMatchObject({ name: 'corrupt' });
    await takeLock(disk, FOLDER);
    disk.powerLoss(() => 0);
    const journal = await file({ files: disk }).open(FOLDER);
    expect((await journal.read()).commits.length).toBeLessThan(COMMITS);
    await journal.close();
  });

  it('is on the disk before a strict write of the next one is acknowledged, content of attachments too', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const disk = new Disk();
      const first = await openDisk(disk, 'relaxed');
      await first.putAttachment('a', 'f', noise(300), 'x/y');
      disk.kill();
      const db = await openDisk(disk, 'strict');
      // It keeps the attachment, of which it says nothing but the name.
      await db.put({ ...(await db.get('a')), note: 1 } as never);
      disk.powerLoss(mulberry32(seed));
      const again = await openDisk(disk, 'strict');
      expect(same(await bytesOf(await again.getAttachment('a', 'f')), noise(300)), `seed ${seed}`).toBe(true);
      await again.close();
    }
  });
});

describe('a log that was made anew', () => {
  it('has its name on the disk before the one before it goes, though its maker was killed, and the power fails', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const disk = await killed();
      const journal = await file({ files: disk }).open(FOLDER);
      const rename = disk.rename.bind(disk);
      disk.rename = (from, to) => {
        rename(from, to);
        if (to.endsWith('log.2')) disk.fail = dead;
      };
      await expect(journal.vacuum?.({ force: true })).rejects.toMatchObject({ name: 'io' });
      disk.rename = rename;
      disk.fail = () => undefined;
      disk.kill();
      // The power goes when the next owner would bring the names to the disk, the last time.
      disk.fail = (call) =>
        call === 'openFolder' && !disk.hasFile(join(FOLDER, 'log.1')) ? dead() : undefined;
      await file({ files: disk }).open(FOLDER);
      disk.fail = () => undefined;
      disk.powerLoss(mulberry32(seed));
      const again = await file({ files: disk }).open(FOLDER);
      expect((await again.read()).commits, `seed ${seed}`).toHaveLength(COMMITS);
      await again.close();
    }
  });
});

describe('content of attachments that the system has, and the disk may not', () => {
  /** Loses all that was not synced. */
  const NOTHING_ELSE = (): number => 0.99;

  async function expectContents(disk: Disk, contents: Readonly<Record<string, Uint8Array>>): Promise<void> {
    const db = await openDisk(disk, 'strict');
    for (const [id, bytes] of Object.entries(contents))
      expect(same(await bytesOf(await db.getAttachment(id, 'f')), bytes), id).toBe(true);
    await db.close();
  }

  it('is there with the file that a killed process made for it, once the next one acknowledged a strict write', async () => {
    const disk = new Disk();
    const first = await openDisk(disk, 'relaxed');
    await first.putAttachment('a', 'f', noise(300, 1), 'x/y');
    disk.kill();
    const next = await openDisk(disk, 'strict');
    await next.putAttachment('b', 'f', noise(300, 2), 'x/y');
    disk.powerLoss(NOTHING_ELSE);
    await expectContents(disk, { a: noise(300, 1), b: noise(300, 2) });
  });

  it('is there where the process was killed between the new writing of a file and the sync of its name', async () => {
    const disk = new Disk();
    const db = await openDisk(disk, 'strict');
    const revs: string[] = [];
    for (let i = 0; i < 6; i++) revs.push((await db.putAttachment(`d${i}`, 'f', noise(5000, i), 'x/y')).rev);
    await db.close();
    const second = await openDisk(disk, 'strict');
    let isRenamed = false;
    const rename = disk.rename.bind(disk);
    disk.rename = (from, to) => {
      rename(from, to);
      if (!/pack/.test(to)) return;
      isRenamed = true;
      disk.fail = () => {
        throw failure('EIO');
      };
    };
    // It is killed in one of these.
    for (let i = 0; i < 5; i++) await second.purge(`d${i}`, revs[i]!).catch(() => {});
    await second.compact().catch(() => {});
    expect(isRenamed).toBe(true);
    disk.rename = rename;
    disk.fail = () => undefined;
    disk.kill();
    const third = await openDisk(disk, 'strict');
    await third.putAttachment('new', 'f', noise(700, 77), 'x/y');
    disk.powerLoss(NOTHING_ELSE);
    await expectContents(disk, { d5: noise(5000, 5), new: noise(700, 77) });
  });

  it.each([500, 100_000])('is not believed in after a close that could not sync: %i bytes', async (size) => {
    const disk = new Disk();
    const first = await openDisk(disk, 'relaxed');
    await first.putAttachment('a', 'f', noise(size), 'x/y');
    disk.fail = (call) => {
      if (call === 'writeSync' || call === 'write') throw failure('EIO');
      return undefined;
    };
    await expect(first.put({ _id: 'x' })).rejects.toMatchObject({ name: 'io' });
    disk.fail = () => undefined;
    await first.close().catch(() => {}); // It says what the write said already.
    const next = await openDisk(disk, 'strict');
    await next.putAttachment('b', 'f', noise(size), 'x/y');
    disk.powerLoss(NOTHING_ELSE);
    await expectContents(disk, { a: noise(size), b: noise(size) });
  });
});

describe('the folder of a database', () => {
  it('is on the disk before a strict write, though whoever made it was killed before its name was', async () => {
    const disk = new Disk();
    disk.fail = (call) => (/Folder$/.test(call) && call !== 'makeFolder' ? dead() : undefined);
    await expect(file({ files: disk }).open(FOLDER)).rejects.toMatchObject({ name: 'io' });
    expect(disk.hasFolder(FOLDER)).toBe(true);
    disk.fail = () => undefined;
    disk.kill();
    const journal = await file({ files: disk }).open(FOLDER);
    await journal.append(commitOf(1), { epoch: 0, n: 0 }, 'strict');
    disk.powerLoss(() => 0.99);
    const again = await file({ files: disk }).open(FOLDER);
    expect((await again.read()).commits).toHaveLength(1);
    await again.close();
  });

  it('may lie in one that nobody may look into', async () => {
    const disk = new Disk();
    disk.makeFolder(FOLDER);
    const syncFolder = disk.syncFolder.bind(disk);
    disk.syncFolder = async (folder, change) => {
      if (folder !== FOLDER) throw failure('EACCES');
      await syncFolder(folder, change);
    };
    const journal = await file({ files: disk }).open(FOLDER);
    await journal.append(commitOf(1), { epoch: 0, n: 0 }, 'strict');
    await journal.close();
  });
});

describe('the folder of attachments', () => {
  it('goes with the database, also when nothing was left in it', async () => {
    const disk = new Disk();
    const db = await openDisk(disk, 'relaxed');
    const { rev } = await db.putAttachment('a', 'f', noise(10), 'x/y');
    await db.purge('a', rev);
    await db.compact();
    await db.close();
    await file({ files: disk }).destroy(FOLDER);
    expect(disk.hasFolder(BLOBS)).toBe(false);
  });

  it('is not made, nor anything in it, by a write that the database is removed under', async () => {
    const disk = new Disk();
    const adapter = file({ files: disk });
    const journal = await adapter.open(FOLDER);
    const sync = disk.syncFolder.bind(disk);
    let goOn: () => void = () => {};
    const isRemoved = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    // Of the first, by which the folder's name comes to the disk.
    disk.syncFolder = async (folder) => {
      disk.syncFolder = sync;
      await isRemoved;
      await sync(folder);
    };
    const place = journal.blobs?.placeFor?.(10) as string;
    const writing = journal.blobs?.put(place, [noise(10)], 'relaxed');
    await adapter.destroy(FOLDER);
    goOn();
    await expect(writing).rejects.toMatchObject({ name: 'closed' });
    expect(disk.list(BLOBS)).toEqual([]);
    expect(disk.hasFolder(BLOBS)).toBe(false);
  });
});

describe('content of attachments', () => {
  it('is not swept while its commit is on the way', async () => {
    let atSync: (() => Promise<void>) | undefined;
    class SlowDisk extends Disk {
      override async sync(fd: number): Promise<void> {
        await super.sync(fd);
        await atSync?.();
      }
    }
    const disk = new SlowDisk();
    const hooks: Hooks = {};
    const db = await openDisk(disk, 'strict', hooks);
    await db.putAttachment('a', 'f', noise(300, 1), 'x/y');
    let writing: Promise<unknown> | undefined;
    hooks.before = async ({ kind }) => {
      if (kind !== 'places' || writing !== undefined) return;
      // When the sweep lists what is there, content of a write is, and its commit is not.
      await new Promise<void>((isPut) => {
        atSync = () => {
          atSync = undefined;
          isPut();
          return new Promise((goOn) => setTimeout(goOn, SWEEP_MS));
        };
        writing = db.putAttachment('b', 'f', noise(300, 2), 'x/y');
      });
    };
    await db.compact();
    await writing;
    await db.close();
    const again = await openDisk(disk, 'strict');
    for (const seed of [1, 2]) {
      const found = await bytesOf(await again.getAttachment('ab'[seed - 1]!, 'f'));
      expect(same(found, noise(300, seed))).toBe(true);
    }
    await again.close();
  });

  it('that a full disk did not take whole leaves nothing behind', async () => {
    const disk = new Disk();
    const db = await openDisk(disk, 'relaxed', {});
    await db.putAttachment('a', 'f', noise(10), 'x/y');
    const attachments = Object.fromEntries(
      [1, 2, 3].map((seed) => [`f${seed}`, { content_type: 'x/y', data: noise(50_000, seed) }]),
    );
    for (let attempt = 0; attempt < 3; attempt++) {
      let files = 0;
      disk.fail = (call) => {
        if (call === 'open' && ++files > 2) throw failure('ENOSPC');
        return undefined;
      };
      await expect(db.put({ _id: 'b', _attachments: attachments })).rejects.toMatchObject({ status: 507 });
      disk.fail = () => undefined;
      expect(disk.list(BLOBS)).toHaveLength(1);
    }
    await db.put({ _id: 'b', _attachments: attachments });
    expect(disk.list(BLOBS)).toHaveLength(4);
    await db.close();
  });
});
