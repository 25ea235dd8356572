/**
 * Answers to `_bulk_get` taken to pieces as text come to the same as answers parsed as a whole: whatever is in the documents, in
 * the spelling of either server, and whatever becomes of the text on its way.
 */
import { memory } from '@settledb/adapter-memory';
import { SPLIT, wholeDoc } from '@settledb/core';
import { remote } from '@settledb/remote';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { resultsApart } from '../../packages/remote/src/client-apart';
import { checkBulkGet } from '../../packages/remote/src/client-check';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { ORIGIN, testServer } from './support';

const RUNS = 200;

/** Ours, and CouchDB's. */
const SPELLINGS = [
  ['{"results":[', '{"id":', ',"docs":['],
  ['{"results": [', '{"id": ', ', "docs": ['],
] as const;

type Row = { readonly id: string; readonly rev: string; readonly json: string };

const spell = ([begin, before, behind]: (typeof SPELLINGS)[number], rows: readonly Row[]): string =>
  `${begin}${rows.map(({ id, json }) => `${before}${JSON.stringify(id)}${behind}${json}]}`).join(',')}]}\n`;

/** As the client answers it, parsed as a whole. */
const parsed = (text: string, rows: readonly Row[]): unknown =>
  checkBulkGet(
    JSON.parse(text),
    rows.map(({ id }) => id),
  ).results;

const whole = (results: ReturnType<typeof resultsApart>): unknown =>
  results?.map(({ id, docs }) => ({
    id,
    docs: docs.map((row) => ('ok' in row ? { ok: wholeDoc(row.ok as object) } : row)),
  }));

const id = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }).filter((each) => !/^_|\p{Surrogate}/u.test(each)),
  fc.constantFrom('a', '"}]},{"id":"a"', '__proto__', 'constructor', 'é', '\\', '\u2028'),
);
const hash = fc.oneof(fc.stringMatching(/^[0-9a-f]{4}$/), fc.constantFrom('', '"', '\\u', 'é'));

/** Content in which pieces of answers lie about. */
const members = fc.dictionary(
  fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('_id', '_revisions', '__proto__', 'id', 'ok', '0')),
  fc.oneof(
    fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' }),
    fc.constantFrom<unknown>(
      ']},{"id":"a","docs":[{"ok":{"_id":"a","_rev":"1-a"',
      [{ id: 'a', docs: [{ ok: { _id: 'a', _rev: '1-a', _revisions: { start: 1, ids: ['a'] } } }] }],
      { _id: 'a', _rev: '1-a', _revisions: { start: 1, ids: ['a'] } },
    ),
  ),
  { maxKeys: 3 },
);

const row: fc.Arbitrary<Row> = fc
  .record({ id, hash, start: fc.integer({ min: 1, max: 3 }), members, form: fc.integer({ min: 0, max: 9 }) })
  .map(({ id, hash, start, members, form }) => {
    const rev = `${start}-${hash}`;
    const _revisions = { start, ids: [hash, 'x'].slice(0, start) };
    const content = Object.fromEntries(Object.entries(members).filter(([name]) => !name.startsWith('_')));
    const ok = (doc: object): string => JSON.stringify({ ok: doc });
    const meta = { _id: id, _rev: rev };
    const forms = [
      ok({ ...meta, _deleted: true, ...content, _revisions }),
      ok({ ...meta, ...content, _revisions, _attachments: { a: { stub: true } } }),
      JSON.stringify({ error: { id, rev, error: 'not_found', reason: 'missing' } }),
      `${ok({ ...meta, ...content, _revisions })},${ok({ ...meta, _rev: '4-later', _revisions })}`,
      // By other hands: twice the same field, fields of ours, numbers that nobody writes, another order.
      `{"ok":{"_id":${JSON.stringify(id)},"_rev":${JSON.stringify(rev)},"a":1,"_rev":${JSON.stringify(rev)},"_revisions":{"start":1,"ids":["a"]}}}`,
      `{"ok":{"_id":${JSON.stringify(id)},"_rev":${JSON.stringify(rev)},"a":[1e999,-0,-0.0,{"b":-0}],"_revisions":{"start":1,"ids":["a"]}}}`,
      ok({ ...content, _revisions, ...meta, _id: id }),
      ok({ ...meta, _revisions, ...content }),
    ];
    return { id, rev, json: forms[form] ?? ok({ ...meta, ...content, _revisions }) };
  });

