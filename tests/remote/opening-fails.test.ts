/** A database of a server that cannot be opened: nothing holds it afterwards, so that the next request for it can succeed. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { quotaExceeded } from '@settledb/core';
import { expect, it, onTestFinished } from 'vitest';
import { FolderDatabases } from '../../packages/settledb/src/server';
import { type Hooks, hooked } from '../support/hooked-adapter';
import { testServer } from './support';

async function folderWith(hooks: Hooks): Promise<FolderDatabases & { readonly dir: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'settledb-opening-'));
  const databases = Object.assign(new FolderDatabases(dir, { adapter: hooked(file(), hooks) }), { dir });
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

it('a database whose folder cannot be looked for is not one that is not there, and hides no other', async () => {
  const databases = await folderWith({});
  const server = testServer({ databases: databases as never, logger: {} });
  await server.ask('PUT', '/good');
  // A link to itself: the system refuses to say what is there.
  await symlink('bad', join(databases.dir, 'bad'));
  const io = { error: 'io', reason: expect.stringContaining('ELOOP') };
  expect(await server.ask('GET', '/bad')).toMatchObject({ status: 500, body: io });
  expect(await server.ask('PUT', '/bad')).toMatchObject({ status: 500, body: io });
  const keys = ['bad', 'good', 'none'];
  expect((await server.ask('POST', '/_dbs_info', { keys })).body).toMatchObject([
    { key: 'bad', ...io },
    { key: 'good', info: { doc_count: 0 } },
    { key: 'none', error: 'not_found' },
  ]);
});

it('the folders of a server are named in its log, and to no client', async () => {
  const databases = await folderWith({});
  const logged: [line: string, cause: unknown][] = [];
  const logger = { error: (line: string, cause: unknown) => logged.push([line, cause]) };
  const server = testServer({ databases: databases as never, logger });
  await symlink('loop', join(databases.dir, 'loop'));
  for (const name of ['damaged', 'open', 'files']) await mkdir(join(databases.dir, name));
  await writeFile(join(databases.dir, 'damaged', 'log.1'), 'x'.repeat(100));
  await writeFile(join(databases.dir, 'files', 'notes'), '');
  const other = await file().open(join(databases.dir, 'open'));
  onTestFinished(() => other.close());
  for (const [method, path, status, error, reason] of [
    ['GET', '/loop', 500, 'io', "The storage failed (ELOOP); the server's log says more"],
    ['GET', '/damaged', 500, 'corrupt', "What is stored is damaged; the server's log says more"],
    ['GET', '/open', 423, 'locked', "Another program has the storage open; the server's log says more"],
    ['PUT', '/files', 500, 'io', "The storage failed; the server's log says more"],
  ] as const) {
    expect(await server.ask(method, path)).toMatchObject({ status, body: { error, reason } });
    const cause = { name: error, reason: expect.stringContaining(join(databases.dir, path)) };
    expect(logged.splice(0)).toEqual([[`${method} ${path} failed`, expect.objectContaining(cause)]]);
  }
  const { body } = await server.ask('POST', '/_dbs_info', { keys: ['loop', 'damaged', 'open'] });
  expect(JSON.stringify(body)).not.toContain(databases.dir);
  expect(logged.map(([line]) => line)).toEqual([
    '_dbs_info of loop failed',
    '_dbs_info of damaged failed',
    '_dbs_info of open failed',
  ]);
});
