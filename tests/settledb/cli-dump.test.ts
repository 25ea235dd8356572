/** What `settledb dump` asks of the disk before it says that a backup is there. */
import fs, { existsSync, statSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { dump } from '../../packages/settledb/src/cli/dumps';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { memory } from '../../packages/settledb/src/memory';
import { home } from '../file/support';

it.skipIf(process.platform === 'win32')(
  'brings the name of a dump to the disk, after its bytes',
  async () => {
    const folder = home();
    const path = join(folder, 'notes.dump');
    const db = new SettleDB('notes', { adapter: memory() });
    await db.put({ _id: 'a' });
    const synced: string[] = [];
    const original = fs.fsync;
    const spy = vi.spyOn(fs, 'fsync').mockImplementation(((fd: number, done: fs.NoParamCallback) => {
      const isFolder = fs.fstatSync(fd).ino === statSync(folder).ino;
      synced.push(`${isFolder ? 'folder' : 'file'}${existsSync(path) ? ', named' : ''}`);
      original(fd, done);
    }) as never);
    syncBuiltinESMExports();
    onTestFinished(() => {
      spy.mockRestore();
      syncBuiltinESMExports();
    });
    await dump(db, path, { gzip: false });
    await db.close();
    expect(synced).toEqual(['file', 'folder, named']);
  },
);
