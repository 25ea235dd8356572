/** Clients that ask for what is large, often, and do not read it: what is held for them has an end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { createServer } from '../../packages/settledb/src/server';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo();
});

/** Characters of a document: what the system itself holds for a connection is less. */
const LENGTH = 7_500_000;

async function open(cors = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'settledb-unread-'));
  cleanUp.push(() => rmSync(dir, { recursive: true, force: true }));
  // Eight of the largest requests are held.
  const limits = { request: 8_000_000, document: 8_000_000 };
  const server = await createServer({ dir, port: 0, anonymous: true, limits, ...cors });
  cleanUp.push(() => server.close());
  const json = { 'content-type': 'application/json' };
  const put = (path: string, body?: object) =>
    fetch(server.url + path, { method: 'PUT', headers: json, body: JSON.stringify(body ?? {}) });
  await put('/db');
  expect((await put('/db/large', { text: 'x'.repeat(LENGTH) })).status).toBe(201);
  return { server, put };
}

/** Asks as often on as many connections, and reads nothing of the answers. */
async function askUnread(port: number, count: number, line: string): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let i = 0; i < count; i++) {
    const socket = connect(port, '127.0.0.1').pause();
    socket.on('error', () => {});
    cleanUp.push(() => socket.destroy());
    await new Promise((resolve) => socket.write(`${line} HTTP/1.1\r\nhost: localhost\r\n\r\n`, resolve));
    sockets.push(socket);
  }
  return sockets;
}

const statusOf = async (url: string, init: RequestInit = {}): Promise<number> => {
  const answer = await fetch(url, init);
  await answer.body?.cancel();
  return answer.status;
};

it.each([
  ['documents', 'GET /db/large', '/db/large'],
  ['lists', 'GET /db/_all_docs?include_docs=true', '/db/_all_docs?include_docs=true'],
  ['feeds', 'GET /db/_changes?feed=continuous&include_docs=true', '/db/_changes?include_docs=true'],
])('%s: the next ones are 503 until those are read or given up; what is small is answered', async (_, line, path) => {
  const { server, put } = await open();
  const a = { content_type: 'text/plain', data: btoa('small') };
  await put('/db/attached', { _attachments: { a } });
  const sockets = await askUnread(server.port, 16, line);
  await expect.poll(() => statusOf(server.url + path), { timeout: 20_000 }).toBe(503);
  const { error, reason } = (await (await fetch(`${server.url}/db/large`)).json()) as Record<string, string>;
  expect([error, reason]).toEqual(['service_unavailable', expect.stringContaining('not read')]);
  expect(await statusOf(`${server.url}/db`)).toBe(200);
  expect(await statusOf(`${server.url}/db/large`, { method: 'HEAD' })).toBe(200);
  expect((await put('/db/small', { n: 1 })).status).toBe(201);
  // So others go on replicating.
  expect(await statusOf(`${server.url}/db/_changes`)).toBe(200);
  expect(await statusOf(`${server.url}/db/attached/a`)).toBe(200);
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => statusOf(server.url + path), { timeout: 20_000 }).toBe(200);
});

it('what is refused may be seen by the pages that may see the answer', async () => {
  const origin = 'https://app.example';
  const { server } = await open({ cors: { origins: [origin] } });
  await askUnread(server.port, 16, 'GET /db/large');
  const ask = () => fetch(`${server.url}/db/large`, { headers: { origin } });
  await expect.poll(async () => (await ask()).status, { timeout: 20_000 }).toBe(503);
  const { headers } = await ask();
  expect([headers.get('access-control-allow-origin'), headers.get('etag')]).toEqual([origin, null]);
});

it('one answer may be larger than all that is held', async () => {
  const { server, put } = await open();
  for (let n = 0; n < 9; n++) await put(`/db/l${n}`, { text: 'x'.repeat(LENGTH) });
  const body = JSON.stringify({ selector: { _id: { $gt: null } }, limit: 100 });
  const found = await fetch(`${server.url}/db/_find`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  expect([found.status, ((await found.json()) as { docs: object[] }).docs.length]).toEqual([200, 10]);
});
