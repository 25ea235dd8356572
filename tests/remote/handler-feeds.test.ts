/** Feeds of a server: what they tell, how they end, and that they are let go. */
import { describe, expect, it, vi } from 'vitest';
import { MemoryDatabases, ORIGIN, testServer } from './support';

describe('feeds', () => {
  /** Pieces of a streamed answer as they come. */
  async function opened(server: ReturnType<typeof testServer>, path: string, signal?: AbortSignal) {
    const response = await server.handle(new Request(ORIGIN + path, signal === undefined ? {} : { signal }));
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    return { response, reader, next: async () => (await reader.read()).value };
  }

  it('tell a longpoll of the first write, and a continuous one of each', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const waiting = server.ask('GET', '/db/_changes?feed=longpoll');
    const { next, reader } = await opened(server, '/db/_changes?feed=continuous&heartbeat=60000');
    expect(await next()).toBe('\n');
    await server.ask('PUT', '/db/a', {});
    expect(JSON.parse((await next())!)).toMatchObject({ id: 'a', seq: '1' });
    expect((await waiting).body).toMatchObject({ results: [{ id: 'a' }], last_seq: '1' });
    await server.ask('PUT', '/db/b', {});
    expect(JSON.parse((await next())!)).toMatchObject({ id: 'b', seq: '2' });
    await reader.cancel();
  });

  it('tell all changes that come together after a while without any', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const { next, reader } = await opened(server, '/db/_changes?feed=continuous&heartbeat=10');
    for (let beats = 0; beats < 4; beats++) expect(await next()).toBe('\n');
    const ids = ['a', 'b', 'c', 'd'];
    await server.ask('POST', '/db/_bulk_docs', { docs: ids.map((_id) => ({ _id })) });
    let text = '';
    for (let pieces = 0; pieces < 20 && !text.includes('"d"'); pieces++) text += await next();
    expect([...text.matchAll(/"id":"(\w)"/g)].map(([, id]) => id)).toEqual(ids);
    await reader.cancel();
  });

  it('are 5,000 at a time: one more is refused until one has ended', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const ask = (): Promise<Response> => server.handle(new Request(`${ORIGIN}/db/_changes?feed=continuous`));
    const feeds = await Promise.all(Array.from({ length: 5_000 }, ask));
    expect((await ask()).status).toBe(503);
    expect((await server.ask('GET', '/db')).status).toBe(200);
    await feeds[17]!.body!.cancel();
    expect((await ask()).status).toBe(200);
    server.close();
  });

  it('that are left while they wait are no failures of the server', async () => {
    const error = vi.fn();
    const server = testServer({ logger: { error } });
    await server.ask('PUT', '/db');
    const { next, reader } = await opened(server, '/db/_changes?feed=continuous&heartbeat=60000');
    expect(await next()).toBe('\n');
    const waiting = next();
    await reader.cancel();
    expect(await waiting).toBeUndefined();
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(error).not.toHaveBeenCalled();
    server.close();
  });

  it('that are asked from beyond the end say where it is: the database was made anew', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    await server.ask('PUT', '/db/a', {});
    const longpoll = await server.ask('GET', '/db/_changes?feed=longpoll&since=20&heartbeat=60000');
    expect(longpoll.body).toEqual({ results: [], last_seq: '1', pending: 0 });
    const { next, reader } = await opened(server, '/db/_changes?feed=continuous&since=20&heartbeat=60000');
    expect(await next()).toBe('\n');
    await server.ask('PUT', '/db/b', {});
    expect(JSON.parse((await next())!)).toMatchObject({ id: 'b', seq: '2' });
    await reader.cancel();
  });

  it.each([
    'continuous',
    'eventsource',
  ])('tell each change once when they are descending (%s)', async (feed) => {
    const server = testServer();
    await server.ask('PUT', '/db');
    for (const id of ['a', 'b', 'c']) await server.ask('PUT', `/db/${id}`, {});
    const path = `/db/_changes?feed=${feed}&descending=true&timeout=300`;
    const { next } = await opened(server, path);
    let text = (await next())!;
    await server.ask('PUT', '/db/d', {});
    await server.ask('PUT', '/db/e', {});
    for (let piece = await next(); piece !== undefined; piece = await next()) text += piece;
    expect([...text.matchAll(/"id":"(\w)"/g)].map(([, id]) => id)).toEqual(['c', 'b', 'a', 'd', 'e']);
    if (feed === 'continuous') expect(text).toContain('{"last_seq":"5","pending":0}');
  });

  it('of events go on after the last one that a browser had, whatever its URL says', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    for (const id of ['a', 'b', 'c']) await server.ask('PUT', `/db/${id}`, {});
    const idsOf = async (path: string, headers?: Record<string, string>): Promise<unknown[]> => {
      const { body } = await server.ask('GET', `/db/_changes?timeout=1&${path}`, undefined, headers);
      return [...JSON.stringify(body).matchAll(/\\"id\\":\\"(\w)/g)].map(([, id]) => id);
    };
    const last = { 'last-event-id': '"1"' };
    for (const since of ['', '&since=now', '&since=0'])
      expect(await idsOf(`feed=eventsource${since}`, last)).toEqual(['b', 'c']);
    expect(await idsOf('feed=eventsource&since=2')).toEqual(['c']);
    expect(await idsOf('feed=continuous&since=2', last)).toEqual(['c']);
  });

  it('end in good order when the server closes', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    await server.ask('PUT', '/db/a', {});
    const continuous = await opened(server, '/db/_changes?feed=continuous&heartbeat=60000');
    await continuous.next();
    const longpoll = await opened(server, '/db/_changes?feed=longpoll&since=now&heartbeat=60000');
    await longpoll.next();
    const pending = [continuous.next(), longpoll.next()];
    server.close();
    const [last, empty] = await Promise.all(pending);
    expect(JSON.parse(last!)).toMatchObject({ last_seq: '1' });
    expect(empty).toContain('"last_seq":"1"');
    expect(await continuous.next()).toBeUndefined();
  });

  it('do not say that nothing is left when the server closes before all was sent', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const docs = Array.from({ length: 3_000 }, (_, n) => ({ _id: `${n}`, text: 'x'.repeat(100) }));
    await server.ask('POST', '/db/_bulk_docs', { docs });
    const continuous = await opened(server, '/db/_changes?feed=continuous&include_docs=true');
    let text = (await continuous.next())!;
    server.close();
    for (let piece = await continuous.next(); piece !== undefined; piece = await continuous.next())
      text += piece;
    const lines = text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
    const { last_seq, pending } = lines.pop();
    expect(lines.length).toBeLessThan(3_000);
    expect([last_seq, pending]).toEqual([lines.at(-1).seq, undefined]);
  });

  it.each([
    'normal',
    'longpoll',
    'normal&attachments=true',
  ])('that are broken off because the server closes are no failures of the server (%s)', async (feed) => {
    const failures: unknown[] = [];
    const server = testServer({ logger: { error: (...failure) => failures.push(failure) } });
    await server.ask('PUT', '/db');
    await server.ask('PUT', '/db/a/f', 'x'.repeat(3_000_000));
    const docs = Array.from({ length: 3000 }, () => ({ text: 'x'.repeat(100) }));
    await server.ask('POST', '/db/_bulk_docs', { docs });
    const { next } = await opened(server, `/db/_changes?feed=${feed}&include_docs=true`);
    await next();
    server.close();
    await expect(
      (async () => {
        while ((await next()) !== undefined);
      })(),
    ).rejects.toThrow('The server is closing');
    expect(failures).toEqual([]);
  });

  it('that wait ask proxies and what compresses not to hold back what they write, heartbeats above all', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    await server.ask('PUT', '/db/a', {});
    for (const method of ['GET', 'HEAD'])
      for (const feed of ['longpoll', 'continuous', 'eventsource', 'normal']) {
        const request = new Request(`${ORIGIN}/db/_changes?feed=${feed}`, {
          method,
          headers: { 'accept-encoding': 'gzip' },
        });
        const { headers, body } = await server.handle(request);
        await body?.cancel();
        const asked = [headers.get('x-accel-buffering'), /no-transform/.test(headers.get('cache-control')!)];
        expect([feed, ...asked]).toEqual(feed === 'normal' ? [feed, null, false] : [feed, 'no', true]);
      }
  });

  it.each([
    'normal',
    'longpoll',
  ])('that are broken off because the client went away do not say that the server closes (%s)', async (feed) => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const docs = Array.from({ length: 3000 }, () => ({ text: 'x'.repeat(100) }));
    await server.ask('POST', '/db/_bulk_docs', { docs });
    const client = new AbortController();
    const url = `${ORIGIN}/db/_changes?feed=${feed}&include_docs=true`;
    const { body } = await server.handle(new Request(url, { signal: client.signal }));
    const reader = body!.getReader();
    await reader.read();
    client.abort();
    // Adapters that write the answer for Node log what it breaks off with.
    await expect(
      (async () => {
        while (!(await reader.read()).done);
      })(),
    ).rejects.toMatchObject({ status: 503, reason: 'The client went away' });
  });

  it('whose client goes away before they begin leave their database open to others', async () => {
    const databases = new MemoryDatabases();
    const dropped: string[] = [];
    Object.assign(databases, { drop: (name: string) => dropped.push(name) });
    const server = testServer({ databases });
    await server.ask('PUT', '/db');
    const database = (await databases.open('db'))!;
    const client = new AbortController();
    const changes = database.changes.bind(database);
    database.changes = (options) => {
      client.abort();
      return changes(options) as never;
    };
    await server.handle(new Request(`${ORIGIN}/db/_changes`, { signal: client.signal }));
    expect(dropped).toEqual([]);
  });

  it('that wait do not begin once the server closes: nobody would end them', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    // Asked for before, and not begun yet.
    const feeds = ['longpoll', 'continuous', 'eventsource'];
    const asked = feeds.map((feed) => server.ask('GET', `/db/_changes?feed=${feed}&since=now`));
    server.close();
    const after = feeds.map((feed) => server.ask('GET', `/db/_changes?feed=${feed}`));
    for (const { status, body } of await Promise.all([...asked, ...after]))
      expect([status, body.error, body.reason]).toEqual([
        503,
        'service_unavailable',
        'The server is closing',
      ]);
    expect((await server.ask('GET', '/db/_changes')).body).toMatchObject({ results: [], last_seq: '0' });
  });

  it('are let go when the client goes away', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const database = (await server.databases.open('db'))!;
    const feeds: PromiseLike<unknown>[] = [];
    const { changes } = database;
    let bothLive = (): void => {};
    const live = new Promise<void>((resolve) => {
      bothLive = resolve;
    });
    database.changes = (options) => {
      const feed = changes.call(database, options);
      if (options?.live) feeds.push(feed);
      if (feeds.length === 2) bothLive();
      return feed;
    };
    const aborting = new AbortController();
    const aborted = await opened(server, '/db/_changes?feed=continuous&heartbeat=60000', aborting.signal);
    await aborted.next();
    const cancelled = await opened(server, '/db/_changes?feed=continuous&heartbeat=60000');
    await cancelled.next();
    const reading = [aborted.next().catch(() => undefined), cancelled.next()];
    await live;
    aborting.abort();
    await cancelled.reader.cancel();
    await Promise.all(reading);
    expect(await Promise.all(feeds)).toEqual([{ status: 'cancelled' }, { status: 'cancelled' }]);
  });

  it('write 3,000 changes with documents piece by piece', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const docs = Array.from({ length: 3000 }, (_, i) => ({ _id: `d${i}`, text: 'x'.repeat(100) }));
    await server.ask('POST', '/db/_bulk_docs', { docs });
    const { reader } = await opened(server, '/db/_changes?include_docs=true');
    const pieces: string[] = [];
    for (let read = await reader.read(); !read.done; read = await reader.read()) pieces.push(read.value);
    expect(pieces.length).toBeGreaterThan(4);
    const { results, last_seq, pending } = JSON.parse(pieces.join(''));
    expect([results.length, last_seq, pending]).toEqual([3000, '3000', 0]);
  });

  it('say how much is left when a limit ended them', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    await server.ask('POST', '/db/_bulk_docs', { docs: [{ _id: 'a' }, { _id: 'b' }] });
    const pending = async (query: string) =>
      (await server.ask('GET', `/db/_changes?${query}`)).body.pending as number | undefined;
    expect(await pending('limit=1')).toBe(1);
    expect(await pending('limit=2')).toBe(0);
    expect(await pending('limit=3')).toBe(0);
    // A number without a change is not counted.
    const { body } = await server.ask('GET', '/db/a');
    await server.ask('PUT', '/db/a', body);
    expect(await pending('limit=0')).toBe(2);
    expect(await pending('limit=1')).toBe(1);
    expect(await pending('limit=1&descending=true')).toBe(1);
    expect(await pending('limit=1&since=2')).toBe(0);
    expect(await pending('limit=2')).toBe(0);
    const { reader } = await opened(server, '/db/_changes?feed=continuous&limit=1');
    let text = '';
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
    expect(JSON.parse(text.trim().split('\n').at(-1)!)).toEqual({ last_seq: '2', pending: 1 });
  });
});
