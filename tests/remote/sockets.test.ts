/** Clients that are slow, broken or many, on raw sockets: what they hold is bounded, and others are served meanwhile. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtemp, rm } from 'node:fs/promises';
import { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memory } from '@settledb/adapter-memory';
import {
  type ChangesOptions,
  type Database,
  type DatabaseTables,
  LocalDatabase,
  schema,
} from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createServer, type RunningServer, type ServerOptions } from '../../packages/settledb/src/server';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo();
});

async function start(options: Partial<ServerOptions> = {}): Promise<RunningServer> {
  const dir = await mkdtemp(join(tmpdir(), 'settledb-sockets-'));
  cleanUp.push(() => rm(dir, { recursive: true, force: true }));
  const server = await createServer({ dir, port: 0, anonymous: true, ...options });
  cleanUp.push(() => server.close());
  return server;
}

interface Client {
  readonly socket: Socket;
  /** What came so far. */
  text(): string;
  /** Settles when the server has closed the connection, or broken it off. */
  readonly closed: Promise<void>;
}

function client({ port }: RunningServer, allowHalfOpen = false): Promise<Client> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen }, () =>
      resolve({ socket, text: () => text, closed }),
    );
    const closed = new Promise<void>((end) => {
      socket.once('close', () => end());
      if (allowHalfOpen) socket.once('end', () => end());
    });
    socket.on('data', (data) => (text += data)).on('error', () => {});
    cleanUp.push(() => socket.destroy());
  });
}

/** The server's ends of connections that are made from now on. */
function ends(): readonly Socket[] {
  const accepted: Socket[] = [];
  const add = (message: unknown): void => void accepted.push((message as { socket: Socket }).socket);
  subscribe('net.server.socket', add);
  cleanUp.push(() => unsubscribe('net.server.socket', add));
  return accepted;
}

/** Closes a server that has nothing under way: none of its connections must be cut off for that, when its patience ends. */
async function closeFree(server: RunningServer): Promise<void> {
  const cutOff = vi.spyOn(Server.prototype, 'closeAllConnections');
  cleanUp.push(() => cutOff.mockRestore());
  await server.close();
  expect(cutOff).not.toHaveBeenCalled();
}

const until = async (what: () => boolean): Promise<void> => {
  while (!what()) await new Promise((resolve) => setTimeout(resolve, 5));
};
/** A client that stood still for longer than it may, as the whole machine may, is cut off: it asks again. */
const asked = async (url: string, init?: RequestInit): Promise<Response> => {
  for (let again = 0; ; again++) {
    const answer = await fetch(url, init).catch((cause) =>
      again < AGAIN ? undefined : Promise.reject(cause),
    );
    if (answer !== undefined && (answer.status !== 408 || again === AGAIN)) return answer;
  }
};
const AGAIN = 5;
/** A document with the attachment `x`, as multipart. */
const related = (data: string) =>
  `--b\r\nContent-Type: application/json\r\n\r\n${JSON.stringify({
    _attachments: { x: { follows: true, content_type: 'text/plain', length: data.length } },
  })}\r\n--b\r\n\r\n${data}\r\n--b--`;
const HEAD = (path: string, method = 'GET') => `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n`;

