/** Names, passwords and security objects: who may do what, by CouchDB's rules. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { admin, alice, basic, closed, USER, withAlice } from './accounts';
import { ORIGIN, testServer } from './support';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

describe('accounts in _users', () => {
  it('keep a password as PBKDF2-SHA256, and nobody reads it back', async () => {
    const server = await withAlice();
    const { body } = await server.ask('GET', `${USER}alice`, undefined, admin);
    expect(body).toMatchObject({ password_scheme: 'pbkdf2', pbkdf2_prf: 'sha256', iterations: 1_000 });
    expect(JSON.stringify(body)).not.toContain('"pw"');
    expect((await server.ask('GET', '/_session', undefined, alice)).body.userCtx).toEqual({
      name: 'alice',
      roles: ['writer'],
    });
    expect((await server.ask('GET', '/_session', undefined, basic('alice', 'wrong'))).status).toBe(401);
    expect((await server.ask('GET', '/_session', undefined, basic('nobody', 'pw'))).status).toBe(401);
  });

  it('iterate 600,000 times unless told otherwise', async () => {
    const server = await withAlice({ passwordIterations: undefined });
    expect((await server.ask('GET', `${USER}alice`, undefined, admin)).body.iterations).toBe(600_000);
    expect((await server.ask('GET', '/_session', undefined, alice)).status).toBe(200);
  });

  it('that CouchDB wrote are good here: SHA-256 and, of before 3.4, SHA-1', async () => {
    const server = closed();
    // Computed with node:crypto pbkdf2Sync('pw', 'salt', 10, …).
    const { pbkdf2Sync } = await import('node:crypto');
    const made = (prf: string, hash: string, length: number) => ({
      type: 'user',
      roles: [],
      password_scheme: 'pbkdf2',
      ...(prf === '' ? {} : { pbkdf2_prf: prf }),
      salt: 'salt',
      iterations: 10,
      derived_key: pbkdf2Sync('pw', 'salt', 10, length, hash).toString('hex'),
    });
    await server.ask('PUT', `${USER}new`, { name: 'new', ...made('sha256', 'sha256', 32) }, admin);
    await server.ask('PUT', `${USER}old`, { name: 'old', ...made('', 'sha1', 20) }, admin);
    expect((await server.ask('GET', '/_session', undefined, basic('new', 'pw'))).status).toBe(200);
    expect((await server.ask('GET', '/_session', undefined, basic('old', 'pw'))).status).toBe(200);
    expect((await server.ask('GET', '/_session', undefined, basic('old', 'pW'))).status).toBe(401);
  });

  it('may come by hundreds in one request, and others log in meanwhile', async () => {
    const server = await withAlice({ passwordIterations: 1 });
    const names = Array.from({ length: 300 }, (_, i) => `u${i}`);
    const docs = names.map((name) => ({
      _id: `org.couchdb.user:${name}`,
      ...{ name, password: 'pw', roles: [], type: 'user' },
    }));
    const written = server.ask('POST', '/_users/_bulk_docs', { docs }, admin);
    const logins = names.slice(0, 50).map(() => server.ask('GET', '/_session', undefined, alice));
    expect((await Promise.all(logins)).filter(({ status }) => status !== 200)).toEqual([]);
    expect((await written).body.filter((row: object) => 'error' in row)).toEqual([]);
    expect((await server.ask('GET', '/_session', undefined, basic('u299', 'pw'))).status).toBe(200);
  });

  it('are no server administrators, whatever roles a document claims', async () => {
    const server = await withAlice();
    const doc = { name: 'eve', password: 'pw', roles: ['_admin'], type: 'user' };
    expect((await server.ask('PUT', `${USER}eve`, doc, admin)).status).toBe(403);
    // Two members of one name: what is checked is what is stored.
    const twice = '{"name":"eve","type":"user","password":"pw","roles":["_admin"],"roles":[]}';
    expect((await server.ask('PUT', `${USER}eve`, twice, admin)).status).toBe(201);
    expect((await server.ask('GET', '/_session', undefined, basic('eve', 'pw'))).body.userCtx.roles).toEqual(
      [],
    );
    // Written in bulk, without edits, by an administrator.
    const replicated = { docs: [{ ...doc, _id: 'org.couchdb.user:eve', _rev: '9-a' }], new_edits: false };
    expect((await server.ask('POST', '/_users/_bulk_docs', replicated, admin)).body[0].error).toBe(
      'forbidden',
    );
    for (const [method, path] of [
      ['PUT', '/new'],
      ['DELETE', '/_users'],
      ['GET', '/_all_dbs'],
      ['GET', '/_dbs_info'],
      ['GET', '/_active_tasks'],
      ['POST', '/_replicate'],
      ['GET', '/_settings'],
    ])
      expect([path, (await server.ask(method!, path!, undefined, alice)).status]).toEqual([path, 401]);
  });

  it('are out of reach for anyone but server administrators', async () => {
    const server = await withAlice();
    expect((await server.ask('GET', `${USER}alice`, undefined, alice)).status).toBe(403);
    expect((await server.ask('GET', `${USER}alice`)).status).toBe(401);
    expect((await server.ask('GET', '/_users/_all_docs', undefined, alice)).status).toBe(401);
    const taken = { name: 'bob', password: 'pw', roles: [], type: 'user' };
    expect((await server.ask('PUT', `${USER}bob`, taken)).status).toBe(401);
    expect((await server.ask('PUT', '/_users/_security', {}, admin)).status).toBe(403);
  });

  it('are locked for an address after five wrong passwords, the right one included', async () => {
    const server = await withAlice();
    const from = (address: string | undefined, headers: Record<string, string>) =>
      server.handle(new Request(`${ORIGIN}/`, { headers }), { address }).then(({ status }) => status);
    for (let i = 0; i < 5; i++) expect(await from('1.2.3.4', basic('alice', 'x'))).toBe(401);
    expect(await from('1.2.3.4', basic('alice', 'x'))).toBe(403);
    expect(await from('1.2.3.4', alice)).toBe(403);
    expect(await from('1.2.3.5', alice)).toBe(200);
    expect(await from('1.2.3.4', admin)).toBe(200);
    // Where no address is known nobody is locked: anyone could lock out anyone.
    for (let i = 0; i < 7; i++) expect(await from(undefined, basic('admin', 'x'))).toBe(401);
    expect(await from(undefined, admin)).toBe(200);
  });

  it('are locked if they are long too, and take little memory then', async () => {
    const server = await withAlice();
    const name = 'x'.repeat(12_000);
    const from = (headers: Record<string, string>) =>
      server
        .handle(new Request(`${ORIGIN}/`, { headers }), { address: '1.2.3.4' })
        .then(({ status }) => status);
    for (let i = 0; i < 5; i++) expect(await from(basic(name, 'x'))).toBe(401);
    expect(await from(basic(name, 'x'))).toBe(403);
    expect(await from(basic(`${name}y`, 'x'))).toBe(401);
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 500; i++) expect(await from(basic(`${name}${i}`, 'x'))).toBe(401);
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan((500 * name.length) / 2);
    expect(await from(basic(name, 'x'))).toBe(403);
  });

  it('are locked for guesses made at once too: no more than five are looked at', async () => {
    const server = await withAlice();
    const from = (address: string, headers: Record<string, string>) =>
      server.handle(new Request(`${ORIGIN}/`, { headers }), { address }).then(({ status }) => status);
    for (const name of ['alice', 'admin', 'nobody']) {
      const guesses = Array.from({ length: 20 }, (_, i) => from('1.2.3.4', basic(name, `guess ${i}`)));
      // The right one stands behind those that lock.
      const right = from('1.2.3.4', name === 'admin' ? admin : alice);
      const statuses = await Promise.all(guesses);
      expect([name, ...statuses]).toEqual([name, ...Array(5).fill(401), ...Array(15).fill(403)]);
      expect(await right).toBe(403);
      expect(await from('1.2.3.4', basic(name, 'x'))).toBe(403);
    }
    expect(await from('1.2.3.5', alice)).toBe(200);
  });

  it('cannot be guessed quicker where there are none: thousands of names would make the locks forget one', async () => {
    const server = closed();
    const derive = vi.spyOn(crypto.subtle, 'deriveBits');
    onTestFinished(() => derive.mockRestore());
    for (const name of ['admin', 'nobody'])
      expect((await server.ask('GET', '/', undefined, basic(name, 'x'))).status).toBe(401);
    expect(derive).toHaveBeenCalledTimes(2);
    expect((await server.ask('GET', '/', undefined, admin)).status).toBe(200);
    expect(derive).toHaveBeenCalledTimes(2);
  });

  it('are not locked by many requests at once with the right password', async () => {
    const server = await withAlice();
    const from = (headers: Record<string, string>) =>
      server.handle(new Request(`${ORIGIN}/`, { headers }), { address: 'x' }).then(({ status }) => status);
    for (const right of [alice, admin])
      expect(new Set(await Promise.all(Array.from({ length: 40 }, () => from(right))))).toEqual(
        new Set([200]),
      );
    // A wrong one among them neither locks them out nor gets in.
    const mixed = await Promise.all([from(alice), from(basic('alice', 'x')), from(alice), from(alice)]);
    expect(mixed).toEqual([200, 401, 200, 200]);
  });

  it('do not count failures between right passwords for ever', async () => {
    const server = await withAlice();
    const from = (headers: Record<string, string>) =>
      server.handle(new Request(`${ORIGIN}/`, { headers }), { address: 'x' }).then(({ status }) => status);
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 4; i++) expect(await from(basic('alice', 'x'))).toBe(401);
      expect(await from(alice)).toBe(200);
    }
  });
});

describe('security objects', () => {
  it('let in members and administrators only; by default server administrators', async () => {
    const server = await withAlice();
    await server.ask('PUT', '/db', undefined, admin);
    const get = (path: string, headers = {}) =>
      server.ask('GET', path, undefined, headers).then(({ status }) => status);
    expect([await get('/db'), await get('/db', alice), await get('/db', admin)]).toEqual([401, 403, 200]);
    // Whoever may not in is not told what is there.
    expect([await get('/none'), await get('/none', alice), await get('/none', admin)]).toEqual([
      401, 403, 404,
    ]);
    const allow = (security: object) => server.ask('PUT', '/db/_security', security, admin);
    await allow({ members: { names: ['alice'] }, extra: 1 });
    expect([await get('/db'), await get('/db', alice)]).toEqual([401, 200]);
    await allow({ members: { roles: ['writer'] } });
    expect([await get('/db'), await get('/db', alice)]).toEqual([401, 200]);
    await allow({ members: { names: ['bob'] } });
    expect([await get('/db'), await get('/db', alice)]).toEqual([401, 403]);
    await allow({});
    expect([await get('/db'), await get('/db', alice)]).toEqual([200, 200]);
  });

  it('are changed, and design documents written, by administrators of the database', async () => {
    const server = await withAlice();
    await server.ask('PUT', '/db', undefined, admin);
    await server.ask('PUT', '/db/_security', { members: { names: ['alice'] } }, admin);
    const writes: [string, string, unknown][] = [
      ['PUT', '/db/_security', {}],
      ['PUT', '/db/_revs_limit', 5],
      ['PUT', '/db/_purged_infos_limit', 5],
      ['POST', '/db/_compact', {}],
      ['POST', '/db/_view_cleanup', {}],
      ['POST', '/db/_purge', {}],
      ['PUT', '/db/_design/d', {}],
    ];
    const statuses = async () => {
      const all: number[] = [];
      for (const [method, path, body] of writes)
        all.push((await server.ask(method, path, body, alice)).status);
      return all;
    };
    expect(await statuses()).toEqual([401, 401, 401, 401, 401, 401, 401]);
    const docs = { docs: [{ _id: '_design/e' }, { _id: 'plain' }] };
    const rows = (await server.ask('POST', '/db/_bulk_docs', docs, alice)).body;
    expect(rows.map(({ error }: { error?: string }) => error)).toEqual(['unauthorized', undefined]);
    const graft = { docs: [{ _id: '_design/e', _rev: '1-a' }], new_edits: false };
    expect((await server.ask('POST', '/db/_bulk_docs', graft, alice)).body).toMatchObject([
      { id: '_design/e', error: 'unauthorized' },
    ]);
    expect(
      (await server.ask('COPY', '/db/plain', undefined, { ...alice, destination: '_design/f' })).status,
    ).toBe(401);
    await server.ask(
      'PUT',
      '/db/_security',
      { admins: { names: ['alice'] }, members: { names: ['x'] } },
      admin,
    );
    expect(await statuses()).toEqual([200, 401, 401, 401, 401, 401, 401]); // the first made it everybody's
    await server.ask(
      'PUT',
      '/db/_security',
      { admins: { names: ['alice'] }, members: { names: ['x'] } },
      admin,
    );
    writes.shift();
    expect(await statuses()).toEqual([200, 200, 202, 202, 201, 201]);
    expect((await server.ask('DELETE', '/db', undefined, alice)).status).toBe(401);
  });

  it('are checked, kept over a restart, and forgotten with their database', async () => {
    const server = closed();
    await server.ask('PUT', '/db', undefined, admin);
    for (const bad of [[], 5, '"x"', { admins: [] }, { admins: { names: 'a' } }, { members: { roles: [1] } }])
      expect((await server.ask('PUT', '/db/_security', bad, admin)).status).toBe(403);
    const security = {
      admins: { names: ['a'], roles: [] },
      members: { names: ['b'], roles: [] },
      more: { kept: 1 },
    };
    expect((await server.ask('PUT', '/db/_security', security, admin)).body).toEqual({ ok: true });
    await server.ask('PUT', '/db/_revs_limit', 7, admin);
    const later = closed({ databases: server.databases });
    expect((await later.ask('GET', '/db/_security', undefined, admin)).body).toEqual(security);
    expect((await later.ask('GET', '/db/_revs_limit', undefined, admin)).body).toBe(7);
    await later.ask('DELETE', '/db', undefined, admin);
    await later.ask('PUT', '/db', undefined, admin);
    expect((await later.ask('GET', '/db/_security', undefined, admin)).body).toEqual({
      members: { roles: ['_admin'] },
      admins: { roles: ['_admin'] },
    });
  });
});

describe('another way to tell who asks', () => {
  it('is asked first', async () => {
    const authenticate = (request: Request) =>
      request.headers.get('x-user') === null
        ? undefined
        : { name: request.headers.get('x-user')!, roles: ['_admin'] };
    const server = testServer({ anonymous: false, authenticate });
    expect((await server.ask('PUT', '/db')).status).toBe(401);
    expect((await server.ask('PUT', '/db', undefined, { 'x-user': 'zoe' })).status).toBe(201);
    expect((await server.ask('GET', '/_session', undefined, { 'x-user': 'zoe' })).body.userCtx.name).toBe(
      'zoe',
    );
  });
});
