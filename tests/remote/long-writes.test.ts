/** Requests about very many documents: they are worked through in portions, between which others have their turn. */
import { describe, expect, it, vi } from 'vitest';
import { testServer } from './support';

describe('_bulk_docs', () => {
  it('writes many documents in portions, and answers in their order', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const database = (await server.databases.open('db'))!;
    const writes = vi.spyOn(database, 'bulkDocs');
    const docs: object[] = Array.from({ length: 10_020 }, () => ({}));
    docs[3] = { _id: 'twice', n: 1 };
    docs[10_010] = { _id: 'twice', n: 2 };
    const { status, body } = await server.ask('POST', '/db/_bulk_docs', { docs });
    expect(status).toBe(201);
    expect(writes.mock.calls.map(([given]) => (given as object[]).length)).toEqual([10_000, 20]);
    expect(body).toHaveLength(docs.length);
    expect(body[3]).toMatchObject({ ok: true, id: 'twice' });
    expect(body[10_010]).toMatchObject({ id: 'twice', error: 'conflict' });
    expect((await database.info()).doc_count).toBe(docs.length - 1);
  });

  it('checks all of them before any is written', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const docs = [...Array.from({ length: 10_000 }, () => ({})), 0];
    expect((await server.ask('POST', '/db/_bulk_docs', { docs })).status).toBe(400);
    expect((await server.ask('GET', '/db')).body.doc_count).toBe(0);
  });

  it('refuses more than a million', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const docs = Array(1_000_001).fill(0);
    const { status, body } = await server.ask('POST', '/db/_bulk_docs', { docs });
    expect([status, body.error]).toEqual([413, 'too_large']);
  });
});

describe('_revs_diff', () => {
  it('asks about many documents in portions, whatever their names', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const { rev } = (await server.ask('PUT', '/db/d1500', {})).body;
    const database = (await server.databases.open('db'))!;
    const asks = vi.spyOn(database, 'revsDiff');
    const ids = ['__proto__', 'constructor', ...Array.from({ length: 2_000 }, (_, i) => `d${i}`)];
    const lists = ids.map((id): [string, string[]] => [id, [id === 'd1500' ? rev : '1-a']]);
    const { body } = await server.ask('POST', '/db/_revs_diff', Object.fromEntries(lists));
    expect(Object.keys(body)).toEqual(ids.filter((id) => id !== 'd1500'));
    expect(Object.values(body)).toEqual(Array(ids.length - 1).fill({ missing: ['1-a'] }));
    expect(asks.mock.calls.map(([revs]) => Object.keys(revs).length)).toEqual([1_000, 1_000, 2]);
  });
});
