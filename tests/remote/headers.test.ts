/** Headers that caches, other origins and clients that resume rely on. */
import { describe, expect, it } from 'vitest';
import { ORIGIN, testServer } from './support';

async function start(options: Parameters<typeof testServer>[0] = {}) {
  const server = testServer(options);
  await server.ask('PUT', '/db');
  await server.ask('PUT', '/db/a', {});
  return server;
}

it.each([
  ...[
    '/_uuids',
    '/favicon.ico',
    '/_session',
    '/_all_dbs',
    '/_active_tasks',
    '/db/_index',
    '/db/_purged_infos',
  ],
  ...[
    '/db/_purged_infos_limit',
    '/db/_revs_limit',
    '/db/_security',
    '/db/_changes',
    '/db/a',
    '/db/_local_docs',
  ],
  ...['longpoll', 'continuous', 'eventsource'].map((feed) => `/db/_changes?feed=${feed}&timeout=1`),
])('HEAD is answered as GET, without a body: %s', async (path) => {
  const { fetch } = await start();
  const [get, head] = [await fetch(ORIGIN + path), await fetch(ORIGIN + path, { method: 'HEAD' })];
  expect(head.status).toBe(get.status);
  for (const name of ['content-type', 'cache-control', 'etag'])
    expect([name, head.headers.get(name)]).toEqual([name, get.headers.get(name)]);
  expect(await head.text()).toBe('');
  await get.body?.cancel();
});

describe('other origins', () => {
  const origin = 'https://app.example';

  it('are what answers depend on, also those to requests without an origin', async () => {
    const { fetch } = await start({ cors: { origins: [origin] } });
    for (const path of ['/db/a', '/db/none', '/db/_changes', '/favicon.ico'])
      for (const headers of [{}, { origin }, { origin: 'https://evil.example' }]) {
        const answer = await fetch(ORIGIN + path, { headers });
        const allowed = 'origin' in headers && headers.origin === origin ? origin : null;
        expect(answer.headers.get('access-control-allow-origin')).toBe(allowed);
        expect(answer.headers.get('vary')).toBe('origin');
      }
  });

  it('are let in by any answer, if all are', async () => {
    const { fetch } = await start({ cors: { origins: ['*'] } });
    for (const headers of [{}, { origin }]) {
      const answer = await fetch(`${ORIGIN}/db/a`, { headers });
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('vary')).toBe(null);
    }
  });
});

/** A cache before the server that was told to keep what is answered 200, as nginx is by `proxy_cache_valid`. */
function sharedCache(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  const kept = new Map<string, Response>();
  return async (input, init) => {
    const key = `${input} ${new Headers(init?.headers).get('accept')}`;
    const found = kept.get(key);
    if (found !== undefined) return found.clone();
    const answer = await fetch(input, init);
    const isPrivate = /\b(private|no-store|no-cache)\b/.test(answer.headers.get('cache-control') ?? '');
    if (answer.ok && !isPrivate) kept.set(key, answer.clone());
    return answer;
  };
}

describe('a cache before the server', () => {
  it.each([
    ...['/db/a', '/db/f?attachments=true', '/db/f?open_revs=all', '/db/_all_docs', '/db/_changes'],
    ...['longpoll', 'continuous', 'eventsource'].map((feed) => `/db/_changes?feed=${feed}&timeout=1`),
    ...['/db/f/x.bin', '/db', '/db/_security', '/_all_dbs', '/_uuids'],
  ])('has nothing for those who may not read: %s', async (path) => {
    const { fetch } = await testServer({ admins: { me: 'secret' }, anonymous: false });
    const headers = { authorization: `Basic ${btoa('me:secret')}` };
    for (const [name, body] of [
      ['/db', undefined],
      ['/db/a', '{}'],
      ['/db/f/x.bin', 'bytes'],
    ] as const)
      expect((await fetch(ORIGIN + name, { method: 'PUT', headers, body: body ?? null })).status).toBe(201);
    const cached = sharedCache(fetch);
    for (const accept of ['application/json', 'multipart/mixed, multipart/related']) {
      const answer = await cached(ORIGIN + path, { headers: { ...headers, accept } });
      expect(answer.status).toBe(200);
      void answer.body?.cancel(); // a copy's ends with that of the other
      expect((await cached(ORIGIN + path, { headers: { accept } })).status).toBe(401);
    }
  });
});

describe('ranges', () => {
  async function withFile() {
    const server = await start();
    const put = (query: string, body: string) =>
      server.fetch(`${ORIGIN}/db/f/x.bin${query}`, { method: 'PUT', body });
    const { rev } = await (await put('', 'AAAAAAAAAA')).json();
    const get = (headers: Record<string, string>) => server.fetch(`${ORIGIN}/db/f/x.bin`, { headers });
    return { get, replace: () => put(`?rev=${rev}`, 'BBBBBBBBBB') };
  }

  it('have the headers of the whole, however many they are', async () => {
    const { get } = await withFile();
    const headersOf = ({ headers }: Response) =>
      ['etag', 'accept-ranges', 'cache-control', 'vary', 'content-security-policy'].map((name) =>
        headers.get(name),
      );
    const whole = headersOf(await get({}));
    expect(whole).not.toContain(null);
    for (const range of ['bytes=0-1', 'bytes=0-1,3-4']) {
      const answer = await get({ range });
      expect(answer.status).toBe(206);
      expect(headersOf(answer)).toEqual(whole);
    }
  });

  it('are nine at most: where there are more, the whole is answered', async () => {
    const { get } = await withFile();
    const ranges = (count: number) => `bytes=${Array.from({ length: count }, (_, at) => `${at}-${at}`)}`;
    expect((await get({ range: ranges(9) })).status).toBe(206);
    const answer = await get({ range: ranges(10) });
    expect([answer.status, await answer.text()]).toEqual([200, 'AAAAAAAAAA']);
  });

  it('are of the content that the client has a part of, or the whole is answered', async () => {
    const { get, replace } = await withFile();
    const tag = (await get({ range: 'bytes=0-4' })).headers.get('etag')!;
    expect((await get({ range: 'bytes=5-', 'if-range': tag })).status).toBe(206);
    await replace();
    for (const range of ['bytes=5-', 'bytes=5-6,8-9', 'bytes=99-']) {
      const answer = await get({ range, 'if-range': tag });
      expect([answer.status, await answer.text()]).toEqual([200, 'BBBBBBBBBB']);
    }
    for (const other of [`W/${tag}`, 'Wed, 21 Oct 2015 07:28:00 GMT'])
      expect((await get({ range: 'bytes=5-', 'if-range': other })).status).toBe(200);
  });
});
