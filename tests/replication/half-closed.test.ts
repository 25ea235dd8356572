/**
 * A connection that is half closed amid a request, by whatever stands between: the server reads its end, and the client still reads
 * what the server says. Real sockets, our server.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer as createProxy, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { memory } from '../../packages/settledb/src/memory';
import { createServer } from '../../packages/settledb/src/server';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo();
});

async function startServer(): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'settledb-half-'));
  cleanUp.push(() => rmSync(dir, { force: true, recursive: true }));
  const server = await createServer({ dir, port: 0, anonymous: true });
  cleanUp.push(() => server.close());
  return server.port;
}

/** Lets through what comes, but ends the way to the server amid the first `cut` requests that `isCut`. */
async function startProxy(port: number, isCut: (request: string) => boolean, cut: number): Promise<number> {
  let left = cut;
  const proxy: Server = createProxy({ allowHalfOpen: true }, (client) => {
    const server = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    client.on('data', (bytes) => {
      if (left === 0 || !isCut(bytes.toString('latin1'))) return server.write(bytes);
      left--;
      return server.end(bytes.subarray(0, -BYTES_KEPT));
    });
    server.pipe(client);
    for (const end of [client, server]) end.on('error', () => undefined);
    client.on('close', () => server.destroy());
    server.on('close', () => client.destroySoon());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  cleanUp.push(() => proxy.close());
  return (proxy.address() as AddressInfo).port;
}
/** Requests of a replication that are cut, one after the other. */
const CUTS = 2;
/** Within the head where there is no body, and within any body. */
const BYTES_KEPT = 5;

describe('a request cut by half a connection', () => {
  it.each([
    ['of the handshake', /^GET \//],
    ['that looks for what is missing', /^POST [^ ]*_revs_diff/],
    ['with documents', /^POST [^ ]*_bulk_docs/],
    ['with a document and its attachment', /^PUT [^ ]*\/large/],
  ])('is made again by a live replication: one %s', async (_what, pattern) => {
    const port = await startServer();
    await fetch(`http://127.0.0.1:${port}/db`, { method: 'PUT' });
    const far = await startProxy(port, (request) => pattern.test(request), CUTS);
    const db = new SettleDB('here', { adapter: memory() });
    cleanUp.push(() => db.destroy());
    await db.put({ _id: 'small' });
    const data = Buffer.alloc(200_000, 'some text ');
    await db.put({ _id: 'large', _attachments: { text: { content_type: 'text/plain', data } } });
    const push = db.replicate.to(`http://127.0.0.1:${far}/db`, {
      live: true,
      retry: true,
      back_off_function: () => 10,
    });
    const waits: unknown[] = [];
    const settled = new Promise<void>((resolve) => {
      push.on('paused', (error) => {
        if (error === undefined) resolve();
        else waits.push((error as { name: string }).name);
      });
    });
    await Promise.race([settled, push]);
    push.cancel();
    expect(await push).toMatchObject({ status: 'cancelled', docs_written: 2, doc_write_failures: 0 });
    expect(new Set(waits)).toEqual(new Set(['unreachable']));
    const stored = await fetch(`http://127.0.0.1:${port}/db/large/text`);
    expect(Buffer.from(await stored.arrayBuffer())).toEqual(data);
  });

  it.each([
    ['its head', 'PUT /db/a HTTP/1.1\r\nHost: 127'],
    ['its body', 'PUT /db/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"a":'],
    [
      'a piece of its body',
      'POST /db/_bulk_docs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a',
    ],
  ])('is not said to be wrong: amid %s', async (_where, text) => {
    const port = await startServer();
    expect(await answerTo(port, text)).toBe('');
  });

  it('one that is wrong is still said to be so', async () => {
    const port = await startServer();
    expect(await answerTo(port, 'no request at all\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    const header = `x: ${'x'.repeat(20_000)}`;
    expect(await answerTo(port, `GET / HTTP/1.1\r\nHost: localhost\r\n${header}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 /,
    );
  });
});

/** What comes back when nothing follows. */
function answerTo(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.end(text));
    socket.on('data', (bytes) => {
      answer += bytes.toString();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answer));
  });
}