const answer = fc.record({
  spelling: fc.constantFrom(...SPELLINGS),
  rows: fc.array(row, { minLength: 1, maxLength: 5 }),
});

describe('an answer taken to pieces', () => {
  it('is what it is when it is parsed, and nearly always is taken to pieces', () => {
    let taken = 0;
    fc.assert(
      fc.property(answer, ({ spelling, rows }) => {
        const text = spell(spelling, rows);
        const results = resultsApart(text, rows);
        if (results === undefined) return;
        taken++;
        expect(whole(results)).toEqual(parsed(text, rows));
      }),
      { numRuns: RUNS },
    );
    expect(taken).toBeGreaterThan(RUNS * 0.9);
  });

  it('is none, or what it is parsed, when its text was changed, cut off, or is of other documents', () => {
    const change = fc.record({
      at: fc.nat(),
      length: fc.nat({ max: 8 }),
      by: fc.oneof(
        fc.constantFrom('', '"', '\\', '{', '}', ']', ',', ' ', ']},', '}}'),
        fc.string({ maxLength: 2 }),
      ),
    });
    fc.assert(
      fc.property(answer, change, fc.boolean(), ({ spelling, rows }, { at, length, by }, cut) => {
        const text = spell(spelling, rows);
        const from = at % text.length;
        const changed = cut ? text.slice(0, from) : text.slice(0, from) + by + text.slice(from + length);
        let results: ReturnType<typeof resultsApart>;
        try {
          results = resultsApart(changed, rows);
        } catch (error) {
          // A row that is neither a document nor an error, as the whole would be refused.
          expect(error).toMatchObject({ name: 'bad_response' });
          return;
        }
        if (results !== undefined) expect(whole(results)).toEqual(parsed(changed, rows));
        expect(resultsApart(text, [...rows, { id: 'another', rev: '1-a' }])).toBeUndefined();
      }),
      { numRuns: RUNS },
    );
  });

  it('is none when a revision is spelled as it is asked for, and that is no JSON', () => {
    const rows = [{ id: 'a', rev: '1-\\u', json: '' }];
    const row = (rev: string): Row => ({
      ...rows[0]!,
      json: `{"ok":{"_id":"a","_rev":"${rev}","_revisions":{"start":1,"ids":["x"]}}}`,
    });
    expect(whole(resultsApart(spell(SPELLINGS[0], [row('1-\\\\u')]), rows))).toHaveLength(1);
    expect(resultsApart(spell(SPELLINGS[0], [row('1-\\u')]), rows)).toBeUndefined();
  });

  it('is none when there is a comma too many before the ancestry', () => {
    const rows = [{ id: 'a', rev: '1-a', json: '' }];
    const json = '{"ok":{"_id":"a","_rev":"1-a",,"_revisions":{"start":1,"ids":["a"]}}}';
    expect(resultsApart(spell(SPELLINGS[0], [{ ...rows[0]!, json }]), rows)).toBeUndefined();
  });

  it('has documents apart where they are as they mostly are, and no others', () => {
    const rev = '1-a';
    const apart = (json: string): boolean => {
      const [result] = resultsApart(spell(SPELLINGS[1], [{ id: 'a', rev, json }]), [{ id: 'a', rev }])!;
      return SPLIT in (result!.docs[0] as { ok: object }).ok;
    };
    const doc = (between: string): string =>
      `{"ok":{"_id":"a","_rev":"1-a"${between},"_revisions":{"start":1,"ids":["a"]}}}`;
    expect(['', ',"n":1', ',"o":{"_id":1}'].map((each) => apart(doc(each)))).toEqual([true, true, true]);
    const others = [',"_deleted":true', ',"_x":1', ',"\\u005frev":"1-a"', ',"n":-0', ',"n":[{"a":1e400}]'];
    expect(others.map((each) => apart(doc(each)))).toEqual(others.map(() => false));
    const deep = (depth: number): string => `,"a":${'['.repeat(depth)}${']'.repeat(depth)}`;
    expect([apart(doc(deep(1999))), apart(doc(deep(2000)))]).toEqual([true, false]);
  });
});

