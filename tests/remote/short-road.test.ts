/**
 * The short road of small plain requests (node-request.ts): what arrives together or without waiting, what fails, and what is let go.
 * That its answers are those of the bridge, node-roads.test.ts says.
 */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { RunningServer, ServerOptions } from '../../packages/settledb/src/server';
import { ask, keep, raw, startServer } from './raw-requests';

const start = (options?: Partial<ServerOptions>): Promise<RunningServer> =>
  startServer(onTestFinished, options);

describe('on the short road', () => {
  const json = { 'content-type': 'application/json' };
  const putJson = (url: string, body: object) =>
    fetch(url, { method: 'PUT', headers: json, body: JSON.stringify(body) });

  it('writes that arrive together are each answered for themselves', async () => {
    const { url } = await start();
    await fetch(`${url}/db`, { method: 'PUT' });
    const same = await Promise.all(Array.from({ length: 12 }, (_, n) => putJson(`${url}/db/same`, { n })));
    expect(same.map(({ status }) => status).sort()).toEqual([201, ...Array(11).fill(409)]);
    const mixed = await Promise.all([
      ...Array.from({ length: 6 }, (_, n) => putJson(`${url}/db/d${n}`, { n })),
      putJson(`${url}/db/bad`, { _nope: 1 }),
      putJson(`${url}/none/d`, {}),
      fetch(`${url}/db`, { method: 'POST', headers: json, body: '{"_id":"posted"}' }),
      fetch(`${url}/db/same?rev=1-0`, { method: 'DELETE' }),
    ]);
    expect(mixed.map(({ status }) => status)).toEqual([...Array(6).fill(201), 400, 404, 201, 409]);
    const rows = (await Promise.all(mixed.slice(0, 6).map((each) => each.json()))) as { id: string }[];
    expect(rows.map(({ id }) => id)).toEqual(['d0', 'd1', 'd2', 'd3', 'd4', 'd5']);
    expect(await (await fetch(`${url}/db`)).json()).toMatchObject({ doc_count: 8, update_seq: '8' });
  });

  it('writes of one connection that come at once are begun in their order, whoever asks besides', async () => {
    const server = await start();
    await fetch(`${server.url}/db`, { method: 'PUT' });
    for (let round = 0; round < 10; round++) {
      const texts = Array.from({ length: 8 }, (_, n) => `{"n":${n}}`);
      const path = `/db/d${round}`;
      const all = Buffer.concat([...texts.map((text) => keep(path, text)), raw('/db/none')]);
      const others = Array.from({ length: 4 }, (_, n) => putJson(`${server.url}/db/o${round}-${n}`, {}));
      const statuses = [...(await ask(server, all)).matchAll(/HTTP\/1\.1 (\d+) /g)].map(
        ([, status]) => status,
      );
      expect(statuses).toEqual(['201', ...Array(7).fill('409'), '404']);
      expect(await (await fetch(server.url + path)).json()).toMatchObject({ n: 0 });
      expect((await Promise.all(others)).map(({ status }) => status)).toEqual(Array(4).fill(201));
    }
  });

  it('what is asked without waiting for the answer before is answered as if it had been waited for', async () => {
    const server = await start();
    await fetch(`${server.url}/db`, { method: 'PUT' });
    const waits = '/db/_changes?feed=longpoll&since=now&timeout=1';
    for (let round = 0; round < 10; round++) {
      const path = `/db/d${round}`;
      const inChunks = `PUT ${path}x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`;
      const written = [keep(path, '{"n":1}'), keep(path), Buffer.from(inChunks), keep(`${path}x`)];
      const answers = await ask(server, Buffer.concat([...written, keep(waits), raw(`${path}y`)]));
      const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
      expect(statuses).toEqual(['201', '200', '201', '200', '200', '404']);
    }
  });

  it('a request of HTTP/1.0 needs no host: it is the address that was called', async () => {
    const server = await start({ anonymous: false, admins: { admin: 'secret' } });
    const headers = [`Authorization: Basic ${btoa('admin:secret')}`];
    const old = { host: '', version: '1.0', headers };
    expect(await ask(server, raw('/_up', { host: '', version: '1.0' }))).toMatch(/^HTTP\/1\.1 200 /);
    await ask(server, raw('/db', { ...old, method: 'PUT' }));
    const made = await ask(server, raw('/db/a', { ...old, method: 'PUT', body: '{}' }));
    expect(made).toContain(`location: http://127.0.0.1:${server.port}/db/a\r\n`);
    expect(await ask(server, raw('/_up', { host: '' }))).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('a written document is read by whoever asks after its answer, on another connection too', async () => {
    const server = await start();
    await fetch(`${server.url}/db`, { method: 'PUT' });
    for (let n = 0; n < 20; n++) {
      expect((await putJson(`${server.url}/db/d${n}`, { n })).status).toBe(201);
      expect(await ask(server, raw(`/db/d${n}`))).toMatch(/^HTTP\/1\.1 200 /);
    }
  });

  it('a failure of the program about it is 500, and the server goes on', async () => {
    const { url } = await start({});
    const now = performance.now.bind(performance);
    // The clock stands for whatever may fail outside of what makes an answer: a logger that does takes none with it.
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
      if (new Error().stack?.includes('/remote/src/server.ts')) throw new Error('no clock today');
      return now();
    });
    onTestFinished(() => clock.mockRestore());
    const failed = await fetch(`${url}/_up`);
    expect([failed.status, await failed.text()]).toEqual([500, expect.not.stringContaining('today')]);
    clock.mockRestore();
    expect((await fetch(`${url}/_up`)).status).toBe(200);
  });

  it('what waits is let go when its client goes', async () => {
    const begun: AbortSignal[] = [];
    const queries = () => ({
      find: ({ signal }: { signal?: AbortSignal }) =>
        new Promise((_, reject) => {
          begun.push(signal!);
          signal!.addEventListener('abort', () => reject(signal!.reason));
        }),
      query: () => Promise.reject(new Error('not asked')),
    });
    const errors: unknown[] = [];
    const logger = { error: (line: string) => errors.push(line) };
    const server = await start({ queries: queries as never, logger });
    await fetch(`${server.url}/db`, { method: 'PUT' });
    const gone = new AbortController();
    const init = { method: 'POST', headers: json, body: '{"selector":{}}', signal: gone.signal };
    const finding = fetch(`${server.url}/db/_find`, init);
    while (begun.length === 0) await new Promise((next) => setTimeout(next, 5));
    expect(begun[0]!.aborted).toBe(false);
    const aborted = new Promise((resolve) => begun[0]!.addEventListener('abort', resolve));
    gone.abort();
    await expect(finding).rejects.toThrow();
    await aborted;
    expect((await fetch(`${server.url}/db`)).status).toBe(200);
    expect(errors).toEqual([]);
  });

  it('is none where a hook is given the request: it is a Request, whose body can be read', async () => {
    const seen: [boolean, string][] = [];
    const { url } = await start({
      anonymous: false,
      static: async (request) => {
        if (new URL(request.url).pathname !== '/form') return undefined;
        return new Response(`thanks, ${await request.text()}`);
      },
      authenticate: (request) => {
        seen.push([request instanceof Request, request.headers.get('x-token') ?? '']);
        return { name: 'jan', roles: ['_admin'] };
      },
    });
    expect(await (await fetch(`${url}/form`, { method: 'POST', body: 'a=b' })).text()).toBe('thanks, a=b');
    await fetch(`${url}/db`, { method: 'PUT', headers: { 'x-token': 't' } });
    expect(seen).toEqual([[true, 't']]);
  });
});
