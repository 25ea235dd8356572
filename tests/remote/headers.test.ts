/** Headers that caches, other origins and clients that resume rely on. */
import { expect, it } from 'vitest';
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
