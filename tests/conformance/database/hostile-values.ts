/**
 * Ids, keys and values that break what is careless: each comes back exactly as it was, or is refused with a 4xx; nothing
 * between (contract §3).
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import { changesOf, edit, getDoc, idsOf, openRevs, rejection, store } from './expectations';
import type { TestDatabase, TestError } from './types';

const IDS: Record<string, string> = {
  'the name constructor': 'constructor',
  'the name prototype': 'prototype',
  'the name hasOwnProperty': 'hasOwnProperty',
  'the name toString': 'toString',
  'the name valueOf': 'valueOf',
  'the name length': 'length',
  NUL: 'a\u0000b',
  'NUL alone': '\u0000',
  'NULs at the end': 'a\u0000\u0000',
  'control characters': '\u0001\u0002\t\n\r\u001b\u007f',
  'the last code unit': '\uffff',
  'private use': '\ue000',
  'a byte order mark': '\ufeffa',
  'line separators': 'a\u2028b\u2029c',
  'astral characters': '\u{1f600}\u{10ffff}\u{1d11e}',
  'combining characters': 'e\u0301',
  'the same, composed': '\u00e9',
  'right-to-left': '\u05d0\u202e\u05d1',
  percent: '100%',
  'a percent sequence': 'a%2Fb%00%zz',
  slashes: '/a//b/../c/',
  backslashes: 'a\\b\\u0000',
  quotes: `"a" 'b' \`c\``,
  'query characters': '?a=b&c=d#e;f+g',
  'spaces around': '  a  ',
  'a space': ' ',
  'a dot': '.',
  dots: '..',
  'an underscore within': 'a_b',
  digits: '0',
  'a number with sign': '-1e5',
  JSON: '{"a":[1]}',
  'like a local document': 'local/a',
  'a design document with slashes': '_design/a/b/c',
  'a design document of the prototype': '_design/__proto__',
  'a very long id': 'x'.repeat(10_000),
};

const LONE_SURROGATES = ['\ud800', 'a\udfff', '\udc00\ud800', 'a\ud83db'];

const KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'hasOwnProperty',
  'toString',
  'toJSON',
  'valueOf',
  'watch',
  'then',
  'length',
  'dotted.key',
  'dashed-key',
  '!',
  '$set',
  '',
  ' ',
  '0',
  '-1',
  '\u0000',
  '\u{1f600}',
  'x'.repeat(1000),
];

export function hostileValuesConformance(context: Context): void {
  describe('ids', () => ids(context));
  describe('reserved names', () => reserved(context));
  describe('all ids together', () => together(context));
  describe('lone surrogates', () => surrogates(context));
  describe('keys', () => keys(context));
  describe('values', () => values(context));
  describe('revisions of others', () => hashes(context));
}

/** Writes, reads, updates, lists, deletes and revives a document under this id. */
async function live(db: TestDatabase, id: string): Promise<void> {
  const first = await db.put({ _id: id, value: 1 });
  expect(first.id).toBe(id);
  const second = await db.put({ _id: id, _rev: first.rev, value: 2 });
  expect(await db.get(id)).toEqual({ _id: id, _rev: second.rev, value: 2 });
  expect(await getDoc(db, id, { rev: first.rev })).toMatchObject({ _id: id, value: 1 });
  expect(idsOf((await db.allDocs({ key: id })).rows)).toEqual([id]);
  expect(idsOf((await db.allDocs({ startkey: id, endkey: id })).rows)).toEqual([id]);
  expect(idsOf((await db.allDocs({ keys: [id] })).rows)).toEqual([id]);
  expect(idsOf((await changesOf(db, { doc_ids: [id] })).results)).toEqual([id]);
  const { results } = await db.bulkGet({ docs: [{ id }] });
  expect(results[0]).toEqual({ id, docs: [{ ok: { _id: id, _rev: second.rev, value: 2 } }] });
  const removed = await db.remove(id, second.rev);
  expect((await rejection(db.get(id))).docId).toBe(id);
  expect((await db.put({ _id: id })).rev).not.toBe(removed.rev);
}

function ids(context: Context): void {
  for (const [title, id] of Object.entries(IDS)) {
    it(`may be ${title}`, () => live(context.fresh(), id));
  }
}

function reserved(context: Context): void {
  it('__proto__ begins with an underscore and is refused as such, also as a field', async () => {
    const db = context.fresh();
    const error = await rejection(db.put({ _id: '__proto__' }));
    expect(error).toMatchObject({ status: 400, name: 'bad_request' });
    const field = await rejection(db.put(JSON.parse('{"_id": "a", "__proto__": {"admin": true}}')));
    expect(field).toMatchObject({ status: 500, name: 'doc_validation' });
    expect((await db.info()).doc_count).toBe(0);
    expect((await rejection(db.get('__proto__'))).status).toBe(404);
    expect((await db.allDocs({ keys: ['__proto__'] })).rows).toEqual([
      { key: '__proto__', error: 'not_found' },
    ]);
    expect((await changesOf(db, { doc_ids: ['__proto__', 'constructor'] })).results).toEqual([]);
  });
}

