/** Cookies: how long they hold, and what ends them. */
import { describe, expect, it } from 'vitest';
import { admin, closed, USER, withAlice } from './accounts';
import type { TestServer } from './support';

/** The cookie that a login gives, as a request sends it. */
async function logIn(server: TestServer, name: string, password: string): Promise<Record<string, string>> {
  const answer = await server.ask('POST', '/_session', { name, password });
  expect([answer.status, answer.body.ok, answer.body.name]).toEqual([200, true, name]);
  return { cookie: answer.headers.get('set-cookie')!.split(';')[0]! };
}

describe('session cookies', () => {
  it('are given for name and password, as JSON or as a form, and say who one is', async () => {
    const server = await withAlice();
    const cookie = await logIn(server, 'alice', 'pw');
    expect((await server.ask('GET', '/_session', undefined, cookie)).body).toMatchObject({
      userCtx: { name: 'alice', roles: ['writer'] },
      info: { authenticated: 'cookie' },
    });
    const form = await server.ask('POST', '/_session', 'name=admin&password=secret', {
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(form.body).toEqual({ ok: true, name: 'admin', roles: ['_admin'] });
    expect(form.headers.get('set-cookie')).toMatch(
      /^AuthSession=[\w-]+; Version=1; Expires=[^;]+ GMT; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    for (const body of [{ name: 'alice', password: 'x' }, { name: 'alice' }, {}, { name: 5, password: 'pw' }])
      expect((await server.ask('POST', '/_session', body)).status).toBe(401);
    expect((await server.ask('POST', '/_session', '{')).status).toBe(400);
    expect((await server.ask('POST', '/_session', 'x', { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await server.ask('POST', '/_session', { name: 'x'.repeat(20_000) })).status).toBe(413);
    const out = await server.ask('DELETE', '/_session', undefined, cookie);
    expect(out.headers.get('set-cookie')).toMatch(/^AuthSession=; .*Max-Age=0/);
  });

  it('are given to no page of another site for a form, which asks nobody before, unless its origin is listed', async () => {
    const server = await withAlice({ cors: { origins: ['https://app.example'] } });
    const logInBy = async (headers: Record<string, string>): Promise<unknown[]> => {
      const form = { 'content-type': 'application/x-www-form-urlencoded', ...headers };
      const answer = await server.ask('POST', '/_session', 'name=alice&password=pw', form);
      return [answer.status, answer.headers.has('set-cookie')];
    };
    const stranger = { 'sec-fetch-site': 'cross-site', origin: 'https://elsewhere.example' };
    expect(await logInBy(stranger)).toEqual([403, false]);
    expect(await logInBy({ ...stranger, origin: 'null' })).toEqual([403, false]);
    expect(await logInBy({ 'sec-fetch-site': 'cross-site' })).toEqual([403, false]);
    expect(await logInBy({ ...stranger, origin: 'https://app.example' })).toEqual([200, true]);
    for (const site of ['same-origin', 'same-site', 'none'])
      expect(await logInBy({ ...stranger, 'sec-fetch-site': site })).toEqual([200, true]);
    // Any page has the origin `null` in a frame with `sandbox`, or with the policy `no-referrer`.
    for (const [listed, origin] of [
      ['*', stranger.origin],
      ['null', 'null'],
    ] as const) {
      const open = await withAlice({ cors: { origins: [listed] } });
      const form = { 'content-type': 'application/x-www-form-urlencoded', ...stranger, origin };
      const { status } = await open.ask('POST', '/_session', 'name=alice&password=pw', form);
      expect([listed, status]).toEqual([listed, 403]);
    }
  });

  it('are nothing when changed, expired, of another server, or of before a new password', async () => {
    const server = await withAlice();
    const { cookie } = (await logIn(server, 'alice', 'pw')) as { cookie: string };
    const nameWith = async (text: string, at = server) =>
      (await at.ask('GET', '/_session', undefined, { cookie: text })).body.userCtx.name;
    expect(await nameWith(cookie)).toBe('alice');
    expect(await nameWith(`other=1; ${cookie}; more=2`)).toBe('alice');
    for (let i = 12; i < cookie.length; i += 5) {
      const changed = cookie.slice(0, i) + (cookie[i] === 'A' ? 'B' : 'A') + cookie.slice(i + 1);
      expect(await nameWith(changed)).toBeNull();
    }
    for (const text of [
      'AuthSession=',
      'AuthSession=x',
      `AuthSession=${'x'.repeat(9_000)}`,
      'AuthSession=%zz',
    ])
      expect(await nameWith(text)).toBeNull();
    expect(await nameWith(cookie, await withAlice())).toBeNull();
    const forged = Buffer.from(`admin:7FFFFFFF:${'0'.repeat(64)}`).toString('base64url');
    expect(await nameWith(`AuthSession=${forged}`)).toBeNull();
    const { body } = await server.ask('GET', `${USER}alice`, undefined, admin);
    await server.ask('PUT', `${USER}alice`, { ...body, password: 'new' }, admin);
    expect(await nameWith(cookie)).toBeNull();

    const short = await withAlice({ cookies: { timeout: 0 } });
    expect(await nameWith((await logIn(short, 'alice', 'pw')).cookie!, short)).toBeNull();
  });

  it('are for any name, also one that makes base64 of more than letters and digits', async () => {
    const server = closed();
    const name = 'zoë?>~';
    const doc = { name, password: 'pw', roles: [], type: 'user' };
    expect((await server.ask('PUT', USER + encodeURIComponent(name), doc, admin)).status).toBe(201);
    const cookie = await logIn(server, name, 'pw');
    expect(cookie.cookie).toMatch(/_.*-/);
    expect((await server.ask('GET', '/_session', undefined, cookie)).body.userCtx.name).toBe(name);
  });

  it('outlive the handler, and are renewed when a tenth of their time is over, as CouchDB does', async () => {
    const server = await withAlice();
    const { databases } = server;
    const cookie = await logIn(server, 'alice', 'pw');
    const later = closed({ databases });
    const fresh = await later.ask('GET', '/_session', undefined, cookie);
    expect(fresh.body.userCtx.name).toBe('alice');
    expect(fresh.headers.get('set-cookie')).toBeNull();
    // For a handler whose cookies live a bit longer, this one has been used for more than a tenth of its time, or for less.
    for (const [timeout, isOld] of [
      [690, true],
      [640, false],
    ] as const) {
      const bit = await closed({ databases, cookies: { timeout } }).ask('GET', '/', undefined, cookie);
      expect([timeout, bit.headers.has('set-cookie')]).toEqual([timeout, isOld]);
    }
    const longer = closed({ databases, cookies: { timeout: 5_000, sameSite: 'None' } });
    const renewed = await longer.ask('GET', '/', undefined, cookie);
    expect(renewed.headers.get('set-cookie')).toMatch(
      /Max-Age=5000; Path=\/; HttpOnly; SameSite=None; Secure$/,
    );
    const out = await longer.ask('DELETE', '/_session', undefined, cookie);
    expect(out.headers.get('set-cookie')).toMatch(/^AuthSession=; /); // Not renewed.
  });

  it('are renewed in no answer that a cache before the server may give to others', async () => {
    const server = await withAlice();
    const cookie = await logIn(server, 'alice', 'pw');
    const later = closed({ databases: server.databases, cookies: { timeout: 5_000 } });
    for (const path of ['/', '/_up', '/_session', '/_uuids', '/favicon.ico', '/none', '/_users']) {
      const { headers } = await later.ask('GET', path, undefined, cookie);
      const isShared = !/private|no-cache/.test(headers.get('cache-control') ?? '');
      expect([path, headers.has('set-cookie') && isShared]).toEqual([path, false]);
    }
  });

  it('are signed by a secret that no path leads to', async () => {
    const server = await withAlice();
    await logIn(server, 'alice', 'pw');
    for (const path of ['/_settings', '/_settings/secret', '/_settings/_all_docs', '/%5Fsettings/secret']) {
      const { status } = await server.ask('GET', path, undefined, admin);
      expect([path, status]).toEqual([path, 404]);
    }
    expect((await server.ask('PUT', '/_settings/x', {}, admin)).status).toBe(400);
    expect((await server.ask('GET', '/_all_dbs', undefined, admin)).body).toEqual(['_users']);
    expect((await server.ask('POST', '/_dbs_info', { keys: ['_settings'] }, admin)).body).toEqual([
      { key: '_settings', error: 'not_found' },
    ]);
  });
});
