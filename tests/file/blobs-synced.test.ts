/** The order of the disk, where its calls are slow or fail: no write is acknowledged whose content a loss of power would take. */
import { file } from '@settledb/adapter-file';
import { type DatabaseTables, LocalDatabase, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { expect, it } from 'vitest';
import { bytesOf, noise } from '../conformance/database/attachment-bytes';
import { type Call, Disk, failure } from './disk';

const FOLDER = '/settledb-no-such-folder/synced';
/** Too large for a pack. */
const LARGE = 100_000;
/** Loses all that was not synced. */
const NOTHING_ELSE = (): number => 0.99;

async function open(disk: Disk): Promise<LocalDatabase> {
  const journal = await file({ files: disk }).open(FOLDER);
  const store = await openLogStore<DatabaseTables>(journal, schema, { cachedBytes: 0, stagedBytes: 0 });
  return LocalDatabase.open(store, { name: FOLDER, adapter: 'file', durability: 'strict' });
}

/** Puts an attachment to each of `ids`, at once. @returns those that were acknowledged */
async function put(db: LocalDatabase, ids: readonly string[], size: number): Promise<string[]> {
  const told = ids.map((id) =>
    db.putAttachment(id, 'f', noise(size), 'x/y').then(
      () => id,
      () => undefined,
    ),
  );
  return (await Promise.all(told)).filter((id) => id !== undefined);
}

async function expectAfterPowerLoss(disk: Disk, ids: readonly string[], size: number): Promise<void> {
  disk.powerLoss(NOTHING_ELSE);
  const db = await open(disk);
  for (const id of ids) expect(await bytesOf(await db.getAttachment(id, 'f')), id).toEqual(noise(size));
  await db.close();
}

it.each([500, LARGE])('the name of their folder could not be synced: %i bytes', async (size) => {
  const disk = new Disk();
  const db = await open(disk);
  await db.put({ _id: 'a' });
  const syncFolder = disk.syncFolder.bind(disk);
  disk.syncFolder = async (folder) => {
    if (folder !== FOLDER) return syncFolder(folder);
    disk.syncFolder = syncFolder;
    throw failure('EIO');
  };
  expect(await put(db, ['b'], size)).toEqual([]);
  const acknowledged = await put(db, ['c'], size);
  await db.close().catch(() => {});
  await expectAfterPowerLoss(disk, acknowledged, size);
});

it.each([500, LARGE])('the name of their folder is being synced: %i bytes', async (size) => {
  const disk = new Disk();
  const db = await open(disk);
  await db.put({ _id: 'a' });
  const syncFolder = disk.syncFolder.bind(disk);
  let isSlow = false;
  disk.syncFolder = async (folder) => {
    if (folder !== FOLDER) return syncFolder(folder);
    isSlow = true;
    await new Promise<never>(() => {});
  };
  const acknowledged: string[] = [];
  for (const id of ['b', 'c']) put(db, [id], size).then((ids) => acknowledged.push(...ids));
  while (!isSlow) await new Promise((resolve) => setImmediate(resolve));
  // All the turns that the other one may need; were it more, the test would prove less, and not fail.
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
  disk.syncFolder = syncFolder;
  await expectAfterPowerLoss(disk, acknowledged, size);
});

it('one is being synced itself, and is not closed before', async () => {
  const disk = new Disk();
  const db = await open(disk);
  await db.put({ _id: 'a' });
  const sync = disk.sync.bind(disk);
  let go = (): void => {};
  disk.sync = async (fd) => {
    await new Promise<void>((resolve) => (go = resolve));
    await sync(fd);
  };
  let isTold = false;
  const acknowledged = put(db, ['b'], LARGE).then((ids) => {
    isTold = true;
    return ids;
  });
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(isTold).toBe(false);
  disk.sync = sync;
  go();
  expect(await acknowledged).toEqual(['b']);
  await expectAfterPowerLoss(disk, ['b'], LARGE);
});

it('a sync of one failed at the end of a vacuum', async () => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  await journal.blobs.put('0'.repeat(32), [noise(LARGE)], 'relaxed');
  const open = disk.open.bind(disk);
  disk.open = (path, flag) => {
    if (path.endsWith('0'.repeat(32))) disk.fail = failingOnce('sync', disk);
    return open(path, flag);
  };
  await expect(journal.vacuum!({ force: true })).rejects.toMatchObject({ name: 'io' });
  const commit = { n: 1, head: 'head', tail: '', segments: [], places: ['0'.repeat(32)] };
  await expect(journal.append(commit, { epoch: 0, n: 0 }, 'strict')).rejects.toMatchObject({ name: 'io' });
  await journal.close().catch(() => {});
});

function failingOnce(failing: Call, disk: Disk): Disk['fail'] {
  return (call) => {
    if (call !== failing) return undefined;
    disk.fail = () => undefined;
    throw failure('EIO');
  };
}

it('no file can be opened to sync what was there before: a refused write does not happen later', async () => {
  const disk = new Disk();
  const options = { name: FOLDER, adapter: 'file' } as const;
  const journal = await file({ files: disk }).open(FOLDER);
  const db = await LocalDatabase.open(await openLogStore<DatabaseTables>(journal, schema), options);
  await db.putAttachment('before', 'f', noise(LARGE), 'x/y');
  db.beStrict();
  const openFile = disk.open.bind(disk);
  disk.open = (path, flags) => {
    if (flags === 'r+') throw failure('EMFILE');
    return openFile(path, flags);
  };
  expect(await put(db, ['refused'], 500)).toEqual([]);
  await expect(db.put({ _id: 'refused too' })).rejects.toMatchObject({ status: 500, name: 'io' });
  disk.open = openFile;
  expect(await put(db, ['after'], 500)).toEqual(['after']);
  await expectRows(db);
  await db.close();
  const again = await open(disk);
  await expectRows(again);
  await again.close();
  await expectAfterPowerLoss(disk, ['after'], 500);
});

async function expectRows(db: LocalDatabase): Promise<void> {
  expect((await db.allDocs()).rows.map(({ key }) => key)).toEqual(['after', 'before']);
  expect(await bytesOf(await db.getAttachment('before', 'f'))).toEqual(noise(LARGE));
}

it.each([500, LARGE])('they are lost with a sync that failed, which is no damage: %i bytes', async (size) => {
  const disk = new Disk();
  const journal = await file({ files: disk }).open(FOLDER);
  const place = journal.blobs.placeFor?.(size) ?? 'a'.repeat(32);
  await journal.blobs.put(place, [noise(size)], 'relaxed');
  disk.fail = (call) => {
    if (call === 'sync') throw failure('EIO');
    return undefined;
  };
  const lost = { name: 'io', cause: { code: 'EIO' } };
  await expect(journal.blobs.drop([])).rejects.toMatchObject(lost);
  await expect(journal.blobs.get(place, 0)).rejects.toMatchObject({ name: 'io', cause: lost });
  await journal.close();
});