function together(context: Context): void {
  const sorted = Object.values(IDS).sort();

  it('are kept apart, and sorted by code unit', async () => {
    const db = context.fresh();
    await db.bulkDocs(Object.values(IDS).map((_id) => ({ _id, own: _id })));
    const { rows, total_rows } = await db.allDocs({ include_docs: true });
    expect(total_rows).toBe(sorted.length);
    expect(rows.map(({ doc }) => doc!.own)).toEqual(sorted);
    expect(idsOf(rows)).toEqual(sorted);
  });

  for (const descending of [false, true]) {
    it(`are paged exactly, ${descending ? 'downwards' : 'upwards'}, one and three at a time`, async () => {
      const db = context.fresh();
      await db.bulkDocs(sorted.map((_id) => ({ _id })));
      for (const limit of [1, 3]) {
        const read: (string | undefined)[] = [];
        for (let page = await db.allDocs({ descending, limit }); page.rows.length > 0; ) {
          read.push(...idsOf(page.rows));
          page = await db.allDocs({ descending, startkey: read.at(-1), skip: 1, limit });
        }
        expect(read).toEqual(descending ? [...sorted].reverse() : sorted);
      }
    });
  }

  it('are bounds as exact as any', async () => {
    const db = context.fresh();
    await db.bulkDocs(sorted.map((_id) => ({ _id })));
    for (const [index, id] of sorted.entries()) {
      const below = await db.allDocs({ endkey: id, inclusive_end: false });
      expect(below.rows).toHaveLength(index);
      expect((await db.allDocs({ startkey: id })).rows).toHaveLength(sorted.length - index);
    }
  });

  it('survive closing', async () => {
    const name = context.name();
    const db = context.open(name);
    await db.bulkDocs(sorted.map((_id) => ({ _id, own: _id })));
    await db.close();
    const again = context.open(name);
    expect(idsOf((await again.allDocs()).rows)).toEqual(sorted);
    for (const id of sorted) expect((await getDoc(again, id)).own).toBe(id);
  });
}

function surrogates(context: Context): void {
  for (const id of LONE_SURROGATES) {
    it(`are refused in the id ${JSON.stringify(id)}`, async () => {
      const db = context.fresh();
      for (const write of [db.put({ _id: id }), db.bulkDocs([{ _id: id }])]) {
        expectClientError(await rejection(write));
      }
      expect((await db.info()).doc_count).toBe(0);
    });
  }

  it('come back exactly in values, or are refused', async () => {
    for (const text of LONE_SURROGATES) {
      await exactOrRefused(context.fresh(), { text, list: [text] });
      await exactOrRefused(context.fresh(), { inner: { [text]: 1 } });
    }
  });
}

function expectClientError(error: { status?: number }): void {
  expect(error.status).toBeGreaterThanOrEqual(400);
  expect(error.status).toBeLessThan(500);
}

/** Exactly as written, from get and from allDocs; or a 4xx and nothing written. */
async function exactOrRefused(db: TestDatabase, body: object): Promise<void> {
  const outcome = await db.put({ ...body, _id: 'a' }).catch((error: { status?: number }) => error);
  if (!('rev' in outcome)) {
    expectClientError(outcome);
    expect((await db.info()).doc_count).toBe(0);
    return;
  }
  const expected = { ...body, _id: 'a', _rev: outcome.rev };
  expect(await db.get('a')).toStrictEqual(expected);
  expect((await db.allDocs({ include_docs: true })).rows[0]!.doc).toStrictEqual(expected);
}

function keys(context: Context): void {
  it('may be any text, at any depth', async () => {
    const db = context.fresh();
    // fromEntries defines, where an assignment to __proto__ would set the prototype.
    const inner = Object.fromEntries(KEYS.map((key, index) => [key, { index }]));
    const top = Object.fromEntries(Object.entries(inner).filter(([key]) => !key.startsWith('_')));
    const { rev } = await db.put({ ...top, inner, list: [inner], _id: 'a' });
    const listed = (await db.allDocs({ include_docs: true })).rows[0]!.doc!;
    for (const doc of [await getDoc(db, 'a'), listed]) {
      expect(own(doc)).toBe(own({ ...top, inner, list: [inner], _id: 'a', _rev: rev }));
    }
    expect(({} as Record<string, unknown>).index).toBeUndefined();
  });

  it('may be shadowed methods at the top of a document', async () => {
    const db = context.fresh();
    const body = { hasOwnProperty: 1, constructor: 'text', toString: null, valueOf: [], isPrototypeOf: {} };
    await exactOrRefused(db, body);
    await store(db, { ...edit('b', '2-b 1-a'), ...body });
    expect(await db.get('b')).toEqual({ _id: 'b', _rev: '2-b', ...body });
  });

  it('keep their order', async () => {
    const db = context.fresh();
    await db.put({ z: 1, a: { y: 1, b: 2 }, _id: 'a', m: 3 });
    const { _id, _rev, ...body } = await getDoc(db, 'a');
    expect(JSON.stringify(body)).toBe('{"z":1,"a":{"y":1,"b":2},"m":3}');
  });

  it('with an underscore are ordinary below the top', async () => {
    await exactOrRefused(context.fresh(), { inner: { _id: 'x', _rev: 'y', _zing: 1, _deleted: true } });
  });
}

