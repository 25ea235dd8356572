/** Large bodies: to whom they go compressed, and what becomes of those that are refused. */
import { remote } from '@settledb/remote';
import { describe, expect, it } from 'vitest';
import { ORIGIN, testServer } from './support';

type Fetch = typeof globalThis.fetch;

describe('large bodies', () => {
  const text = 'hello '.repeat(20_000);
  const recorded = (server: { fetch: Fetch }) => {
    const encodings: (string | null)[] = [];
    const fetch: Fetch = (input, init) => {
      encodings.push(new Headers(init?.headers).get('content-encoding'));
      return server.fetch(String(input).replace('http://couch.test', ORIGIN), init);
    };
    return { encodings, fetch };
  };

  it('go compressed though nobody answered when it was asked for the first time whether they may', async () => {
    const { encodings, fetch } = recorded(testServer());
    let asked = 0;
    const flaky: Fetch = async (input, init) => {
      if (String(input) === 'http://couch.test/' && asked++ === 0) throw new TypeError('fetch failed');
      return fetch(input, init);
    };
    const db = remote<{ text: string }>('http://couch.test/db', { fetch: flaky });
    await db.put({ _id: 'a', text });
    await db.put({ _id: 'b', text });
    await db.put({ _id: 'c', text });
    expect([asked, encodings]).toEqual([2, [null, null, null, null, 'gzip', 'gzip']]);
  });

  it('go compressed to CouchDB elsewhere, plain to this machine and to others', async () => {
    const { encodings, fetch } = recorded(testServer());
    const db = remote<{ text: string }>('http://couch.test/db', { fetch });
    await db.put({ _id: 'a', text });
    expect(encodings).toEqual([null, null, null, 'gzip']); // looked for, made, who is it, written
    expect((await db.get('a')).text).toBe(text);
    const near = recorded(testServer());
    await remote<{ text: string }>(`${ORIGIN}/db`, { fetch: near.fetch }).put({ _id: 'a', text });
    const off = recorded(testServer());
    await remote<{ text: string }>('http://couch.test/db', { fetch: off.fetch, compress: false }).put({
      _id: 'a',
      text,
    });
    expect([...near.encodings, ...off.encodings].filter((encoding) => encoding !== null)).toEqual([]);
  });

  it('are sent plain after all to who refuses them', async () => {
    const server = testServer();
    const { encodings, fetch } = recorded({
      fetch: async (input, init) =>
        new Headers(init?.headers).has('content-encoding')
          ? new Response('{"error":"bad_content_type","reason":"x"}', { status: 415 })
          : server.fetch(input, init),
    });
    const db = remote<{ text: string }>('http://couch.test/db', { fetch, compress: true });
    await db.put({ _id: 'a', text });
    await db.put({ _id: 'b', text });
    expect(encodings.filter((encoding) => encoding !== null)).toHaveLength(1);
    expect((await db.info()).doc_count).toBe(2);
  });

  it('that unfold to more than the limit are refused, however small they come', async () => {
    const server = testServer({ limits: { request: 100_000 } });
    await server.ask('PUT', '/db');
    const bomb = new Blob([`"${'0'.repeat(5_000_000)}"`]).stream().pipeThrough(new CompressionStream('gzip'));
    const body = await new Response(bomb).arrayBuffer();
    expect(body.byteLength).toBeLessThan(10_000);
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const send = (bytes: BodyInit) =>
      server
        .fetch(`${ORIGIN}/db/_bulk_docs`, { method: 'POST', body: bytes, headers })
        .then(({ status }) => status);
    expect(await send(body)).toBe(413);
    expect(await send('no gzip')).toBe(400);
    expect(await send(body.slice(0, 100))).toBe(400);
  });
});
