/** Which files a database has in the private file system: what it removes is gone, and what it made can be made and opened again. */
import { opfs } from '@settledb/adapter-opfs';
import { expect, it } from 'vitest';
import { LargeFiles } from '../../adapters/opfs/src/large-files';
import { OpfsFiles } from '../../adapters/opfs/src/opfs-files';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { failure } from '../file/disk';
import { FakeOpfs } from './fake-opfs';

let serial = 0;
/** A context of its own each time. */
function open(system: FakeOpfs, waitMs = 100): SettleDB {
  const location = `context of files ${++serial}`;
  return new SettleDB('db', {
    adapter: { ...opfs({ root: system.root, waitMs }), location: () => location },
  });
}

const bytes = (length: number): Blob => new Blob([new Uint8Array(length).fill(7)]);
/** Logs, notes and packs. */
const numbered = (system: FakeOpfs): string[] => system.paths().filter((path) => /\/f\d+-/.test(path));

it('are those of one log after a compaction, and no packs without content', async () => {
  const system = new FakeOpfs();
  const db = open(system);
  const { rev } = await db.putAttachment('a', 'x', bytes(60_000), 'a/b');
  await db.put({ _id: 'b' });
  expect(numbered(system)).toHaveLength(2);
  await db.purge('a', rev);
  await db.compact();
  await db.close();
  const again = open(system);
  await again.compact();
  await expect.poll(() => numbered(system).length).toBe(1);
  expect((await again.allDocs()).rows.map(({ id }) => id)).toEqual(['b']);
  await again.close();
});

it('take large content, also after it was looked for some when there was none', async () => {
  const system = new FakeOpfs();
  const db = open(system);
  await db.put({ _id: 'a' });
  await db.compact();
  await db.putAttachment('b', 'x', bytes(200_000), 'a/b');
  expect(((await db.getAttachment('b', 'x')) as Blob).size).toBe(200_000);
  await db.close();
});

it.each([
  'NoModificationAllowedError',
  'InvalidStateError',
])('are waited for while another context has them: %s', async (taken) => {
  const system = new FakeOpfs();
  system.taken = taken;
  await open(system).put({ _id: 'a' });
  const other = open(system, 10_000);
  const found = other.get('a');
  await expect(open(system, 0).get('a')).rejects.toMatchObject({ name: 'locked' });
  system.kill();
  expect((await found)._id).toBe('a');
  await other.close();
});

it('of large content that was removed while somebody read it are gone when nobody does', async () => {
  const system = new FakeOpfs();
  const files = new LargeFiles(await system.root(), async () => true);
  await files.make('content');
  await files.open('content');
  files.leave('content');
  files.remove('content');
  await files.settled();
  expect(system.paths()).toEqual(['/blobs/content']);
  files.leave('content');
  await files.settled();
  expect(system.paths()).toEqual([]);
});

it('of large content that were being opened when the database was closed are closed too', async () => {
  const system = new FakeOpfs();
  const first = open(system);
  await first.putAttachment('a', 'x', bytes(200_000), 'a/b');
  await first.close();
  const db = open(system);
  await db.info();
  let go = (): void => {};
  const begun = new Promise<void>((resolve) => {
    system.beforeOpening = () => {
      resolve();
      return new Promise((opened) => {
        go = opened;
      });
    };
  });
  const read = Promise.allSettled([db.getAttachment('a', 'x')]);
  await begun;
  await db.close();
  go();
  await read;
  await expect.poll(() => system.openFiles).toBe(0);
  system.beforeOpening = () => undefined;
  const again = open(system);
  expect(((await again.getAttachment('a', 'x')) as Blob).size).toBe(200_000);
  await again.destroy();
});

it('say whether their owner ended, or was stopped', async () => {
  const system = new FakeOpfs();
  const leftOpen = async (): Promise<boolean> => {
    const all = await (await system.root()).getDirectoryHandle('settledb');
    const files = await OpfsFiles.open(await all.getDirectoryHandle('db'), 'opfs:db');
    system.kill();
    return files.leftOpen;
  };
  const db = open(system);
  await db.put({ _id: 'a' });
  await db.close();
  expect(await leftOpen()).toBe(false);
  await open(system).put({ _id: 'b' });
  system.kill();
  expect(await leftOpen()).toBe(true);
});

it('that could not be made for want of room are refused as that', async () => {
  const system = new FakeOpfs();
  const db = open(system);
  await db.info();
  system.disk.fail = (call) => {
    if (call === 'open') throw failure('ENOSPC');
    return undefined;
  };
  const full = { status: 507, name: 'quota_exceeded' };
  await expect(db.putAttachment('a', 'x', bytes(1000), 'a/b')).rejects.toMatchObject(full);
  system.disk.fail = () => undefined;
  await db.putAttachment('a', 'x', bytes(1000), 'a/b');
  await db.close();
});

it('are all closed after one of them could not be opened, also those that are slow to open', async () => {
  const system = new FakeOpfs();
  const db = open(system);
  await db.putAttachment('a', 'x', bytes(1000), 'a/b');
  await db.close();
  const all = await (await system.root()).getDirectoryHandle('settledb');
  const directory = await all.getDirectoryHandle('db');
  const slowly: FileSystemDirectoryHandle['getFileHandle'] = async (name, options) => {
    if (name.startsWith('f1-')) throw new DOMException('injected', 'InvalidStateError');
    await new Promise((resolve) => setTimeout(resolve, 5));
    return directory.getFileHandle(name, options);
  };
  const { keys } = directory as unknown as { keys: unknown };
  await expect(
    OpfsFiles.open({ ...directory, keys, getFileHandle: slowly } as never, 'opfs:db'),
  ).rejects.toMatchObject({ name: 'InvalidStateError' });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(system.openFiles).toBe(0);
});
