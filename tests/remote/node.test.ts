/** The server on Node, over real sockets and files. */
import dns from 'node:dns';
import { mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, Server } from 'node:net';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { remote } from '@settledb/remote';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type NodeFiles as Files, nodeFiles } from '../../adapters/file/src/node-files';
import { createServer, type RunningServer, type ServerOptions } from '../../packages/settledb/src/server';

const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo();
});

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'settledb-server-'));
  cleanUp.push(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

async function start(options: Partial<ServerOptions> & { dir: string }): Promise<RunningServer> {
  const server = await createServer({ port: 0, anonymous: true, ...options });
  cleanUp.push(() => server.close());
  return server;
}

describe('a server on files', () => {
  it('keeps databases, and its identity, over a restart', async () => {
    const dir = await folder();
    const first = await start({ dir });
    expect(first.url).toBe(`http://127.0.0.1:${first.port}`);
    const db = remote<{ n: number }>(`${first.url}/a%2Fb+c`);
    const { rev } = await db.put({ _id: 'x/y', n: 1 });
    const id = await db.id();
    await db.close();
    await first.close();
    await first.close();
    expect((await readdir(dir)).sort()).toEqual(['a%2fb+c', 'server.json']);
    const second = await start({ dir });
    const again = remote(`${second.url}/a%2Fb+c`);
    expect(await again.get('x/y')).toEqual({ _id: 'x/y', _rev: rev, n: 1 });
    expect(await again.id()).toBe(id);
    expect(await (await fetch(`${second.url}/_all_dbs`)).json()).toEqual(['a/b+c']);
    await again.destroy();
    expect(await readdir(dir)).toEqual(['server.json']);
  });

  it('tells with HEAD how long the answer to GET is', async () => {
    const { url } = await start({ dir: await folder() });
    await fetch(`${url}/db`, { method: 'PUT' });
    await fetch(`${url}/db/a`, { method: 'PUT', body: JSON.stringify({ text: 'zoë' }) });
    await fetch(`${url}/db/b/f`, { method: 'PUT', body: 'hello' });
    for (const path of ['', '/db', '/db/a', '/db/none', '/db/b/f', '/db/_all_docs']) {
      const got = await fetch(url + path);
      const head = await fetch(url + path, { method: 'HEAD' });
      const length = String((await got.arrayBuffer()).byteLength);
      expect([path, head.status, head.headers.get('content-length')]).toEqual([path, got.status, length]);
      expect(await head.text()).toBe('');
    }
  });

  it('makes one database of many creations, and neither opens nor lists folders that are none', async () => {
    const dir = await folder();
    await writeFile(join(dir, 'notes'), '');
    const server = await start({ dir });
    const put = () => fetch(`${server.url}/db`, { method: 'PUT' }).then(({ status }) => status);
    expect((await Promise.all(Array.from({ length: 8 }, put))).sort()).toEqual([
      201, 412, 412, 412, 412, 412, 412, 412,
    ]);
    const statuses = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        fetch(`${server.url}/db`, { method: i % 2 ? 'PUT' : 'DELETE' }).then(({ status }) => status),
      ),
    );
    expect(statuses.every((status) => [200, 201, 404, 412].includes(status))).toBe(true);
    expect((await fetch(`${server.url}/server.json`)).status).toBe(400);
    expect((await fetch(`${server.url}/none`)).status).toBe(404);
    expect((await fetch(`${server.url}/notes`)).status).toBe(404);
    const left = (names: readonly string[]): string[] => names.filter((name) => name !== 'db').sort();
    expect(left(await (await fetch(`${server.url}/_all_dbs`)).json())).toEqual([]);
    expect(left(await readdir(dir))).toEqual(['notes', 'server.json']);
  });

  it('refuses to start without anyone who could use it, and on a port that is taken', async () => {
    const dir = await folder();
    await expect(createServer({ dir, port: 0 })).rejects.toBeInstanceOf(TypeError);
    expect(await readdir(dir)).toEqual([]);
    const { port } = await start({ dir });
    await expect(createServer({ dir: await folder(), port, anonymous: true })).rejects.toMatchObject({
      name: 'io',
    });
  });

  it('makes the folders that are missing, and says so where it cannot', async () => {
    const dir = join(await folder(), 'not', 'there', 'yet');
    await start({ dir });
    expect(await readdir(dir)).toEqual(['server.json']);
    const file = join(dir, 'server.json', 'below');
    await expect(start({ dir: file })).rejects.toMatchObject({
      name: 'io',
      message: expect.stringContaining(file),
    });
  });

  it('makes an identity where one was begun and not written', async () => {
    const dir = await folder();
    await writeFile(join(dir, 'server.json'), '');
    const first = await start({ dir });
    const { uuid } = JSON.parse(await readFile(join(dir, 'server.json'), 'utf8'));
    expect(await (await fetch(first.url)).json()).toMatchObject({ uuid });
    await writeFile(join(dir, 'server.json'), '{"uu');
    await expect(start({ dir })).rejects.toMatchObject({
      name: 'io',
      message: expect.stringContaining('server.json is damaged'),
    });
  });

  it.each([
    '{"uuid":',
    'null',
    '{"uuid":""}',
    '{"uuid":7}',
  ])('does not take another identity where its own is damaged: %s', async (text) => {
    const dir = await folder();
    await writeFile(join(dir, 'server.json'), text);
    const failed = start({ dir });
    await expect(failed).rejects.toMatchObject({
      name: 'io',
      reason: expect.stringContaining('server.json is damaged'),
    });
    expect(await readFile(join(dir, 'server.json'), 'utf8')).toBe(text);
  });

  it('says that it cannot read its identity', async () => {
    const dir = await folder();
    await mkdir(join(dir, 'server.json'));
    await expect(start({ dir })).rejects.toMatchObject({
      name: 'io',
      reason: expect.stringContaining('Cannot read'),
    });
  });

  it('goes on when the system has no room for one connection more', async () => {
    const handles = (): unknown[] =>
      (process as never as { _getActiveHandles(): unknown[] })._getActiveHandles();
    const before = new Set(handles());
    const told: unknown[] = [];
    const { url } = await start({ dir: await folder(), logger: { error: (_, cause) => told.push(cause) } });
    const socket = handles().find((each) => each instanceof Server && !before.has(each)) as never as {
      _handle: { onconnection(status: number): void };
    };
    // So Node hears from the system what `accept` failed with.
    socket._handle.onconnection(-constants.errno.ENFILE);
    expect(told).toMatchObject([{ code: 'ENFILE', syscall: 'accept' }]);
    expect((await fetch(url)).status).toBe(200);
  });

  it('needs no more of the file system than a Yarn that stands before it has', async () => {
    const dir = await folder();
    const handle = await open(dir);
    // In its words.
    const missing = vi.spyOn(Object.getPrototypeOf(handle), 'sync').mockImplementation(() => {
      throw new Error('Method not implemented.');
    });
    cleanUp.push(async () => missing.mockRestore());
    await handle.close();
    const { url } = await start({ dir });
    expect((await fetch(`${url}/db`, { method: 'PUT' })).status).toBe(201);
    expect(missing).not.toHaveBeenCalled();
  });

  it('lists no database that could not be made', async () => {
    const dir = await folder();
    const full: Files = {
      ...nodeFiles,
      write: () => Promise.reject(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })),
    };
    const { url } = await start({ dir, adapter: file({ files: full }), logger: {} });
    expect((await fetch(`${url}/db`, { method: 'PUT' })).status).toBe(507);
    expect(await (await fetch(`${url}/_all_dbs`)).json()).toEqual([]);
    expect(await readdir(dir)).toEqual(['server.json']);
  });

  // There the system says ENOENT, and Node's own making of folders one in another never ends.
  it.skipIf(process.platform !== 'linux')('fails at once below /proc', async () => {
    for (const dir of ['/proc/nope', '/proc/nope/more'])
      await expect(start({ dir })).rejects.toMatchObject({ name: 'io' });
  });

  it('refuses options that make no sense, leaving no trace', async () => {
    const dir = await folder();
    const wrong = [
      ...['abc', '5984', -1, 70_000, 1.5, null].map((port) => ({ port })),
      ...[5, ''].map((host) => ({ host })),
      ...[undefined, '', 5].map((none) => ({ dir: none })),
      { hosts: 'demo.test' },
      ...[0, '5', 2 ** 31].map((idle) => ({ timeouts: { idle } })),
      // As texts they would have `includes`, and let in parts of themselves.
      ...['https://app.example', [5], undefined].map((origins) => ({ cors: { origins } })),
      // No browser sends these.
      ...[
        'https://app.example/',
        'https://App.example',
        'https://app.example:443',
        'localhost:5173',
        'app',
        '',
      ].map((origin) => ({ cors: { origins: ['http://localhost:1', origin] } })),
      { cors: { origins: ['*'], credentials: true } },
      ...['couch.example', undefined].map((hosts) => ({ replicate: { hosts } })),
      ...[0, '5'].map((document) => ({ limits: { document } })),
      { cookies: { timeout: 'long' } },
      { cookies: { sameSite: 'lax' } },
      { passwordIterations: 0 },
      { authenticate: 5 },
      { durability: 'stict' },
      { adapter: 'memory' },
      ...[0, 1.5, '5'].map((max_dbs_open) => ({ max_dbs_open })),
    ];
    for (const options of wrong) {
      const starting = createServer({ dir, anonymous: true, port: 0, ...(options as object) });
      await expect(starting, JSON.stringify(options)).rejects.toThrow(/^[A-Za-z._]+ must be/);
      await expect(starting).rejects.toBeInstanceOf(TypeError);
    }
    await expect(createServer(undefined as never)).rejects.toThrow(/needs options/);
    expect(await readdir(dir)).toEqual([]);
  });

  it('takes origins of pages, of apps, of files, and of everyone', async () => {
    const origins = [
      'https://app.example:8443',
      'http://localhost:5173',
      'capacitor://localhost',
      'null',
      '*',
    ];
    const { url } = await start({ dir: await folder(), anonymous: true, cors: { origins } });
    expect((await fetch(url)).status).toBe(200);
  });

  it('answers only to its own name when it asks for no password (DNS rebinding)', async () => {
    // A name of this machine, as its hosts file may have it.
    const lookup = vi
      .spyOn(dns, 'lookup')
      // Node 26 asks for all addresses.
      .mockImplementation(((...given: unknown[]) => {
        const answer = given.at(-1) as (...found: unknown[]) => void;
        if (given.length === 2) answer(null, '127.0.0.1', 4);
        else answer(null, [{ address: '127.0.0.1', family: 4 }]);
      }) as never);
    onTestFinished(() => lookup.mockRestore());
    const { port } = await start({ dir: await folder(), host: 'My-Machine', hosts: ['demo.test'] });
    expect(lookup.mock.calls.map(([name]) => name)).toEqual(['My-Machine']);
    const ask = (host: string) =>
      new Promise<string>((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () =>
          socket.end(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
        );
        let text = '';
        socket
          .on('data', (data) => (text += data))
          .on('end', () => resolve(text.slice(9, 12)))
          .on('error', reject);
      });
    expect(
      await Promise.all(
        ['localhost', `127.0.0.1:${port}`, `my-machine:${port}`, 'demo.test', 'evil.example'].map(ask),
      ),
    ).toEqual(['200', '200', '200', '200', '403']);
    lookup.mockRestore();
    const { url } = await start({ dir: await folder(), host: '::ffff:127.0.0.1' });
    expect((await fetch(url)).status).toBe(200);
  });

  it('serves pages from a hook, without a password', async () => {
    const page = (request: Request) =>
      new URL(request.url).pathname === '/app' ? new Response('<h1>') : undefined;
    const server = await start({ dir: await folder(), anonymous: false, admins: { a: 'b' }, static: page });
    expect(await (await fetch(`${server.url}/app`)).text()).toBe('<h1>');
    expect((await fetch(`${server.url}/_all_dbs`)).status).toBe(401);
  });
});

