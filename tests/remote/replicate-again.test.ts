/** A replication that goes on outlives the failures of a database of its server: once broken, that takes nothing until it is opened anew. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { ioError } from '@settledb/core';
import { expect, it, onTestFinished } from 'vitest';
import { FolderDatabases } from '../../packages/settledb/src/server';
import { serverReplicator } from '../../packages/settledb/src/server-replicator';
import { type Hooks, hooked } from '../support/hooked-adapter';
import { testServer, URL_OF_DB } from './support';

it('goes on in a database that broke, and could not be opened at once', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'settledb-again-'));
  let last: Hooks = {};
  let refusals = 0;
  const open: ReturnType<typeof file>['open'] = async (...given) => {
    if (refusals-- > 0) throw ioError('refused');
    last = {};
    return hooked(file(), last).open(...given);
  };
  const databases = new FolderDatabases(dir, { adapter: { ...file(), open } });
  onTestFinished(async () => {
    await databases.close();
    await rm(dir, { recursive: true });
  });
  const far = testServer();
  await far.ask('PUT', '/db');
  const server = testServer({
    databases: databases as never,
    replicator: serverReplicator(['127.0.0.1:5984'], far.fetch),
  });
  await server.ask('PUT', '/here');
  const request = { source: URL_OF_DB, target: 'here', continuous: true };
  expect((await server.ask('POST', '/_replicate', request)).status).toBe(202);
  const arrives = (id: string): Promise<void> =>
    expect.poll(async () => (await server.ask('GET', `/here/${id}`)).status, { timeout: 8_000 }).toBe(200);
  await far.ask('PUT', '/db/a', {});
  await arrives('a');
  refusals = 1;
  last.before = ({ kind }) => {
    if (kind === 'append') throw ioError('broken');
  };
  await far.ask('PUT', '/db/b', {});
  // Before anybody else asks for the database.
  await expect.poll(() => refusals, { timeout: 8_000 }).toBeLessThan(1);
  await arrives('b');
  server.close();
  await expect.poll(async () => (await server.ask('GET', '/_active_tasks')).body).toEqual([]);
});

it('ends when its target is deleted, which it had made', async () => {
  const server = testServer({ replicator: serverReplicator([]), logger: {} });
  await server.ask('PUT', '/db');
  await server.ask('PUT', '/db/a', {});
  const request = { source: 'db', target: 'made', continuous: true, create_target: true };
  await server.ask('POST', '/_replicate', request);
  await expect.poll(async () => (await server.ask('GET', '/made/a')).status).toBe(200);
  await server.ask('DELETE', '/made');
  await server.ask('PUT', '/db/b', {}); // by which it notices
  await expect.poll(async () => (await server.ask('GET', '/_active_tasks')).body).toEqual([]);
  expect((await server.ask('GET', '/made')).status).toBe(404);
});
