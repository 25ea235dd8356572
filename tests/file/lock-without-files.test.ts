/** Locks are named for the moment their process began, which is read from a file: where none may be open it is not known yet. */
import type * as Fs from 'node:fs';
import { file } from '@settledb/adapter-file';
import { expect, it, vi } from 'vitest';
import { Disk, failure } from './disk';

const FOLDER = '/settledb-no-such-folder/lock-without-files';
const { full } = vi.hoisted(() => ({ full: { isFull: false } }));

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof Fs>();
  const readFileSync = (path: string, encoding: 'latin1'): string => {
    if (full.isFull && path.startsWith('/proc/')) throw failure('EMFILE');
    return fs.readFileSync(path, encoding);
  };
  return { ...fs, readFileSync };
});

// A lock that does not name it keeps a database shut where process ids come again, as in containers, and hides a loss of power.
it.runIf(process.platform === 'linux')(
  'names its locks for its process also if no more files could be open at the first',
  async () => {
    const adapter = file({ files: new Disk() });
    full.isFull = true;
    await expect(adapter.open(FOLDER)).rejects.toMatchObject({ name: 'io', cause: { code: 'EMFILE' } });
    full.isFull = false;
    const disk = new Disk();
    const journal = await file({ files: disk }).open(FOLDER);
    const names = disk.list(FOLDER).filter((name) => name.startsWith('lock.'));
    expect(names).toEqual([expect.stringMatching(/^lock\.\d+\.\d+-[0-9a-f]{8}\.[0-9a-f]{12}$/)]);
    await journal.close();
  },
);