/** A text that shows every own key, those named like methods or prototypes too, whatever their order. */
function own(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(own).join()}]`;
  const fields = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${own(inner)}`);
  return `{${fields.sort().join()}}`;
}

function values(context: Context): void {
  const exact: Record<string, unknown> = {
    'null, booleans and empties': [null, true, false, '', [], {}],
    integers: [0, 1, -1, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
    'numbers beyond the safe integers': [2 ** 53, 2 ** 60, 1e21, 123456789012345680000],
    'the largest and smallest numbers': [
      Number.MAX_VALUE,
      -Number.MAX_VALUE,
      Number.MIN_VALUE,
      Number.EPSILON,
    ],
    fractions: [0.1, -0.25, 1e-7, 1.7976931348623157e308, 5e-324],
    text: ['\u0000', '\u{1f600}', '\u2028', '"\\/\b', '\ufeff', 'e\u0301', '</script>'],
    'long text': 'x'.repeat(1_000_000),
    'astral text': '\u{1f600}'.repeat(10_000),
    'a long list': Array.from({ length: 20_000 }, (_, index) => index),
    'lists in lists': [[[[[]]]], [[null]]],
  };
  for (const [title, value] of Object.entries(exact)) {
    it(`come back exactly: ${title}`, async () => {
      const db = context.fresh();
      const { rev } = await db.put({ _id: 'a', value });
      expect(await db.get('a')).toStrictEqual({ _id: 'a', _rev: rev, value });
      expect((await db.allDocs({ include_docs: true })).rows[0]!.doc!.value).toStrictEqual(value);
      expect((await changesOf(db, { include_docs: true })).results[0]!.doc!.value).toStrictEqual(value);
    });
  }

  context.when('local', 'become JSON: dates, NaN, infinities, -0, undefined, toJSON', async () => {
    const db = context.fresh();
    const when = new Date(1e12);
    const body = {
      when,
      deep: [{ when }],
      numbers: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0],
      absent: undefined,
      list: [undefined],
      own: { toJSON: () => 'its own' },
    };
    await db.put({ _id: 'a', ...body });
    const { _id, _rev, ...read } = await getDoc(db, 'a');
    expect(read).toStrictEqual(JSON.parse(JSON.stringify(body)));
  });

  it('may be nested a thousand deep', async () => {
    const nested = (depth: number): unknown => {
      let value: unknown = 'bottom';
      for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { value };
      return value;
    };
    await exactOrRefused(context.fresh(), { value: nested(1000) });
  });

  context.when('local', 'nested a hundred thousand deep come back exactly, or are refused', async () => {
    const db = context.fresh();
    const depth = 100_000;
    let value: unknown[] = [];
    for (let level = 0; level < depth; level += 1) value = [value];
    const outcome = await db.put({ _id: 'a', value }).catch((error: TestError) => error);
    if (outcome instanceof Error) {
      expectClientError(outcome);
      expect((await db.info()).doc_count).toBe(0);
      return;
    }
    let read = 0;
    for (let inner = (await getDoc(db, 'a')).value as unknown[]; inner.length > 0; read += 1) {
      inner = inner[0] as unknown[];
    }
    expect(read).toBe(depth);
  });

  context.when('local', 'that contain themselves are refused, and nothing is written', async () => {
    const db = context.fresh();
    const cyclic: Record<string, unknown> = { _id: 'a' };
    cyclic.self = cyclic;
    await rejection(db.put(cyclic));
    await rejection(db.bulkDocs([{ _id: 'b' }, cyclic]));
    expect((await db.info()).doc_count).toBe(0);
  });

  context.when('local', 'that are no JSON (bigint) are refused, and nothing is written', async () => {
    const db = context.fresh();
    await rejection(db.put({ _id: 'a', value: 1n }));
    expect((await db.info()).doc_count).toBe(0);
  });
}

function hashes(context: Context): void {
  it('are taken as they are', async () => {
    const db = context.fresh();
    const paths = [
      '2-constructor 1-__proto__',
      '2-a%2Fb 1-__proto__',
      '2-UPPER 1-x',
      '2-\u{1f600} 1-x',
      '2-a b 1-x',
    ];
    await store(db, ...paths.map((path) => ({ ...edit('a', path.replace('a b', 'a_b')), path })));
    const rows = await openRevs(db, 'a', 'all', { revs: true });
    expect(rows).toHaveLength(paths.length);
    for (const { ok } of rows) {
      expect(await getDoc(db, 'a', { rev: ok!._rev })).toMatchObject({ path: ok!.path });
      expect(ok!._revisions!.ids).toHaveLength(2);
    }
  });
}
