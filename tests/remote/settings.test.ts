/** What the server keeps about databases in memory: of those that are there, and not of more than it says. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { DatabaseError, ioError } from '@settledb/core';
import type { Adapter } from '@settledb/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  DEFAULT_SECURITY,
  MAX_KNOWN,
  SETTINGS_DATABASE,
  Settings,
} from '../../packages/remote/src/server-settings';
import { FolderDatabases } from '../../packages/settledb/src/server';
import { type Hooks, hooked } from '../support/hooked-adapter';
import { MemoryDatabases, testServer } from './support';

/** Databases that count how often settings were looked for. */
class Watched extends MemoryDatabases {
  looks = 0;

  override open(name: string) {
    if (name === SETTINGS_DATABASE) this.looks++;
    return super.open(name);
  }
}

describe('settings of databases', () => {
  it('are not looked for, nor kept, of names that are not there', async () => {
    const databases = new Watched();
    const server = testServer({ databases, anonymous: false, admins: { admin: 'secret' } });
    for (const path of ['/none', '/none/doc', '/other/_all_docs', '/_users/org.couchdb.user:x'])
      expect([path, (await server.ask('GET', path)).status]).toEqual([path, 401]);
    expect(databases.looks).toBe(0);
    await databases.create('there');
    for (let i = 0; i < 3; i++) expect((await server.ask('GET', '/there')).status).toBe(401);
    expect(databases.looks).toBe(1);
  });

  it('are kept in memory of a bounded number, and read again of others', async () => {
    const databases = new Watched();
    const settings = new Settings(databases);
    await settings.change('first', () => ({ revs_limit: 7 }));
    const before = databases.looks;
    expect(await settings.of('first')).toEqual({ revs_limit: 7 });
    expect(databases.looks).toBe(before);
    for (let i = 0; i < MAX_KNOWN; i++) await settings.of(`db${i}`);
    const full = databases.looks;
    await settings.of(`db${MAX_KNOWN - 1}`);
    expect(databases.looks).toBe(full);
    expect(await settings.of('first')).toEqual({ revs_limit: 7 });
    expect(databases.looks).toBe(full + 1);
  });

  it('leave nothing of databases that were deleted', async () => {
    const databases = new MemoryDatabases();
    const settings = new Settings(databases);
    for (const name of ['a', 'b', 'a']) {
      await settings.change(name, () => ({ revs_limit: 7 }));
      await settings.change(name, () => ({ revs_limit: 8 }));
      for (let i = 0; i < 2; i++) {
        await settings.forgetWith(
          name,
          async () => {},
          async () => false,
        );
        expect(await settings.of(name)).toEqual({});
      }
    }
    const kept = (await databases.open(SETTINGS_DATABASE))!;
    expect(await kept.info()).toMatchObject({ doc_count: 0, doc_del_count: 0 });
    expect(await kept.changes()).toMatchObject({ results: [] });
  });

  it('stay with a database that could not be destroyed, but not with one that is gone all the same', async () => {
    const databases = new MemoryDatabases();
    const server = testServer({ databases, logger: {} });
    const { destroy } = databases;
    const fails = (work: () => Promise<unknown>): void => {
      databases.destroy = async () => {
        await work();
        throw ioError('The disk is gone');
      };
    };
    const security = { admins: {}, members: { names: ['one'] } };
    await server.ask('PUT', '/db');
    await server.ask('PUT', '/db/_security', security);
    fails(async () => {});
    expect((await server.ask('DELETE', '/db')).status).toBe(500);
    expect((await server.ask('GET', '/db/_security')).body).toEqual(security);
    fails(() => destroy.call(databases, 'db'));
    expect((await server.ask('DELETE', '/db')).status).toBe(500);
    await server.ask('PUT', '/db');
    expect((await server.ask('GET', '/db/_security')).body).toEqual(DEFAULT_SECURITY);
  });

  it('that are changed while their database is deleted are not those of another of its name', async () => {
    const databases = new MemoryDatabases();
    const server = testServer({ databases });
    const names = ['another'];
    const change = (path: string) =>
      server.ask('PUT', `${path}/_security`, { admins: { names }, members: { names } });
    await server.ask('PUT', '/db');
    await server.ask('PUT', '/other');
    await change('/other');
    const kept = (await databases.open(SETTINGS_DATABASE))!;
    const { put } = kept;
    kept.put = async (...given) => {
      kept.put = put;
      await databases.destroy('db');
      await databases.create('db');
      return put.apply(kept, given);
    };
    expect((await change('/db')).status).toBe(404);
    expect((await server.ask('GET', '/db/_security')).body).toEqual(DEFAULT_SECURITY);
    expect(await kept.info()).toMatchObject({ doc_count: 1 });
  });

  it('that are changed after a deletion began are not those of another either', async () => {
    const databases = new MemoryDatabases();
    const server = testServer({ databases });
    const { destroy } = databases;
    const names = ['another'];
    const security = { admins: { names }, members: { names } };
    let changed: ReturnType<typeof server.ask> | undefined;
    databases.destroy = async (name) => {
      changed = server.ask('PUT', '/db/_security', security);
      // Long enough for the change, unless it has to wait.
      await new Promise((resolve) => setTimeout(resolve, 50));
      return destroy.call(databases, name);
    };
    await server.ask('PUT', '/db');
    expect((await server.ask('DELETE', '/db')).status).toBe(200);
    expect((await changed)?.status).toBe(404);
    await server.ask('PUT', '/db');
    expect((await server.ask('GET', '/db/_security')).body).toEqual(DEFAULT_SECURITY);
  });

  it('that are read while they are changed are not taken for those of before', async () => {
    const databases = new Watched();
    await new Settings(databases).change('db', () => ({ revs_limit: 1 }));
    const settings = new Settings(databases);
    await Promise.all([
      settings.of('db'),
      settings.change('db', () => ({ revs_limit: 2 })),
      settings.of('db'),
    ]);
    expect(await settings.of('db')).toEqual({ revs_limit: 2 });
  });

  it('are opened anew after a failure of their storage, as any database is', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'settledb-settings-'));
    const storage = file();
    /** Of what was opened last, by name. */
    const hooks = new Map<string, Hooks>();
    const open: Adapter['open'] = (path, options) => {
      const own: Hooks = {};
      hooks.set(basename(path), own);
      return hooked(storage, own).open(path, options);
    };
    const databases = new FolderDatabases(dir, { adapter: { ...storage, open } });
    onTestFinished(async () => {
      await databases.close();
      await rm(dir, { recursive: true });
    });
    const server = testServer({ databases, logger: {} });
    const dropped: string[] = [];
    const { drop } = databases;
    databases.drop = (name, database) => {
      dropped.push(name);
      drop.call(databases, name, database);
    };
    const limit = (value: number) => server.ask('PUT', '/db/_revs_limit', value);
    await server.ask('PUT', '/db');
    expect((await limit(10)).status).toBe(200);
    hooks.get(SETTINGS_DATABASE)!.before = ({ kind }) => {
      if (kind === 'append') throw new DatabaseError({ status: 500, name: 'io', reason: 'The disk is gone' });
    };
    expect((await limit(20)).status).toBe(500);
    expect(dropped).toEqual([SETTINGS_DATABASE]);
    expect((await limit(30)).status).toBe(200);
    expect((await server.ask('GET', '/db/_revs_limit')).body).toBe(30);
  });

  it('and accounts are let go when they cannot be read', async () => {
    const databases = new MemoryDatabases();
    const dropped: string[] = [];
    Object.assign(databases, { drop: (name: string) => dropped.push(name) });
    const server = testServer({ databases, logger: {}, anonymous: false, admins: { admin: 'secret' } });
    await databases.create('_users');
    const users = (await databases.open('_users'))!;
    users.get = async () => {
      throw new DatabaseError({ status: 500, name: 'io', reason: 'The disk is gone' });
    };
    const authorization = `Basic ${btoa('someone:secret')}`;
    expect((await server.ask('GET', '/_session', undefined, { authorization })).status).toBe(500);
    expect(dropped).toEqual(['_users']);
  });
});
