/**
 * What CouchDB 3.5.2 answered to the same requests (tests/fixtures/couchdb/find-*), without HTTP between. Each difference has its
 * reason, and a reason that explains nothing any more is a failure too.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { isDatabaseError } from '@settledb/core';
import { describe, expect, it } from 'vitest';
import { naiveMango } from './support';

const folder = new URL('../fixtures/couchdb/', import.meta.url);
const files = readdirSync(folder).filter((file) => file.startsWith('find-'));

interface Step {
  readonly note: string;
  readonly request: { readonly method: string; readonly path: string; readonly body?: Loose };
  readonly response: { readonly status: number; readonly body: Loose };
}
// biome-ignore lint/suspicious/noExplicitAny: recorded JSON
type Loose = any;

const REASONS: readonly { readonly request: RegExp; readonly why: string }[] = [
  { request: /^find.*"_id":\{"\$gt":"m"\}/, why: 'nor is a range of ids' },
  {
    request: /"\$(gt|gte|lt)":"/,
    why: 'text is compared by code unit, by ICU in CouchDB (docs/decisions/0002)',
  },
  { request: /^find.*"_id":"a"/, why: 'one document read by its id is no scan: no warning' },
  {
    request: /^index.*"fields":\["z"\]|"type":"text"/,
    why: 'there is no index service for text; CouchDB says 503',
  },
  {
    request: /"fields":"x"|"a":"x"|"index":"x"|"fields":\[""\]/,
    why: 'values in reasons are JSON, not Erlang',
  },
];
const used = new Set<string>();

describe('recorded answers agree, but for what has a reason:', () => {
  for (const file of files) it(file, () => replay(file));

  it('has no reason that explains nothing', () => {
    expect(REASONS.filter(({ why }) => !used.has(why)).map(({ why }) => why)).toEqual([]);
  });
});

async function replay(file: string): Promise<void> {
  const { db, mango } = naiveMango();
  const { steps } = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as { steps: Step[] };
  const names = new Map<string, string>();
  const bookmarks = new Map<string, string | undefined>();
  const wrong: object[] = [];
  for (const { request, response } of steps) {
    const { method, body } = request;
    const path = request.path.replace(/^\/[^/]+\/?/, '');
    const compare = async (name: string, work: () => Promise<object>): Promise<void> => {
      const answer = await work().catch((error: unknown) => failure(error));
      const known = normal(answer, names);
      const expected = normal(response.body, names);
      if (JSON.stringify(known) === JSON.stringify(expected)) return;
      const line = `${name} ${JSON.stringify(body)}`;
      const reason = REASONS.find((each) => each.request.test(line));
      if (reason === undefined) wrong.push({ line, known, expected });
      else used.add(reason.why);
    };
    if (path === '_bulk_docs') await db.bulkDocs(body.docs, { new_edits: body.new_edits });
    else if (method === 'PUT' && path.startsWith('_design/')) await db.put({ _id: path, ...body });
    // The flat form is for programs (contract §13), not for the wire.
    else if (path === '_index' && body?.fields) continue;
    else if (path === '_find') {
      await compare('find', async () => {
        const bookmark = body.bookmark && (bookmarks.get(body.bookmark) ?? body.bookmark);
        const answer = await mango.find(bookmark ? { ...body, bookmark } : body);
        bookmarks.set(response.body.bookmark, answer.bookmark);
        return answer;
      });
    } else if (path === '_index' && method === 'POST') {
      await compare('index', async () => {
        const answer = await mango.createIndex(body);
        if (response.body.name !== undefined) names.set(answer.name, response.body.name);
        return answer;
      });
    } else if (path === '_index' && method === 'GET') await compare('list', () => mango.getIndexes());
    else if (method === 'DELETE' && /^_index\//.test(path)) {
      const [name, type, ...ddoc] = path.slice('_index/'.length).split('/').reverse();
      await compare('delete', () =>
        mango.deleteIndex({ ddoc: ddoc.reverse().join('/'), name: name!, type: type! }),
      );
    } else if (path === '_index/_bulk_delete') await mango.deleteIndex({ ddoc: 'pf', name: 'pf' });
  }
  expect(wrong).toEqual([]);
}

function failure(error: unknown): object {
  if (!isDatabaseError(error)) throw error;
  return { error: error.name, reason: error.reason };
}

/** Without what is chance, and what only HTTP says. */
function normal(answer: Loose, names: Map<string, string>): unknown {
  const text = JSON.stringify(answer, (key, value) =>
    key === 'bookmark'
      ? value === 'nil'
      : key === 'partitioned' || key === 'execution_time_ms'
        ? undefined
        : value,
  );
  const { docs, indexes, ...rest } = JSON.parse(
    [...names].reduce((all, [ours, theirs]) => all.replaceAll(ours, theirs), text),
  );
  const byName = (one: Loose, other: Loose): number =>
    one.ddoc + one.name < other.ddoc + other.name ? -1 : 1;
  // The order of members of documents is theirs who wrote them; `_id` and `_rev` stand in front in CouchDB.
  const sorted = (doc: object): object => Object.fromEntries(Object.entries(doc).sort());
  return sorted({
    ...rest,
    ...(docs && { docs: docs.map(sorted) }),
    ...(indexes && { indexes: indexes.sort(byName).map(sorted) }),
  });
}
