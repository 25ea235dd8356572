/** What the server keeps about databases in memory: of those that are there, and not of more than it says. */
import { describe, expect, it } from 'vitest';
import { SETTINGS_DATABASE, Settings } from '../../packages/remote/src/server-settings';
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
    const settings = new Settings(databases, 10);
    await settings.change('first', () => ({ revs_limit: 7 }));
    const before = databases.looks;
    expect(await settings.of('first')).toEqual({ revs_limit: 7 });
    expect(databases.looks).toBe(before);
    for (let i = 0; i < 10; i++) await settings.of(`db${i}`);
    const full = databases.looks;
    await settings.of('db9');
    expect(databases.looks).toBe(full);
    expect(await settings.of('first')).toEqual({ revs_limit: 7 });
    expect(databases.looks).toBe(full + 1);
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
});
