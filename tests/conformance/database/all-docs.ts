/**
 * allDocs: rows, ranges, keys and counts (contract §6).
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import { edit, idsOf, numbered, rejection, store } from './expectations';
import type { TestDatabase } from './types';

const PAGED_DOCS = 1000;
const PAGE = 100;

export function allDocsConformance(context: Context): void {
  describe('rows', () => rowsOf(context));
  describe('ranges', () => ranges(context));
  describe('keys', () => keys(context));
  describe('counts and pages', () => pages(context));
}

/** a to e, of which c is deleted. */
async function lettered(context: Context): Promise<TestDatabase> {
  const db = context.fresh();
  const rows = await db.bulkDocs(['e', 'c', 'a', 'd', 'b'].map((_id) => ({ _id, letter: _id })));
  await db.remove('c', rows[1]!.rev);
  return db;
}

function rowsOf(context: Context): void {
  it('are id, key and revision, in order of id, without bodies', async () => {
    const db = await lettered(context);
    const answer = await db.allDocs();
    expect(Object.keys(answer).sort()).toEqual(['offset', 'rows', 'total_rows']);
    expect(answer.total_rows).toBe(4);
    expect(answer.offset).toBe(0);
    expect(idsOf(answer.rows)).toEqual(['a', 'b', 'd', 'e']);
    for (const { id, ...rest } of answer.rows) {
      expect(rest).toEqual({ key: id, value: { rev: expect.stringMatching(/^1-/) } });
    }
  });

  it('carry the documents with include_docs', async () => {
    const db = await lettered(context);
    const { rows } = await db.allDocs({ include_docs: true });
    for (const { id, value, doc } of rows) expect(doc).toEqual({ _id: id, _rev: value!.rev, letter: id });
    expect(rows).toHaveLength(4);
  });

  it('are none of an empty database', async () => {
    expect(await context.fresh().allDocs()).toEqual({ total_rows: 0, offset: 0, rows: [] });
  });

  it('have design documents but no local ones', async () => {
    const db = context.fresh();
    await db.bulkDocs([{ _id: '_design/d' }, { _id: '_local/l' }, { _id: 'a' }, { _id: 'Z' }]);
    expect(idsOf((await db.allDocs()).rows)).toEqual(['Z', '_design/d', 'a']);
  });

  it('have conflicts on request, absent where there are none', async () => {
    const db = context.fresh();
    await store(db, edit('a', '1-a'), edit('b', '2-b 1-a'), edit('b', '2-c 1-a'), edit('b', '1-z'));
    const { rows } = await db.allDocs({ include_docs: true, conflicts: true });
    expect(rows[0]!.doc).toEqual({ _id: 'a', _rev: '1-a' });
    expect(rows[1]!.doc).toEqual({ _id: 'b', _rev: '2-c', _conflicts: ['2-b', '1-z'] });
    expect((await db.allDocs({ include_docs: true })).rows[1]!.doc).not.toHaveProperty('_conflicts');
  });

  it('come with update_seq on request', async () => {
    const db = await lettered(context);
    const { update_seq } = await db.allDocs({ update_seq: true });
    expect(Number.parseInt(String(update_seq), 10)).toBeGreaterThan(0);
    expect(await db.allDocs()).not.toHaveProperty('update_seq');
  });

  it('are not disturbed by options for attachments', async () => {
    const db = await lettered(context);
    const options = { keys: ['a', 'missing', 'c'], include_docs: true, attachments: true, binary: true };
    expect((await db.allDocs(options)).rows).toHaveLength(3);
    expect((await db.allDocs({ attachments: true, binary: true })).rows[0]).not.toHaveProperty('doc');
  });
}

