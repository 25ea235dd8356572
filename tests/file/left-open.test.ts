/**
 * What a process wrote that was killed, and the next one found: the next one answers for it. And compaction beside writers that
 * replace little attachments, which a file holds before any commit names them.
 */
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { type DatabaseTables, type Durability, LocalDatabase, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
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

async function openDisk(disk: Disk, durability: Durability, hooks: Hooks = {}): Promise<LocalDatabase> {
  const journal = await hooked(file({ files: disk }), hooks).open(FOLDER);
  const store = await openLogStore<DatabaseTables>(journal, schema, { cachedBytes: 0 });
  return LocalDatabase.open(store, { name: FOLDER, adapter: 'file', durability });
}

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

describe('what a killed process left', () => {
  it('is on the disk when the next one has closed the database, though it wrote nothing', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const disk = await killed();
      await (await file({ files: disk }).open(FOLDER)).close();
      disk.powerLoss(mulberry32(seed));
      const journal = await file({ files: disk }).open(FOLDER);
      const { commits } = await journal.read();
      expect(commits, `seed ${seed}`).toHaveLength(COMMITS);
      await journal.close();
    }
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
    const db = await openDisk(disk, 'relaxed');
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
