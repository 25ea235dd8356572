/** The handler within somebody else's server, as docs/server.md shows it. */
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { remote } from '@settledb/remote';
import { Hono } from 'hono';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  createHandler,
  FolderDatabases,
  serverQueries,
  serverUuid,
} from '../../packages/settledb/src/server';
import { importUntyped, serveOn } from '../support/express-pouchdb';
import { type TestServer, testServer } from './support';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const undo of cleanUp.splice(0)) await undo();
});

/** What a client does, through the mount: writes, an attachment, a live feed. */
async function use(url: string, fetch?: typeof globalThis.fetch): Promise<void> {
  const db = remote<{ n?: number }>(url, fetch === undefined ? {} : { fetch });
  await db.put({ _id: 'a/b', n: 1 });
  expect(await db.get('a/b')).toMatchObject({ n: 1 });
  await db.putAttachment('file', 'x.bin', new Blob([new Uint8Array(300_000)]), 'x/y');
  expect(((await db.getAttachment('file', 'x.bin')) as Blob).size).toBe(300_000);
  for await (const { id } of db.changes({ live: true, since: 0 })) if (id === 'file') break;
  await db.close();
}

describe('the handler is mounted', () => {
  it('over databases in a folder, as the documentation makes it', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'settledb-mounted-'));
    cleanUp.push(() => rm(dir, { recursive: true, force: true }));
    const once = async () => {
      const databases = new FolderDatabases(dir);
      const uuid = await serverUuid(dir);
      const options = { databases, queries: serverQueries(), uuid, admins: { admin: 'secret' } };
      const { handle, close } = createHandler(options);
      const fetch: typeof globalThis.fetch = (input, init) => handle(new Request(input, init));
      const db = remote<{ n?: number }>('http://admin:secret@x.test/db', { fetch });
      const end = async () => {
        await db.close();
        close();
        await databases.close();
      };
      return { db, fetch, end };
    };
    const first = await once();
    await use('http://admin:secret@x.test/db', first.fetch);
    expect((await first.db.find({ selector: { n: 1 } })).docs).toHaveLength(1);
    const id = await first.db.id();
    await first.end();
    const second = await once();
    expect(await second.db.get('a/b')).toMatchObject({ n: 1 });
    expect(await second.db.id()).toBe(id);
    await second.end();
  });

  it('in Hono', async () => {
    const { handle } = testServer();
    const app = new Hono();
    app.get('/', (context) => context.text('ours'));
    app.mount('/couch', (request: Request) => handle(request));
    const fetch: typeof globalThis.fetch = async (input, init) => app.request(new Request(input, init));
    expect(await (await fetch('http://x.test/')).text()).toBe('ours');
    await use('http://x.test/couch/db', fetch);
  });

  it('in Express', async () => {
    const { handle } = testServer();
    const app = (await importUntyped('express'))();
    const listener = getRequestListener((request) => handle(request), { overrideGlobalObjects: false });
    app.get('/', (_request: unknown, response: { send(text: string): void }) => response.send('ours'));
    app.use('/couch', (request: never, response: never) => listener(request, response));
    const { url, close } = await serveOn(app);
    cleanUp.push(close);
    expect(await (await fetch(url)).text()).toBe('ours');
    await use(`${url}/couch/db`);
  });

  it('in Express, where requests of one connection wait for their turns, or are not begun if their client hangs up', async () => {
    const { handle } = testServer();
    const begun: string[] = [];
    const answer = getRequestListener(
      (request) => {
        begun.push(new URL(request.url).search);
        return handle(request);
      },
      { overrideGlobalObjects: false },
    );
    const listener = (req: IncomingMessage, res: ServerResponse): void => {
      if (res.socket) answer(req, res);
      else res.once('socket', () => answer(req, res));
    };
    const app = (await importUntyped('express'))();
    app.use('/couch', listener);
    const { url, close } = await serveOn(app);
    cleanUp.push(close);
    await fetch(`${url}/couch/db`, { method: 'PUT' });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const get = (query: string) => `GET /couch/db/_changes?${query} HTTP/1.1\r\nHost: x.test\r\n\r\n`;
    const live = 'feed=continuous&since=now';
    begun.length = 0;
    socket.write(get('a=1') + get('a=2') + get(live) + get(live));
    await vi.waitUntil(() => begun.length === 3);
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await fetch(`${url}/couch/db?end`);
    expect(begun).toEqual(['?a=1', '?a=2', `?${live}`, '?end']);
  });

  describe('where a body that is left breaks the connection off', () => {
    const document = '{"_attachments":{"t":{"follows":true,"length":5}}}';
    const text = `--b\r\ncontent-type: application/json\r\n\r\n${document}\r\n--b\r\n\r\nhello\r\n--b--`;
    const headers = { 'content-type': 'multipart/related; boundary=b' };
    /** Puts a document of pieces, of which the next comes when there is time, as Node reads them. */
    const put = (handle: TestServer['handle'], pieces: string[], cancel: () => void) => {
      const body = new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            await new Promise((resolve) => setTimeout(resolve));
            const piece = pieces.shift();
            if (piece === undefined) controller.close();
            else controller.enqueue(new TextEncoder().encode(piece));
          },
          cancel,
        },
        { highWaterMark: 0 },
      );
      const init = { method: 'PUT', headers, body, duplex: 'half' } as RequestInit;
      return handle(new Request('http://x.test/db/a', init));
    };

    it('reads one of several parts to its end', async () => {
      const { ask, handle } = testServer();
      await ask('PUT', '/db');
      const cancel = vi.fn();
      expect((await put(handle, [text], cancel)).status).toBe(201);
      expect(cancel).not.toHaveBeenCalled();
      expect((await ask('GET', '/db/a/t')).body).toBe('hello');
    });

    it('does not leave one that it refuses before its client can have read why, and then does', async () => {
      const { ask, handle } = testServer({ limits: { attachment: 2 } });
      await ask('PUT', '/db');
      const cancel = vi.fn();
      expect((await put(handle, [text.slice(0, -5), text.slice(-5)], cancel)).status).toBe(413);
      expect(cancel).not.toHaveBeenCalled();
      await vi.waitUntil(() => cancel.mock.calls.length > 0, { timeout: 5_000 });
    });
  });

  it.each(['/couch', '/couch/', '/a/b%20c'])('at a path of which it is told: %s', async (path) => {
    const { handle } = testServer({ path });
    const fetch: typeof globalThis.fetch = (input, init) => handle(new Request(input, init));
    const base = `http://x.test${path.replace(/\/$/, '')}`;
    await use(`${base}/db`, fetch);
    for (const url of [base, `${base}/`]) expect(await (await fetch(url)).json()).toHaveProperty('couchdb');
    const made = await fetch(`${base}/other`, { method: 'PUT' });
    expect(made.headers.get('location')).toBe(`${base}/other`);
    const written = await fetch(`${base}/other/a%2Fb`, { method: 'PUT', body: '{}' });
    expect(written.headers.get('location')).toBe(`${base}/other/a%2Fb`);
    for (const elsewhere of ['http://x.test/', 'http://x.test/other', `${base}s/other`]) {
      const answer = await fetch(elsewhere);
      expect([answer.status, await answer.json()]).toEqual([
        404,
        { error: 'not_found', reason: `This server is mounted at ${path.replace(/\/$/, '')}` },
      ]);
    }
  });

  it.each(['couch', '', '/a?b', '/a b', '//host/couch', '/a/../b', 5])('at no path such as %j', (path) => {
    expect(() => testServer({ path: path as string })).toThrow(
      new TypeError(`path must be one as URLs have it: '/couch', not ${JSON.stringify(path)}`),
    );
  });
});
