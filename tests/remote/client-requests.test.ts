/** What is left of a request that was answered: nothing to wait for, nothing to end, and a connection that serves the next. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { remote } from '@settledb/remote';
import { expect, it } from 'vitest';

const EMPTY = new Map([
  ['/_changes', { results: [], last_seq: 0, pending: 0 }],
  ['/_revs_diff', {}],
  ['/_bulk_docs', []],
]);
const FORBIDDEN = 'text that the server does not take';
const NO_UTF8 = new Uint8Array([0x22, 0xff, 0x22]);

it('are over, and their connections serve the next, whatever their bodies', async () => {
  let broken = 0;
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
    request.on('end', () => {
      if (body !== '') bodies.push(body);
      const path = new URL(request.url ?? '', 'http://localhost').pathname.replace('/db', '');
      const isForbidden = body.includes(FORBIDDEN);
      response.statusCode = path === '/a' ? 404 : isForbidden ? 403 : 200;
      const answer = JSON.stringify(EMPTY.get(path) ?? { error: 'not_found', reason: 'missing' });
      response.end(isForbidden ? NO_UTF8 : answer);
    });
  });
  server.keepAliveTimeout = 600_000;
  server.on('connection', (socket) => socket.on('close', () => broken++));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const db = remote(`http://127.0.0.1:${(server.address() as AddressInfo).port}/db`, { skip_setup: true });
  try {
    const docs = Array.from({ length: 1000 }, (_, i) => ({
      _id: `é${i}`,
      _rev: '1-a',
      text: 'with 中文 in it',
    }));
    for (let i = 0; i < 5; i++) {
      expect(await db.revsDiff({ [`ü${i}`]: ['1-a'] })).toEqual({});
      await db.bulkDocs(docs, { new_edits: false });
      expect(await db.changes()).toMatchObject({ results: [] });
      await expect(db.get('a')).rejects.toMatchObject({ status: 404, docId: 'a' });
    }
    expect(broken).toBe(0);
    expect(JSON.parse(bodies.at(-2)!)).toEqual({ ü4: ['1-a'] });
    expect(JSON.parse(bodies.at(-1)!)).toEqual({ new_edits: false, docs });
    // What was said of it is no text, and not taken for one that was broken off.
    docs[0]!.text = FORBIDDEN;
    await expect(db.bulkDocs(docs, { new_edits: false })).rejects.toMatchObject({ status: 403 });
  } finally {
    await db.close();
    await new Promise((resolve) => server.close(resolve).closeAllConnections());
  }
});
