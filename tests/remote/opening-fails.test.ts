/** A database of a server that cannot be opened: nothing holds it afterwards, so that the next request for it can succeed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { quotaExceeded } from '@settledb/core';
import { expect, it, onTestFinished } from 'vitest';
import { FolderDatabases } from '../../packages/settledb/src/server';
import { type Hooks, hooked } from '../support/hooked-adapter';

async function folderWith(hooks: Hooks): Promise<FolderDatabases> {
  const dir = await mkdtemp(join(tmpdir(), 'settledb-opening-'));
  const databases = new FolderDatabases(dir, { adapter: hooked(file(), hooks) });
  onTestFinished(async () => {
    await databases.close();
    await rm(dir, { recursive: true });
  });
  return databases;
}

it('a database that found no room for its first commit is not there, and can be made by the next who asks', async () => {
  const hooks: Hooks = {
    before: ({ kind }) => {
      if (kind === 'append') throw quotaExceeded();
    },
  };
  const databases = await folderWith(hooks);
  await expect(databases.create('a')).rejects.toMatchObject({ status: 507 });
  expect(await databases.list()).toEqual([]);
  delete hooks.before;
  expect(await databases.create('a')).toBe(true); // neither `locked` nor found
  const used = await databases.use('a');
  expect(await used!.database.put({ _id: 'x' })).toMatchObject({ ok: true });
  used!.release();
});