function ranges(context: Context): void {
  const cases: [options: object, ids: string][] = [
    [{ startkey: 'b' }, 'bde'],
    [{ start_key: 'b' }, 'bde'],
    [{ endkey: 'b' }, 'ab'],
    [{ end_key: 'b' }, 'ab'],
    [{ startkey: 'b', endkey: 'd' }, 'bd'],
    [{ startkey: 'bb', endkey: 'dd' }, 'd'],
    [{ startkey: 'b', endkey: 'd', inclusive_end: true }, 'bd'],
    [{ startkey: 'b', endkey: 'd', inclusive_end: false }, 'b'],
    [{ endkey: 'c', inclusive_end: false }, 'ab'],
    [{ startkey: 'b', inclusive_end: false }, 'bde'],
    [{ inclusive_end: false }, 'abde'],
    [{ startkey: 'd', endkey: 'b' }, ''],
    [{ startkey: '' }, 'abde'],
    [{ endkey: '' }, ''],
    [{ startkey: '', endkey: 'a' }, 'a'],
    [{ startkey: 'x' }, ''],
    [{ startkey: 'a', endkey: 'a' }, 'a'],
    [{ startkey: 'a', endkey: 'a', inclusive_end: false }, ''],
    [{ descending: true }, 'edba'],
    [{ descending: true, startkey: 'd' }, 'dba'],
    [{ descending: true, endkey: 'b' }, 'edb'],
    [{ descending: true, startkey: 'd', endkey: 'b' }, 'db'],
    [{ descending: true, startkey: 'd', endkey: 'b', inclusive_end: false }, 'd'],
    [{ descending: true, startkey: 'b', endkey: 'd' }, ''],
    [{ descending: true, limit: 2 }, 'ed'],
    [{ descending: true, skip: 1, limit: 2 }, 'db'],
    [{ limit: 0 }, ''],
    [{ limit: 2 }, 'ab'],
    [{ limit: 100 }, 'abde'],
    [{ skip: 1 }, 'bde'],
    [{ skip: 4 }, ''],
    [{ skip: 2, limit: 1 }, 'd'],
    [{ startkey: 'b', skip: 1, limit: 1 }, 'd'],
    [{ key: 'b' }, 'b'],
    [{ key: 'c' }, ''],
    [{ key: 'missing' }, ''],
    [{ key: '' }, ''],
    [{ key: 'b', limit: 0 }, ''],
  ];

  for (const [options, ids] of cases) {
    it(`${JSON.stringify(options)} gives ${ids === '' ? 'no rows' : ids}, and all live documents in total`, async () => {
      const db = await lettered(context);
      const answer = await db.allDocs(options);
      expect(idsOf(answer.rows).join('')).toBe(ids);
      expect(answer.total_rows).toBe(4);
    });
  }

  it('compares by code unit, not by a language', async () => {
    const db = context.fresh();
    const ids = ['10', '9', 'B', 'Z', '_design/x', 'a', 'b', 'z', '~', 'ä', '\u{1f600}', '\uffee'];
    await db.bulkDocs([...ids].reverse().map((_id) => ({ _id })));
    expect(idsOf((await db.allDocs()).rows)).toEqual(ids);
    const options = { startkey: 'org.couchdb.user:', endkey: 'org.couchdb.user;' };
    expect((await db.allDocs(options)).rows).toEqual([]);
    expect(idsOf((await db.allDocs({ startkey: '\u{1f600}' })).rows)).toEqual(ids.slice(-2));
  });

  it('allows key together with bounds', async () => {
    const db = await lettered(context);
    expect((await db.allDocs({ key: 'b', startkey: 'a', endkey: 'z' })).total_rows).toBe(4);
  });
}

