/** Requests with very many documents: they are written in portions, between which others have their turn. */
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
