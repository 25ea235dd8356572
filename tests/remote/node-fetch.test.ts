/** A fetch that is made of node-fetch, as PouchDB's own and fetch-cookie are: it knows streams of Node's, and no others. */
import { Readable } from 'node:stream';
import { memory } from '@settledb/adapter-memory';
import { expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { failureOf, ORIGIN, testServer } from './support';

type Fetch = typeof globalThis.fetch;

it('reads, writes, follows and replicates, and leaves no answer open', async () => {
  const server = testServer({ anonymous: false, admins: { admin: 'secret' } });
  const bodies: Readable[] = [];
  const kinds = new Set<string>();
  const fetch: Fetch = async (input, init) => {
    kinds.add(init?.body?.constructor.name ?? 'none');
    const response = await server.fetch(input, init);
    if (response.body === null) return response;
    const body = Readable.fromWeb(response.body as never);
    bodies.push(body);
    return Object.defineProperties(response, { body: { value: body }, bodyUsed: { value: false } });
  };
  const auth = { username: 'admin', password: 'secret', type: 'cookie' } as const;
  const db = new SettleDB<{ text?: string }>(`${ORIGIN}/db`, { fetch, auth, compress: true });
  const local = new SettleDB<{ text?: string }>('local', { adapter: memory() });
  const docs = Array.from({ length: 300 }, (_, i) => ({ _id: `${i + 100}`, text: 'é'.repeat(100) }));
  await db.bulkDocs(docs);
  expect((await db.allDocs({ include_docs: true })).rows.map(({ doc }) => doc)).toMatchObject(docs);
  await db.putAttachment('small', 'x', Buffer.from([1, 2, 255]), 'text/x');
  const data = Buffer.alloc(3_000_000, 7);
  await local.put({ _id: 'large', _attachments: { x: { content_type: 'a/b', data } } });
  expect(await local.sync(db)).toMatchObject({ push: { docs_written: 1 }, pull: { docs_written: 301 } });
  expect(Buffer.compare((await db.getAttachment('large', 'x')) as Buffer & { type: string }, data)).toBe(0);
  expect([...((await local.getAttachment('small', 'x')) as Buffer & { type: string })]).toEqual([1, 2, 255]);
  expect(await failureOf(db.get('none'))).toMatchObject({ status: 404, reason: 'missing' });
  const feed = db.changes({ live: true, since: 'now' });
  const first = feed[Symbol.asyncIterator]().next();
  await vi.waitFor(() => expect(server.log.at(-1)).toContain('longpoll'));
  await db.put({ _id: 'new' });
  expect((await first).value).toMatchObject({ id: 'new' });
  feed.cancel();
  // An answer that is left unread.
  await (await db.openAttachment('large', 'x')).stream.cancel();
  await db.close();
  await vi.waitFor(() => expect(bodies.filter(({ destroyed }) => !destroyed)).toHaveLength(0));
  expect([...kinds].sort()).toEqual(['ArrayBuffer', 'String', 'none']);
});
