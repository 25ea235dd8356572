/** Many requests sent on one connection without waiting for answers: they wait in the client's system, not in the server's memory. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createServer } from '../../packages/settledb/src/server';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo();
});

async function start() {
  const dir = await mkdtemp(join(tmpdir(), 'settledb-pipelining-'));
  cleanUp.push(() => rm(dir, { recursive: true, force: true }));
  const lines: string[] = [];
  const logger = { info: (line: string) => void lines.push(line), error() {} };
  const server = await createServer({ dir, port: 0, anonymous: true, logger });
  cleanUp.push(() => server.close());
  await fetch(`${server.url}/db`, { method: 'PUT' });
  let begun = 0;
  const count = () => void begun++;
  subscribe('http.server.request.start', count);
  cleanUp.push(() => unsubscribe('http.server.request.start', count));
  let text = '';
  const socket = connect({ port: server.port, host: '127.0.0.1' });
  socket.on('data', (data) => (text += data)).on('error', () => {});
  cleanUp.push(() => socket.destroy());
  return { server, socket, lines, begun: () => begun, text: () => text };
}

const until = async (what: () => boolean): Promise<void> => {
  while (!what()) await new Promise((resolve) => setTimeout(resolve, 5));
};
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const LONGPOLL = 'GET /db/_changes?feed=longpoll&since=now HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
const GET = 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
const put = (i: number) => {
  const body = JSON.stringify({ text: 'x'.repeat(i * 100) });
  return `PUT /db/d${i} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};

describe('requests sent without waiting for their answers', () => {
  it('are not read without end while the first is answered, and are answered all in the end', async () => {
    const { server, socket, begun, text } = await start();
    const count = 30_000;
    socket.write(LONGPOLL);
    await until(() => text().includes('{"results":['));
    socket.write(GET.repeat(count));
    await until(() => begun() > 16);
    await pause(300);
    expect(begun()).toBeLessThan(5_000);
    await fetch(`${server.url}/db/wakes`, {
      method: 'PUT',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    });
    const answers = () => text().split('"couchdb":"Welcome"').length - 1;
    await until(() => answers() === count);
  });

  it('are answered in their order, bodies among them', async () => {
    const { socket, text } = await start();
    const ids = Array.from({ length: 100 }, (_, i) => `d${i}`);
    socket.write(ids.map((_, i) => put(i)).join(''));
    const answered = () => [...text().matchAll(/"id":"(d\d+)"/g)].map(([, id]) => id);
    await until(() => answered().length === ids.length);
    expect(answered()).toEqual(ids);
  });

  it('are not begun if the client hangs up meanwhile: nobody would end their feeds', async () => {
    const { server, socket, lines, begun, text } = await start();
    const before = begun();
    socket.write(LONGPOLL.repeat(3));
    await until(() => text().includes('{"results":[') && begun() === before + 3);
    socket.destroy();
    await pause(100);
    await fetch(server.url);
    expect(lines.filter((line) => line.includes('_changes'))).toHaveLength(1);
  });

  const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);

  it.each([
    ['a write', put(1), ['201', '400']],
    ['reading', GET + GET, ['200', '200', '400']],
    ['a feed that waits', LONGPOLL.replace('since=now', 'since=now&timeout=50'), ['200', '400']],
  ])('are answered before what follows them and is no HTTP is refused: %s', async (_what, requests, expected) => {
    const { socket, text } = await start();
    socket.write(`${requests}NONSENSE\r\n\r\n`);
    setTimeout(() => socket.write('more\r\n\r\n'), 10);
    await until(() => socket.closed);
    expect(statuses(text())).toEqual(expected);
  });

  it('are not answered by the refusal of a body that breaks off behind them', async () => {
    const { socket, text } = await start();
    const chunked =
      'PUT /db/x HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n';
    socket.write(put(1) + chunked);
    await until(() => socket.closed);
    expect(statuses(text())).not.toContain('400');
  });

  it('do not keep the server from closing', async () => {
    const { server, socket, text } = await start();
    socket.write(LONGPOLL);
    await until(() => text().includes('{"results":['));
    socket.write(GET.repeat(3_000));
    await pause(100);
    socket.destroy();
    await server.close();
  });
});
