/** Who gets into a server: by password, and from which origins. */
import { describe, expect, it } from 'vitest';
import { basic, testServer } from './support';

describe('who gets in', () => {
  const closed = () => testServer({ anonymous: false, admins: { admin: 'secret', zoë: 'päss:word' } });

  it('answers anyone only at /, /_up, and at /_session, where one logs in', async () => {
    const server = closed();
    expect((await server.ask('GET', '/')).status).toBe(200);
    expect((await server.ask('GET', '/_up')).status).toBe(200);
    expect((await server.ask('GET', '/_session')).body.userCtx).toEqual({ name: null, roles: [] });
    for (const path of ['/_all_dbs', '/db', '/db/a', '/db/_changes', '/_uuids', '/__proto__', '/no%zz']) {
      const { status, body } = await server.ask('GET', path);
      expect([path, status >= 400 && status < 500, body.couchdb]).toEqual([path, true, undefined]);
    }
    expect((await server.ask('PUT', '/db')).status).toBe(401);
    expect(await server.databases.list()).toEqual([]);
  });

  it('takes the right password, also with letters beyond ASCII, and refuses a wrong one even at /', async () => {
    const server = closed();
    expect((await server.ask('PUT', '/db', undefined, basic('admin', 'secret'))).status).toBe(201);
    const utf8 = Buffer.from('zoë:päss:word').toString('base64');
    expect((await server.ask('GET', '/db', undefined, { authorization: `Basic ${utf8}` })).status).toBe(200);
    for (const [name, password] of [
      ['admin', 'secret '],
      ['admin', ''],
      ['', ''],
      ['nobody', 'secret'],
      ['constructor', ''],
    ]) {
      const { status, body } = await server.ask('GET', '/', undefined, basic(name!, password!));
      expect([status, body.error]).toEqual([401, 'unauthorized']);
    }
    expect((await server.ask('GET', '/', undefined, { authorization: 'Basic %%%' })).status).toBe(400);
    expect((await server.ask('GET', '/db', undefined, { authorization: 'Bearer x' })).status).toBe(401);
  });

  it('cannot be made so that nobody could use it', () => {
    expect(() => testServer({ anonymous: false })).toThrow(TypeError);
  });

  it('cannot be made with an administrator who has no password, as of a variable that is not set', () => {
    for (const password of [undefined, null, '', 5])
      expect(() => testServer({ anonymous: false, admins: { admin: password as never } })).toThrow(
        /^The password of the administrator 'admin' must be a text, and not empty/,
      );
    for (const admins of ['admin', [['admin', 'secret']], { '': 'secret' }, { 'a:b': 'secret' }])
      expect(() => testServer({ anonymous: false, admins: admins as never })).toThrow(TypeError);
  });

  it('gives cross-origin headers to listed origins alone, and to nobody by default', async () => {
    const asked = {
      origin: 'https://app.example',
      'access-control-request-method': 'PUT',
      // What a page sends to read on in an attachment.
      'access-control-request-headers': 'authorization, if-range, range',
    };
    const none = await testServer().ask('OPTIONS', '/db', undefined, asked);
    expect([none.status, none.headers.get('access-control-allow-origin')]).toEqual([405, null]);
    const server = testServer({ cors: { origins: ['https://app.example'], credentials: true } });
    const listed = await server.ask('OPTIONS', '/db', undefined, asked);
    expect(listed.status).toBe(204);
    expect(listed.headers.get('access-control-allow-origin')).toBe('https://app.example');
    // What an attachment varies by besides stays.
    await server.ask('PUT', '/db');
    const text = { 'content-type': 'text/plain' };
    await server.ask('PUT', '/db/doc/file', 'text', text);
    const file = await server.ask('GET', '/db/doc/file', undefined, { origin: 'https://app.example' });
    expect(file.headers.get('vary')).toBe('accept-encoding, origin');
    const other = await server.ask('GET', '/', undefined, { origin: 'https://evil.example' });
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('writes nothing that a page elsewhere may send without asking (CSRF)', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    for (const path of ['/db', '/db/_bulk_docs', '/db/_compact', '/db/_purge']) {
      const { status } = await server.ask('POST', path, '{"docs":[{"_id":"a"}]}', {
        'content-type': 'text/plain',
      });
      expect(status).toBe(415);
    }
    expect((await server.ask('GET', '/db')).body.doc_count).toBe(0);
  });
});
