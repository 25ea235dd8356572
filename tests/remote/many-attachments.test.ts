/** Documents with many attachments, or many leaves with some: answering and pulling them does not read them once for each attachment. */
import type { LocalDatabase } from '@settledb/core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { memory } from '../../packages/settledb/src/memory';
import { noise } from '../conformance/database/attachment-bytes';
import { ORIGIN, testServer } from './support';

const MANY = 50;

/** Attachments `f0`, `f1`, …, each with content of its own. */
const files = (count: number, size = 100) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`f${i}`, { content_type: 'x/y', data: noise(size, i) }]),
  );

/** How often documents are asked for while `work` runs. */
async function readsOf({ store }: LocalDatabase, work: () => Promise<unknown>): Promise<number> {
  const spies = [vi.spyOn(store, 'read'), vi.spyOn(store, 'readNow')];
  await work();
  const queries = spies.flatMap((spy) => spy.mock.calls.flatMap(([all]) => all));
  for (const spy of spies) spy.mockRestore();
  return queries.filter(({ from }) => from === 'docs').length;
}

async function start() {
  const server = testServer();
  await server.databases.create('db');
  const database = (await server.databases.open('db')) as LocalDatabase;
  for (const [id, count] of Object.entries({ few: 1, many: MANY }))
    await database.put({ _id: id, _attachments: files(count) });
  const leaves = Array.from({ length: MANY }, (_, i) => {
    const hash = i.toString(16).padStart(32, '0');
    return { _id: 'leaves', _rev: `1-${hash}`, _attachments: files(2) };
  });
  await database.bulkDocs(leaves, { new_edits: false });
  return { ...server, database };
}

describe('a document is not read once for each of its attachments', () => {
  const bulk = { method: 'POST', headers: { 'content-type': 'application/json' } };
  const asked: [string, string, (id: string) => [path: string, init?: RequestInit]][] = [
    ['GET', 'application/json', (id) => [`${id}?attachments=true`]],
    ['GET', 'multipart/related', (id) => [`${id}?attachments=true`]],
    ['GET with open_revs', 'multipart/mixed', (id) => [`${id}?open_revs=all`]],
    ['_bulk_get', 'application/json', (id) => ['_bulk_get?attachments=true', { ...bulk, body: docs(id) }]],
    ['_bulk_get', 'multipart/mixed', (id) => ['_bulk_get?attachments=true', { ...bulk, body: docs(id) }]],
  ];
  const docs = (id: string) => JSON.stringify({ docs: [{ id }] });

  it.each(asked)('by %s of %s', async (_name, accept, ask) => {
    const { fetch, database } = await start();
    const texts: string[] = [];
    for (const id of ['few', 'many', 'leaves']) {
      const [path, init = {}] = ask(id);
      const get = async () => {
        const answer = await fetch(`${ORIGIN}/db/${path}`, { ...init, headers: { ...init.headers, accept } });
        expect(answer.status).toBe(200);
        texts.push(await answer.text());
      };
      expect(await readsOf(database, get)).toBeLessThan(10);
    }
    for (let i = 0; i < MANY; i++) expect(texts[1]).toContain(`"f${i}"`);
  });

  it('when it is replicated by streams', async () => {
    const { fetch, log, database } = await start();
    // More than what is sent within a document.
    await database.put({ _id: 'large', _attachments: files(MANY, 30_000) });
    const far = new SettleDB(`${ORIGIN}/db`, { fetch });
    const near = new SettleDB('near', { adapter: memory() });
    onTestFinished(() => near.close());
    await near.replicate.from(far);
    expect(log.filter((line) => line.startsWith('GET /db/large/'))).toHaveLength(MANY);
    expect(log.filter((line) => line.startsWith('GET /db/large?'))).toEqual([]);
    await database.put({ _id: 'larger', _attachments: files(MANY, 30_001) });
    const reads = await readsOf(database, () => near.replicate.from(database as never));
    expect(reads).toBeLessThan(MANY);
    const got = await near.get('larger', { attachments: true, binary: true });
    expect(Object.keys(got._attachments!)).toHaveLength(MANY);
  });
});
