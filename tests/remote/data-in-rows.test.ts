/** JSON with the data of attachments: lists, feeds and leaves hold no attachment whole, and say what the database says. */
import type { ExistingDoc, LocalDatabase } from '@settledb/core';
import { describe, expect, it, vi } from 'vitest';
import { noise } from '../conformance/database/attachment-bytes';
import { ORIGIN, testServer } from './support';

/** Of eight chunks: more than is read ahead and gathered. */
const LARGE = 4 * 1024 * 1024;
/** More than comes with its document. */
const MEDIUM = 300_000;

type Asked = [name: string, path: string, body?: object];
const whole = 'include_docs=true&conflicts=true&attachments=true';
const flags = `${whole}&att_encoding_info=true`;
const asked: Asked[] = [
  ['_all_docs', `_all_docs?${flags}&endkey="z"`],
  ['_all_docs of keys', `_all_docs?${flags}`, { keys: ['a', 'b', 'a', 'none'] }],
  ['a view', `_design/d/_view/v?${whole}`],
  ['_changes', `_changes?${flags}&filter=_doc_ids&doc_ids=["a","b"]`],
  ['lines of changes', `_changes?${flags}&feed=continuous&timeout=0&filter=_doc_ids&doc_ids=["a","b"]`],
  ['leaves', 'a?open_revs=all&attachments=true&att_encoding_info=true'],
  ['some of leaves', `a?open_revs=all&att_encoding_info=true&atts_since=["9-${'f'.repeat(32)}"]`],
];

async function start(length: number) {
  const server = testServer({ runStoredFunctions: true });
  await server.databases.create('db');
  const database = (await server.databases.open('db')) as LocalDatabase<Record<string, unknown>>;
  const map = 'function (doc) { if (doc.n) emit(doc.n); }';
  await database.put({ _id: '_design/d', views: { v: { map } } });
  const zipped = { content_type: 'x/y', encoded: true, encoding: 'gzip', data: GZIP, length: 2 };
  const file = { content_type: 'x/y', data: noise(length) };
  await database.bulkDocs([
    { _id: 'a', n: 1, _attachments: { file, zipped } },
    { _id: 'b', n: 2 },
  ] as never);
  await database.bulkDocs([{ _id: 'a', _rev: `1-${'0'.repeat(32)}`, n: 3 }], { new_edits: false });
  const get = async ([, path, body]: Asked): Promise<Response> => {
    const init = body && { method: 'POST', body: JSON.stringify(body) };
    const headers = { accept: 'application/json', 'content-type': 'application/json' };
    const answer = await server.fetch(`${ORIGIN}/db/${path}`, { ...init, headers });
    expect(answer.status).toBe(200);
    return answer;
  };
  return { database, get };
}

/** `hi`, compressed. */
const GZIP = Uint8Array.from(atob('H4sIAAAAAAAAA8vIBACsKpPYAgAAAA=='), (each) => each.charCodeAt(0));

/** The documents in an answer. */
function docsIn(text: string): (ExistingDoc | null)[] {
  const isWhole = /^(\{"(results|total_rows)|\[)/.test(text);
  const lines = isWhole ? [text] : text.trim().split('\n');
  return lines
    .map((line) => JSON.parse(line))
    .flatMap((each) => (Array.isArray(each) ? each : (each.rows ?? each.results ?? [each])))
    .map((row) => row.ok ?? row.doc)
    .filter((doc) => doc !== undefined);
}

describe.each(asked)('%s', (...request) => {
  it.each([100, MEDIUM])('is what the database says, with %i bytes', async (length) => {
    const { database, get } = await start(length);
    const docs = docsIn(await (await get(request)).text());
    expect(docs.length).toBeGreaterThan(1);
    const { _id, _rev } = await database.get('a');
    const att_encoding_info = request[1].includes('att_encoding_info');
    const options = { attachments: true, att_encoding_info, conflicts: request[1].includes('conflicts') };
    const whole = await database.get(_id, { ...options, rev: _rev });
    expect(docs.filter((doc) => doc?._rev === _rev).length).toBeGreaterThan(0);
    for (const doc of docs) if (doc?._rev === _rev) expect(doc).toEqual(whole);
  });

  it('holds no attachment whole', async () => {
    const { database, get } = await start(LARGE);
    const read = vi.spyOn(database.store.blobs, 'get');
    const body = (await get(request)).body!.getReader();
    await body.read();
    expect(read.mock.calls.length).toBeLessThan(6);
    await body.cancel();
  });

  it('begins when the attachments are at hand', async () => {
    const { database, get } = await start(MEDIUM);
    const opened = vi.spyOn(database, 'openAttachment');
    opened.mockImplementationOnce(async (...args) => {
      const { _rev } = await database.get('a');
      await database.put({ _id: 'a', _rev, n: 4 });
      await database.compact();
      opened.mockRestore();
      return database.openAttachment(...args);
    });
    const docs = docsIn(await (await get(request)).text());
    expect(docs).toContainEqual(expect.objectContaining({ _id: 'a', n: 4 }));
  });
});

it.each(
  asked.slice(0, 5),
)('%s opens no attachments that are small, which would take three times as long', async (...request) => {
  const { database, get } = await start(100);
  const opened = vi.spyOn(database, 'openAttachment');
  expect(docsIn(await (await get(request)).text()).length).toBeGreaterThan(1);
  expect(opened).not.toHaveBeenCalled();
});

it('a document that is purged while its row is answered is null', async () => {
  const { database, get } = await start(MEDIUM);
  const opened = vi.spyOn(database, 'openAttachment');
  opened.mockImplementationOnce(async (...args) => {
    const { _rev, _conflicts = [] } = await database.get('a', { conflicts: true });
    for (const rev of [_rev, ..._conflicts]) await database.purge('a', rev);
    await database.compact();
    opened.mockRestore();
    return database.openAttachment(...args);
  });
  const [first] = docsIn(await (await get(asked[1]!)).text());
  expect(first).toBeNull();
});