describe('over sockets', () => {
  it('a live feed hears of writes, and its connection is let go when it is cancelled', async () => {
    const server = await start({ dir: await folder() });
    const reader = remote<{ n: number }>(`${server.url}/db`);
    const writer = remote<{ n: number }>(`${server.url}/db`);
    await reader.info();
    const feed = reader.changes({ live: true, include_docs: true });
    const seen: number[] = [];
    await writer.put({ _id: 'd0', n: 0 });
    for await (const { doc } of feed) {
      seen.push(doc!.n);
      if (seen.length === 20) break;
      await writer.put({ _id: `d${seen.length}`, n: seen.length });
    }
    expect(seen).toEqual(Array.from({ length: 20 }, (_, i) => i));
    expect(await feed).toEqual({ status: 'cancelled' });
  });

  it('a continuous feed streams, and the server lets go of it when the client leaves', async () => {
    const dir = await folder();
    const released: string[] = [];
    const server = await start({ dir, logger: { info: (line) => released.push(line) } });
    await fetch(`${server.url}/db`, { method: 'PUT' });
    const controller = new AbortController();
    const response = await fetch(`${server.url}/db/_changes?feed=continuous&heartbeat=60000`, {
      signal: controller.signal,
    });
    const pieces = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await pieces.read()).value).toBe('\n');
    await fetch(`${server.url}/db/a`, { method: 'PUT', body: '{}' });
    expect(JSON.parse((await pieces.read()).value!)).toMatchObject({ id: 'a' });
    controller.abort();
    await expect(pieces.read()).rejects.toThrow();
    expect((await fetch(`${server.url}/db`)).status).toBe(200);
  });

  it('closing ends open feeds in good order and needs no time-out', async () => {
    const server = await start({ dir: await folder() });
    await fetch(`${server.url}/db`, { method: 'PUT' });
    const longpoll = await fetch(`${server.url}/db/_changes?feed=longpoll&heartbeat=60000`);
    const continuous = await fetch(`${server.url}/db/_changes?feed=continuous&heartbeat=60000`);
    const [, empty, lines] = await Promise.all([server.close(), longpoll.json(), continuous.text()]);
    expect(empty).toMatchObject({ results: [], last_seq: '0' });
    expect(JSON.parse(lines.trim())).toMatchObject({ last_seq: '0' });
    await expect(fetch(`${server.url}/`)).rejects.toThrow();
  });

  it('a body that is too large is 413, and the server goes on', async () => {
    const server = await start({ dir: await folder(), limits: { document: 100_000, request: 100_000 } });
    await fetch(`${server.url}/db`, { method: 'PUT' });
    const body = JSON.stringify({ a: 'x'.repeat(150_000) });
    expect((await fetch(`${server.url}/db/a`, { method: 'PUT', body })).status).toBe(413);
    const chunked = new ReadableStream({
      start(controller) {
        for (let i = 0; i < 4; i++) controller.enqueue(new Uint8Array(50_000).fill(32));
        controller.close();
      },
    });
    const init = { method: 'PUT', body: chunked, duplex: 'half' } as RequestInit;
    expect((await fetch(`${server.url}/db/a`, init)).status).toBe(413);
    expect((await fetch(`${server.url}/db/a`, { method: 'PUT', body: '{}' })).status).toBe(201);
  });

  it('a client that breaks off in the middle of a body harms nobody', async () => {
    const errors: unknown[] = [];
    const server = await start({ dir: await folder(), logger: { error: (line) => errors.push(line) } });
    await fetch(`${server.url}/db`, { method: 'PUT' });
    await new Promise<void>((resolve) => {
      const socket = connect(server.port, '127.0.0.1', () => {
        socket.write('PUT /db/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"a":', () =>
          socket.destroy(),
        );
      });
      socket.on('close', () => resolve());
    });
    expect((await (await fetch(`${server.url}/db`)).json()) as object).toMatchObject({ doc_count: 0 });
    expect(errors).toEqual([]);
  });

  it('10,000 documents go up and come back', async () => {
    const server = await start({ dir: await folder() });
    const db = remote<{ n: number }>(`${server.url}/db`);
    const docs = Array.from({ length: 10_000 }, (_, n) => ({ _id: `d${n}`, n }));
    expect((await db.bulkDocs(docs)).every((row) => 'ok' in row)).toBe(true);
    expect(await db.changes({ batch_size: 1000, return_docs: true })).toMatchObject({
      results: { length: 10_000 },
      last_seq: 10_000,
    });
    expect((await db.allDocs({ include_docs: true })).rows).toHaveLength(10_000);
  });
});