describe('a client that is slow', () => {
  it('with its headers is cut off, others being served meanwhile', async () => {
    const server = await start({ timeouts: { headers: 300 } });
    const slow = await client(server);
    slow.socket.write(HEAD('/'));
    const dripping = setInterval(() => slow.socket.write('X-A: b\r\n'), 20);
    cleanUp.push(() => clearInterval(dripping));
    expect((await asked(`${server.url}/_up`)).status).toBe(200);
    await slow.closed;
    expect(slow.text()).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('with its body is cut off, and nothing of it is written', async () => {
    const server = await start({ timeouts: { headers: 300, request: 400 } });
    await asked(`${server.url}/db`, { method: 'PUT' });
    const slow = await client(server);
    slow.socket.write(
      `${HEAD('/db', 'POST')}Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{"a":"`,
    );
    const dripping = setInterval(() => slow.socket.write('x'), 20);
    cleanUp.push(() => clearInterval(dripping));
    await slow.closed;
    const { doc_count } = (await (await asked(`${server.url}/db`)).json()) as { doc_count: number };
    expect(doc_count).toBe(0);
  });

  it('to say anything at all is let go', async () => {
    const server = await start({ timeouts: { idle: 200 } });
    await (await client(server)).closed;
  });
});

describe('work that takes longer than a client may', () => {
  /** A database whose lists wait until they are let go, or for long if `ms` says so. */
  async function slow(wait: (signal: AbortSignal) => Promise<void>): Promise<Partial<ServerOptions>> {
    const store = await openLogStore<DatabaseTables>(await memory().open('slow'), schema);
    const db = await LocalDatabase.open(store, { name: 'slow', adapter: 'memory' });
    const allDocs = db.allDocs.bind(db);
    const slowly = Object.assign(db, {
      allDocs: async (options: { signal: AbortSignal }) => {
        await wait(options.signal);
        return allDocs(options);
      },
    });
    return { open: async () => slowly as unknown as Database, timeouts: { idle: 100 } };
  }

  /** A database that waits before it writes documents. */
  async function slowToTake(wait: () => Promise<void>): Promise<Partial<ServerOptions>> {
    const store = await openLogStore<DatabaseTables>(await memory().open('slow'), schema);
    const db = await LocalDatabase.open(store, { name: 'slow', adapter: 'memory' });
    const { put, putAttachment } = db;
    const slowly = Object.assign(db, {
      put: (...given: Parameters<typeof put>) => wait().then(() => put.apply(db, given)),
      putAttachment: (...given: Parameters<typeof putAttachment>) =>
        wait().then(() => putAttachment.apply(db, given)),
    });
    return { open: async () => slowly as unknown as Database, timeouts: { idle: 100 } };
  }

  it('is answered at its end, by GET and by POST', async () => {
    const server = await start(await slow(() => new Promise((resolve) => setTimeout(resolve, 450))));
    await asked(`${server.url}/slow`, { method: 'PUT' });
    expect((await asked(`${server.url}/slow/_all_docs`)).status).toBe(200);
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ queries: [{}, {}], more: 'x'.repeat(100_000) });
    const posted = await asked(`${server.url}/slow/_all_docs/queries`, { method: 'POST', headers, body });
    expect(((await posted.json()) as { results: unknown[] }).results).toHaveLength(2);
    // Between requests the client is bounded as before.
    let text = '';
    for (let again = 0; again <= AGAIN && text === ''; again++) {
      const done = await client(server);
      done.socket.write(`${HEAD('/')}\r\n`);
      await done.closed;
      text = done.text();
    }
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
  });

  // The client cannot send more than the server and the system hold: it waits, though its request is not there whole.
  it.each([
    ['an attachment', 'application/octet-stream', (data: string) => data],
    ['a document with attachments', 'multipart/related; boundary=b', related],
  ])('is done for %s of which a part is not taken yet', async (_, type, form) => {
    const data = 'x'.repeat(16 * 2 ** 20);
    const server = await start(await slowToTake(() => new Promise((resolve) => setTimeout(resolve, 450))));
    await asked(`${server.url}/slow`, { method: 'PUT' });
    const path = type.startsWith('multipart') ? 'slow/a' : 'slow/a/x';
    const headers = { 'content-type': type };
    const put = await asked(`${server.url}/${path}`, { method: 'PUT', headers, body: form(data) });
    expect(put.status).toBe(201);
    expect(await (await asked(`${server.url}/slow/a/x`)).text()).toHaveLength(data.length);
  });

  it('is not for a body that does not come, and ends when the client goes', async () => {
    let begun = false;
    let aborted = false;
    const options = await slow(async (signal) => {
      begun = true;
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      aborted = true;
    });
    const server = await start(options);
    await asked(`${server.url}/slow`, { method: 'PUT' });
    const half = await client(server);
    half.socket.write(
      `${HEAD('/slow', 'POST')}Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"a":"`,
    );
    await half.closed;
    let gone: Client;
    do {
      gone = await client(server);
      gone.socket.write(`${HEAD('/slow/_all_docs')}\r\n`);
      await Promise.race([until(() => begun), gone.closed]);
    } while (!begun);
    gone.socket.destroy();
    await until(() => aborted);
  });
});

describe('headers that are too large', () => {
  it('are 431, and the connection ends', async () => {
    const server = await start();
    const large = await client(server);
    large.socket.write(`${HEAD('/')}X-Large: ${'x'.repeat(100_000)}\r\n\r\n`);
    await large.closed;
    expect(large.text()).toMatch(/^HTTP\/1\.1 431 /);
    expect((await fetch(`${server.url}/_up`)).status).toBe(200);
  });
});

describe('a client that closes its half of the connection', () => {
  // As Node has it: who died looks the same, and what waits for him must be let go.
  it('counts as gone: the connection ends, and so does what was open for it', async () => {
    const server = await start();
    await fetch(`${server.url}/db`, { method: 'PUT' });
    const half = await client(server, true);
    half.socket.write(`${HEAD('/db/_changes?feed=continuous&heartbeat=60000')}\r\n`);
    await until(() => half.text().includes('200 OK'));
    half.socket.end();
    await half.closed;
    await closeFree(server);
  });
});

