/** Rows of views over HTTP: a repeated key, and a document that many rows name, are in the answer as often, and in memory once. */
import { evaluate, type Queries } from '@settledb/core';
import { describe, expect, it, vi } from 'vitest';
import { serverQueries } from '../../packages/settledb/src/server-queries';
import { mulberry32 } from '../support/slow-adapter';
import { ORIGIN, type TestServer, testServer } from './support';

const SEED = 43;
const KEYS = ['a', 'b', 3, ['a', 1], null, 'none'];

const VIEWS = {
  rows: { map: 'function (doc) { for (const key of doc.keys) emit(key, doc.n); }' },
  sums: { map: 'function (doc) { for (const key of doc.keys) emit(key, doc.n); }', reduce: '_sum' },
  links: { map: 'function (doc) { for (const key of doc.keys) emit(key, { _id: "big" }); }' },
};

async function serverWith(docs: readonly object[]) {
  const queries = serverQueries(evaluate);
  const server = testServer({ runStoredFunctions: true, queries });
  await server.ask('PUT', '/db');
  await server.ask('PUT', '/db/_design/v', { views: VIEWS });
  const database = (await server.databases.open('db'))!;
  await database.bulkDocs(docs as never);
  const looks = vi.spyOn((await queries(database)) as Queries, 'query');
  return { server, database, looks };
}

interface Asked {
  readonly keys: readonly unknown[];
  readonly skip?: number;
  readonly limit?: number;
  readonly descending?: boolean;
}

/** Each key by itself. */
async function naive(server: TestServer, view: string, { keys, skip = 0, limit, ...rest }: Asked) {
  const rows: unknown[] = [];
  for (const key of rest.descending ? [...keys].reverse() : keys)
    rows.push(...(await server.ask('POST', view, { ...rest, keys: [key] })).body.rows);
  return rows.slice(skip, limit === undefined ? undefined : skip + limit);
}

describe('keys that are repeated', () => {
  it(`have their rows as often, whatever is asked (seed ${SEED})`, async () => {
    const random = mulberry32(SEED);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
    const docs = Array.from({ length: 30 }, (_, n) => ({ _id: `d${n}`, n, keys: [pick(KEYS), pick(KEYS)] }));
    const { server } = await serverWith([...docs, { _id: 'big', keys: [] }]);
    for (let round = 0; round < 60; round++) {
      const name = pick(['rows', 'sums', 'links']);
      const view = `/db/_design/v/_view/${name}`;
      const asked = {
        keys: Array.from({ length: 1 + Math.floor(random() * 9) }, () => pick(KEYS)),
        ...(random() < 0.4 && { skip: Math.floor(random() * 60) }),
        ...(random() < 0.4 && { limit: Math.floor(random() * 60) }),
        ...(random() < 0.4 && { descending: true }),
        ...(name === 'sums' ? pick([{ group: true }, { group_level: 1 }, { reduce: false }]) : {}),
        ...(name !== 'sums' && random() < 0.5 && { include_docs: true }),
      };
      const { body } = await server.ask('POST', view, asked);
      expect(body.rows, JSON.stringify([name, asked])).toEqual(await naive(server, view, asked));
      if (!('group' in asked || 'group_level' in asked))
        expect(body).toMatchObject({ total_rows: 60, offset: asked.skip ?? 0 });
    }
  });

  it(`have their rows in order, however many they are, and are looked up some at a time (seed ${SEED})`, async () => {
    const random = mulberry32(SEED);
    const upTo = (most: number): number => Math.floor(random() * most);
    const docs = Array.from({ length: 300 }, (_, n) => ({ _id: `d${n}`, n, keys: [n] }));
    const { server, looks } = await serverWith(docs);
    for (let round = 0; round < 12; round++) {
      const keys = Array.from({ length: 2_500 }, () => upTo(400));
      const skip = upTo(2) * upTo(2_500);
      const limit = [undefined, 0, upTo(2_500)][round % 3] ?? 2_500;
      const descending = random() < 0.5;
      const reduced = [undefined, { group: true }, { group_level: 1 }, { reduce: false }][round % 4];
      const isRows = reduced === undefined || 'reduce' in reduced;
      const asked = { keys, skip, limit, descending, ...reduced };
      const ordered = descending ? [...keys].reverse() : keys;
      const all = ordered.filter((n) => n < 300).slice(skip, skip + limit);
      const view = `/db/_design/v/_view/${reduced === undefined ? 'rows' : 'sums'}`;
      const { body } = await server.ask('POST', view, asked);
      const id = (n: number) => isRows && { id: `d${n}` };
      const rows = all.map((n) => ({ ...id(n), key: n, value: n }));
      expect(body).toEqual({ ...(isRows && { total_rows: 300, offset: skip }), rows });
    }
    for (const [, options] of looks.mock.calls) expect(options?.keys?.length).toBeLessThanOrEqual(1_000);
  });

  it('of a reduced view are refused without group, as two keys are, and so are its documents', async () => {
    const { server } = await serverWith([{ _id: 'd', n: 1, keys: ['a'] }]);
    for (const asked of [{ keys: ['a', 'a'] }, { keys: ['a', 'b'] }, { include_docs: true }]) {
      const { status, body } = await server.ask('POST', '/db/_design/v/_view/sums', asked);
      expect([status, body.error]).toEqual([400, 'query_parse_error']);
    }
  });

  it.each([
    ['rows', { keys: Array(1_000_000).fill('a') }],
    ['rows', { keys: Array(100_000).fill('a'), include_docs: true }],
    ['links', { include_docs: true }],
  ])('are read as they are taken: %s', async (name, asked) => {
    const text = 'x'.repeat(100_000);
    const docs = Array.from({ length: 1_000 }, (_, n) => ({ _id: `d${n}`, n, keys: ['a'] }));
    const { server, database } = await serverWith([...docs, { _id: 'big', text, keys: [] }]);
    const reads = vi.spyOn(database, 'allDocs');
    const answer = await server.fetch(`${ORIGIN}/db/_design/v/_view/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(asked),
    });
    expect(answer.status).toBe(200);
    const reader = answer.body!.getReader();
    await reader.read();
    const docsRead = reads.mock.calls.reduce((sum, [options]) => sum + options!.keys!.length, 0);
    expect(docsRead).toBeLessThan(20_000);
    await reader.cancel();
  });
});