describe('a pull that takes documents apart', () => {
  const world = async () => {
    const server = testServer();
    const options = { adapter: memory(), fetch: server.fetch };
    const source = new SettleDB<Record<string, unknown>>(`${ORIGIN}/db`, options);
    const docs = [
      {
        _id: 'a',
        _rev: '2-b',
        _revisions: { start: 2, ids: ['b', 'a'] },
        text: '"\\\u2028é',
        n: [1.5, null, { o: {} }],
      },
      { _id: 'a', _rev: '2-c', _revisions: { start: 2, ids: ['c', 'a'] } },
      { _id: 'b', _rev: '1-b', _deleted: true, why: 'kept' },
      { _id: 'ü"', _rev: '1-c', inner: { _id: 'x', _revisions: [] } },
      { _id: 'empty', _rev: '1-d' },
    ];
    await source.bulkDocs(docs, { new_edits: false });
    await source.put({ _id: 'att', _attachments: { t: { content_type: 'text/plain', data: 'aGVsbG8=' } } });
    const target = new SettleDB<Record<string, unknown>>('target', options);
    return { server, options, source, target };
  };
  const everything = (db: SettleDB<Record<string, unknown>>) =>
    Promise.all(
      ['a', 'b', 'ü"', 'empty', 'att'].map((each) => db.get(each, { open_revs: 'all', revs: true })),
    );

  it('brings the same documents, and shows them whole to who listens', async () => {
    const { source, target } = await world();
    const shown: Record<string, unknown>[] = [];
    await target.replicate.from(source as never).on('change', ({ docs }) => void shown.push(...docs));
    const order = (rows: unknown) => (rows as unknown[]).map((each) => JSON.stringify(each)).sort();
    const [there, here] = [await everything(source), await everything(target)];
    expect(here.map(order)).toEqual(there.map(order));
    const a = shown.filter(({ _id, _rev }) => _id === 'a' && _rev === '2-b');
    expect(a).toEqual([
      {
        _id: 'a',
        _rev: '2-b',
        text: '"\\\u2028é',
        n: [1.5, null, { o: {} }],
        _revisions: { start: 2, ids: ['b', 'a'] },
      },
    ]);
    expect(shown.some((doc) => SPLIT in doc)).toBe(false);
  });

  it('hands whole documents to a method that was put in the place of ours', async () => {
    const { options, source } = await world();
    const given: object[] = [];
    const wrap = (db: SettleDB<Record<string, unknown>>) => {
      const { bulkDocs } = db;
      db.bulkDocs = ((request: { docs: object[] }, more: object) => {
        given.push(...request.docs);
        return bulkDocs(request as never, more);
      }) as never;
      return db;
    };
    class Derived extends SettleDB<Record<string, unknown>> {
      override bulkDocs(...args: Parameters<SettleDB['bulkDocs']>) {
        given.push(...(args[0] as { docs: object[] }).docs);
        return super.bulkDocs(...(args as Parameters<SettleDB<Record<string, unknown>>['bulkDocs']>));
      }
    }
    for (const target of [wrap(new SettleDB('wrapped', options)), new Derived('derived', options)]) {
      given.length = 0;
      await target.replicate.from(source as never);
      expect(given.find((doc) => '_id' in doc && doc._id === 'ü"')).toMatchObject({ inner: { _id: 'x' } });
      expect(given.some((doc) => SPLIT in doc)).toBe(false);
    }
    // And asks one that was put in the place of `bulkGet` for nothing that it would not know.
    const asked: object[] = [];
    const inner = remote(`${ORIGIN}/db`, options);
    const before = inner.bulkGet.bind(inner);
    inner.bulkGet = ((request: object) => {
      asked.push(request);
      return before(request as never);
    }) as never;
    const target = new SettleDB('from-wrapped', options);
    expect(await target.replicate.from(inner as never)).toMatchObject({ docs_written: 6 });
    expect(asked.some((request) => SPLIT in request)).toBe(false);
  });
});