function keys(context: Context): void {
  const cases: [options: { keys: string[] }, keys: string][] = [
    [{ keys: ['b', 'a', 'b'] }, 'bab'],
    [{ keys: [] }, ''],
    [{ keys: ['b', 'x', 'c', 'a'], skip: 1 } as never, 'xca'],
    [{ keys: ['b', 'x', 'c', 'a'], limit: 2 } as never, 'bx'],
    [{ keys: ['b', 'x', 'c', 'a'], skip: 1, limit: 2 } as never, 'xc'],
    [{ keys: ['b', 'x', 'c', 'a'], limit: 0 } as never, ''],
    [{ keys: ['b', 'x', 'c', 'a'], descending: true } as never, 'acxb'],
  ];
  for (const [options, expected] of cases) {
    it(`${JSON.stringify(options)} gives ${expected === '' ? 'no rows' : expected}`, async () => {
      const db = await lettered(context);
      const answer = await db.allDocs(options);
      expect(answer.rows.map(({ key }) => key).join('')).toBe(expected);
      expect(answer.total_rows).toBe(4);
    });
  }

  it('gives a row for each key asked: found, missing and deleted', async () => {
    const db = await lettered(context);
    const { rows } = await db.allDocs({ keys: ['b', 'x', 'c'] });
    expect(rows[0]).toEqual({ id: 'b', key: 'b', value: { rev: expect.stringMatching(/^1-/) } });
    expect(rows[1]).toEqual({ key: 'x', error: 'not_found' });
    expect(rows[2]).toMatchObject({
      id: 'c',
      key: 'c',
      value: { rev: expect.stringMatching(/^2-/), deleted: true },
    });
    const { rows: withDocs } = await db.allDocs({ keys: ['b', 'x', 'c'], include_docs: true });
    expect(withDocs[0]!.doc).toMatchObject({ _id: 'b', letter: 'b' });
    expect(withDocs[1]).toEqual({ key: 'x', error: 'not_found' });
    expect(withDocs[2]!.doc).toBeNull();
  });

  it('takes a hole, and a key that is undefined, as null', async () => {
    const db = await lettered(context);
    for (const keys of [Object.assign([], { 1: 'b' }), [undefined, 'b']]) {
      const { rows } = await db.allDocs({ keys: keys as never });
      expect(rows).toStrictEqual([
        { key: null, error: 'not_found' },
        { id: 'b', key: 'b', value: { rev: expect.any(String) } },
      ]);
    }
  });

  it('takes many long keys', async () => {
    const db = context.fresh();
    const ids = numbered(75).map((index) => `${'long '.repeat(40)}${index}`);
    await db.bulkDocs(ids.map((_id) => ({ _id })));
    expect(idsOf((await db.allDocs({ keys: ids })).rows)).toEqual(ids);
  });

  it('does not change the caller’s list', async () => {
    const db = await lettered(context);
    const options = { keys: ['b', 'a', 'x'], descending: true, skip: 1 };
    const before = structuredClone(options);
    await db.allDocs(options);
    expect(options).toEqual(before);
  });

  it('refuses keys that are no list, and keys with key or bounds', async () => {
    const db = await lettered(context);
    for (const options of [
      { keys: 'a' },
      { keys: { a: 1 } },
      { keys: ['a'], startkey: 'a' },
      { keys: ['a'], endkey: 'a' },
      { keys: ['a'], key: 'a' },
    ]) {
      await rejection(db.allDocs(options));
    }
  });
}

function pages(context: Context): void {
  it(`pages through ${PAGED_DOCS} documents by startkey and skip, each exactly once`, async () => {
    const db = context.fresh();
    const ids = numbered(PAGED_DOCS).map((index) => `doc-${String(index).padStart(5, '0')}`);
    await db.bulkDocs(ids.map((_id) => ({ _id })));
    const read: (string | undefined)[] = [];
    for (let page = await db.allDocs({ limit: PAGE }); page.rows.length > 0; ) {
      expect(page.total_rows).toBe(PAGED_DOCS);
      read.push(...idsOf(page.rows));
      page = await db.allDocs({ startkey: read.at(-1), skip: 1, limit: PAGE });
    }
    expect(read).toEqual(ids);
  });

  it('reads ten pages at once', async () => {
    const db = context.fresh();
    const ids = numbered(PAGED_DOCS).map((index) => `doc-${String(index).padStart(5, '0')}`);
    await db.bulkDocs(ids.map((_id) => ({ _id })));
    const starts = numbered(PAGED_DOCS / PAGE).map((page) => ids[page * PAGE]);
    const answers = await Promise.all(
      starts.map((startkey) => db.allDocs({ startkey, limit: PAGE, include_docs: true })),
    );
    expect(answers.flatMap(({ rows }) => idsOf(rows))).toEqual(ids);
    expect(answers.every(({ rows }) => rows.every(({ doc, id }) => doc!._id === id))).toBe(true);
  });

  it('counts exactly after 200 parallel removals', async () => {
    const db = context.fresh();
    const rows = await db.bulkDocs(numbered(250).map((index) => ({ _id: `doc-${index}` })));
    await Promise.all(rows.slice(0, 200).map(({ id, rev }) => db.remove(id, rev)));
    const answer = await db.allDocs();
    expect(answer.total_rows).toBe(50);
    expect(new Set(idsOf(answer.rows))).toEqual(new Set(idsOf(rows.slice(200))));
    expect((await db.info()).doc_count).toBe(50);
  });
}