/** A database of 40 MB in memory, and how many of its changes were read. */
async function large(): Promise<{ options: Partial<ServerOptions>; read: () => number }> {
  const store = await openLogStore<DatabaseTables>(await memory().open('large'), schema);
  const db = await LocalDatabase.open<Record<string, unknown>>(store, { name: 'large', adapter: 'memory' });
  const text = 'x'.repeat(10_000);
  for (let at = 0; at < 4000; at += 500)
    await db.bulkDocs(Array.from({ length: 500 }, (_, i) => ({ _id: `d${at + i}`, text })));
  let count = 0;
  const changes = (options: ChangesOptions = {}) => {
    const feed = db.changes(options);
    const iterate = feed[Symbol.asyncIterator].bind(feed);
    feed[Symbol.asyncIterator] = () => {
      const iterator = iterate();
      const next = iterator.next.bind(iterator);
      iterator.next = async () => {
        count++;
        return next();
      };
      return iterator;
    };
    return feed;
  };
  const counted = new Proxy(db, {
    get: (_, name) => {
      if (name === 'changes') return changes;
      const value = Reflect.get(db, name, db) as unknown;
      return typeof value === 'function' ? value.bind(db) : value;
    },
  });
  return { options: { open: async () => counted as unknown as Database }, read: () => count };
}

describe('a client that hangs up as soon as it has asked', () => {
  it('may guess no more passwords than others, though nobody knows its address any more', async () => {
    const lines: string[] = [];
    const logger = { info: (line: string) => void lines.push(line) };
    const server = await start({ anonymous: false, admins: { admin: 'secret' }, logger });
    const guess = `${HEAD('/db', 'PUT')}Authorization: Basic ${btoa('admin:wrong')}\r\n\r\n`;
    for (let n = 1; lines.length < 20; n++) {
      const { socket } = await client(server);
      await new Promise<void>((resolve) => socket.write(guess, () => resolve()));
      socket.resetAndDestroy();
      // A guess that the system drops with its connection is never seen.
      if (n >= 20) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    // Five by its address, while that is known, and five without.
    expect(lines.filter((line) => line.includes(' 401 ')).length).toBeLessThanOrEqual(10);
  });
});

describe('a client that does not read its answer', () => {
  it('holds a few pieces of it, not the database; and gets the rest when it reads', async () => {
    const { options, read } = await large();
    const server = await start(options);
    await fetch(`${server.url}/large`, { method: 'PUT' });
    const lazy = await client(server);
    lazy.socket.pause();
    lazy.socket.write(`${HEAD('/large/_changes?include_docs=true')}Connection: close\r\n\r\n`);
    await until(() => read() > 0);
    let before = -1;
    while (before !== read()) {
      before = read();
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    // What the system's buffers take, and ours. All would be 4,000.
    expect(before).toBeLessThan(2000);
    lazy.socket.resume();
    await lazy.closed;
    expect(lazy.text()).toContain('"last_seq":"4000"');
  });

  it('is cut off in the end, and what it was read from let go', async () => {
    const { options, read } = await large();
    const server = await start({ ...options, timeouts: { idle: 400 } });
    await asked(`${server.url}/large`, { method: 'PUT' });
    const accepted = ends();
    const lazy = await client(server);
    lazy.socket.pause();
    lazy.socket.write(`${HEAD('/large/_changes?include_docs=true')}\r\n`);
    await until(() => read() > 0 && accepted.every(({ closed }) => closed));
    // Nothing is open any more: closing needs no time-out of its own.
    await closeFree(server);
    expect(read()).toBeLessThan(4000);
  });
});

describe('feeds that wait', () => {
  const FEEDS = 300;
  /** By this thread: of the process there would also be what other files of tests, which run beside this one, fill. */
  const held = (): number => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };

  it(`may be ${FEEDS}, each hears of a write, and they hold little`, async () => {
    const server = await start();
    await fetch(`${server.url}/db`, { method: 'PUT' });
    const before = held();
    const feeds = await Promise.all(Array.from({ length: FEEDS }, () => client(server)));
    for (const { socket } of feeds)
      socket.write(`${HEAD('/db/_changes?feed=continuous&heartbeat=10000')}\r\n`);
    await until(() => feeds.every(({ text }) => text().includes('200 OK')));
    // Both ends are in this process.
    expect((held() - before) / FEEDS).toBeLessThan(500 * 1024);
    const headers = { 'content-type': 'application/json' };
    await fetch(`${server.url}/db`, { method: 'POST', body: '{"_id":"heard"}', headers });
    await until(() => feeds.every(({ text }) => text().includes('"heard"')));
    for (const { socket } of feeds) socket.destroy();
    expect((await fetch(`${server.url}/_up`)).status).toBe(200);
  });
});
