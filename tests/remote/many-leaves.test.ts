/** A document with many leaves, whose ancestries together are far longer than what is stored: they are sent as they are made. */
import { describe, expect, it } from 'vitest';
import { ORIGIN, testServer } from './support';

const LEAVES = 1_200;
const ancestors = Array.from({ length: 200 }, (_, i) => `ancestor${i}`);

async function setUp() {
  const server = testServer();
  await server.databases.create('db');
  const database = (await server.databases.open('db'))!;
  const docs = Array.from({ length: LEAVES }, (_, i) => ({
    _id: 'a',
    _rev: `201-${i}`,
    _revisions: { start: 201, ids: [`${i}`, ...ancestors] },
    i,
  }));
  await database.bulkDocs(docs, { new_edits: false });
  const made = { count: 0 };
  const source = database as unknown as { openRevs(...asked: unknown[]): Promise<Iterable<object>> };
  const openRevs = source.openRevs.bind(source);
  source.openRevs = async (...asked) => counted(await openRevs(...asked), made);
  const ask = (query: string) =>
    server.fetch(`${ORIGIN}/db/a?${query}`, { headers: { accept: 'application/json' } });
  const askBulk = () =>
    server.fetch(`${ORIGIN}/db/_bulk_get?revs=true`, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify({ docs: [{ id: 'a' }, { id: 'none' }, { id: 'a' }] }),
    });
  return { database, made, ask, askBulk };
}

function* counted(rows: Iterable<object>, made: { count: number }) {
  for (const row of rows) {
    made.count++;
    yield row;
  }
}

describe('open_revs as JSON', () => {
  it('makes rows as the client takes them, and no more once it has gone', async () => {
    const { made, ask } = await setUp();
    const answer = await ask('open_revs=all&revs=true');
    expect(made.count).toBeLessThan(LEAVES / 3);
    const reader = answer.body!.getReader();
    for (let i = 0; i < 3; i++) await reader.read();
    await reader.cancel();
    expect(made.count).toBeLessThan(LEAVES / 2);
  });

  it('gives the rows that the database gives, in its order', async () => {
    const { database, made, ask } = await setUp();
    const rows = await database.get('a', { open_revs: 'all', revs: true });
    expect(await (await ask('open_revs=all&revs=true')).json()).toEqual(rows);
    expect([rows.length, made.count]).toEqual([LEAVES, LEAVES]);
    const some = await ask('open_revs=["201-7","9-x"]');
    expect(await some.text()).toBe('[{"ok":{"_id":"a","_rev":"201-7","i":7}},{"missing":"9-x"}]\n');
  });
});

describe('_bulk_get of all leaves', () => {
  it('makes rows as the client takes them, and gives all of them', async () => {
    const { database, made, askBulk } = await setUp();
    const answer = await askBulk();
    expect(made.count).toBeLessThan(LEAVES / 3);
    const { results } = JSON.parse(await answer.text()) as { results: { id: string; docs: unknown }[] };
    const docs = await database.get('a', { open_revs: 'all', revs: true });
    const none = { rev: 'undefined', reason: 'missing', id: 'none', error: 'not_found' };
    expect(results).toEqual([
      { id: 'a', docs },
      { id: 'none', docs: [{ error: none }] },
      { id: 'a', docs },
    ]);
  });
});

describe('_bulk_get of all leaves with `atts_since`', () => {
  it('takes as many revisions as a request has room for', async () => {
    const { databases, ask } = testServer();
    await databases.create('db');
    const database = (await databases.open('db'))!;
    const docs = Array.from({ length: 10 }, (_, i) => ({
      _id: 'a',
      _rev: `2-${i}`,
      _revisions: { start: 2, ids: [`${i}`, 'root'] },
      _attachments: { f: { content_type: 'x/y', data: 'eA==', revpos: i % 2 ? 1 : 2 } },
    }));
    await database.bulkDocs(docs, { new_edits: false });
    // More than a call may have arguments, in a worker too.
    const known = Array.from({ length: 600_000 }, (_, i) => (i % 50 ? '1-root' : `1-other${i}`));
    const { status, body } = await ask('POST', '/db/_bulk_get', { docs: [{ id: 'a', atts_since: known }] });
    expect(status).toBe(200);
    type Ok = { _rev: string; _attachments: { f: { data?: string } } };
    const found = body.results[0].docs.map(({ ok }: { ok: Ok }) => [ok._rev, ok._attachments.f.data]);
    const wanted = docs.map(({ _rev }, i) => [_rev, i % 2 ? undefined : 'eA==']);
    expect(new Map(found)).toEqual(new Map(wanted as [string, string | undefined][]));
  });
});
