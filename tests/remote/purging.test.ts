/** `_purge` and the list it leaves: what was purged is answered, the list is bounded, and the database that holds it does not grow. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseError } from '@settledb/core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { SETTINGS_DATABASE, Settings } from '../../packages/remote/src/server-settings';
import { FolderDatabases } from '../../packages/settledb/src/server';
import { testServer } from './support';

const unknown = (count: number) =>
  Array.from({ length: count }, (_, i) => `1-${i.toString(16).padStart(32, '0')}`);

async function start() {
  const server = testServer({ logger: {} });
  await server.ask('PUT', '/db');
  const { rev } = (await server.ask('PUT', '/db/a', {})).body;
  const infos = async () => (await server.ask('GET', '/db/_purged_infos')).body.purged_infos;
  return { ...server, rev, infos, database: (await server.databases.open('db'))! };
}

describe('_purge', () => {
  it('tries only revisions that are there', async () => {
    const { ask, rev, database } = await start();
    const purge = vi.spyOn(database, 'purge');
    const { status, body } = await ask('POST', '/db/_purge', { a: [...unknown(100), rev], b: unknown(100) });
    expect([status, body.purged]).toEqual([201, { a: [rev], b: [] }]);
    expect(purge).toHaveBeenCalledTimes(1);
  });

  it('purges nothing if that cannot be noted', async () => {
    const { ask, rev, databases } = await start();
    await ask('PUT', '/db/_revs_limit', 10);
    const settings = (await databases.open(SETTINGS_DATABASE))!;
    const refuse = vi.spyOn(settings, 'put').mockImplementation(async () => {
      throw new DatabaseError({ status: 507, name: 'quota_exceeded', reason: 'The disk is full' });
    });
    expect((await ask('POST', '/db/_purge', { a: [rev] })).status).toBe(507);
    expect((await ask('GET', '/db/a')).status).toBe(200);
    refuse.mockRestore();
    expect((await ask('POST', '/db/_purge', { a: [rev] })).body.purged).toEqual({ a: [rev] });
  });

  it('notes as much as the list may have, the newest', async () => {
    const { ask, infos } = await start();
    const long = (i: number) => `1-${`${i}`.padStart(10_000, '0')}`;
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`d${i}`, [long(i)]]));
    expect((await ask('POST', '/db/_purge', many)).status).toBe(201);
    await ask('POST', '/db/_purge', { last: [long(30)] });
    const kept: { id: string }[] = await infos();
    expect(JSON.stringify(kept).length).toBeLessThan(256 * 1024);
    expect(kept).toHaveLength(26);
    expect(kept.map(({ id }) => id)).toEqual(expect.arrayContaining(['last', 'd29', 'd5']));
    expect((await ask('POST', '/db/_purge', { none: [`1-${'a'.repeat(300_000)}`] })).status).toBe(201);
    expect(await infos()).toEqual([]);
  });

  it('takes a limit of 100,000, and no larger one', async () => {
    const { ask } = await start();
    expect((await ask('PUT', '/db/_purged_infos_limit', 100_000)).status).toBe(200);
    expect((await ask('PUT', '/db/_purged_infos_limit', 100_001)).status).toBe(400);
    expect((await ask('GET', '/db/_purged_infos_limit')).body).toBe(100_000);
  });
});

it('settings that were replaced are not kept', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'settledb-purging-'));
  const databases = new FolderDatabases(dir);
  onTestFinished(async () => {
    await databases.close();
    await rm(dir, { recursive: true });
  });
  const settings = new Settings(databases);
  await settings.change('db', () => ({ revs_limit: 1 }));
  const database = (await databases.open(SETTINGS_DATABASE))!;
  const { _rev: rev } = await database.get('db:db');
  await settings.change('db', () => ({ revs_limit: 2 }));
  await expect(database.get('db:db', { rev })).rejects.toMatchObject({ status: 404 });
});
