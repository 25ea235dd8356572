/** What a map function is given, and what becomes of what it emits (contract §12). */
import { describe, expect, it } from 'vitest';
import type { Context } from '../database/context';
import { edit, getDoc, store } from '../database/expectations';
import { fresh, idsOf, keysOf, valuesOf, waysOf } from './support';

/** In the order of keys. */
const SORTED: readonly unknown[] = [
  null,
  false,
  true,
  -1e21,
  -1,
  -0.5,
  0,
  1e-7,
  1,
  2,
  10,
  '',
  ' ',
  'A',
  'B',
  'a',
  'aa',
  'b',
  'á',
  [],
  [null],
  [null, 1],
  [1, 'a'],
  [1, 'b'],
  [2],
  ['a'],
  [{}],
  {},
  { a: 1 },
  { a: 1, b: 1 },
  { a: 2 },
  { b: 1 },
  { b: 1, a: 1 },
  { b: 2 },
];

export function mappingConformance(context: Context): void {
  for (const [way, ask] of waysOf(context)) {
    describe(way, () => {
      it('emits a row for each call, sorted by key, then by id', async () => {
        const db = fresh(context);
        await db.bulkDocs([
          { _id: 'c', n: 1 },
          { _id: 'a', n: 2 },
          { _id: 'b', n: 1 },
        ]);
        const map = 'function (doc) { emit(doc.n, doc._id); }';
        expect(await ask(db, { map })).toEqual({
          total_rows: 3,
          offset: 0,
          rows: [
            { id: 'b', key: 1, value: 'b' },
            { id: 'c', key: 1, value: 'c' },
            { id: 'a', key: 2, value: 'a' },
          ],
        });
      });

      it('puts keys in the order of CouchDB, texts by code unit', async () => {
        const db = fresh(context);
        await db.bulkDocs(
          [...SORTED].reverse().map((key, i) => ({ _id: `d${String(i).padStart(2, '0')}`, key })),
        );
        const map = 'function (doc) { emit(doc.key); }';
        expect(keysOf(await ask(db, { map }))).toEqual(SORTED);
        expect(keysOf(await ask(db, { map }, { descending: true }))).toEqual([...SORTED].reverse());
        for (const [i, key] of SORTED.entries()) {
          if (i % 4 > 0) continue;
          expect(keysOf(await ask(db, { map }, { key }))).toEqual([key]);
          expect(keysOf(await ask(db, { map }, { startkey: key }))).toEqual(SORTED.slice(i));
        }
      });

      it('makes JSON of what is emitted: null for nothing and for what is no number, text of dates', async () => {
        const db = fresh(context);
        await db.put({ _id: 'a' });
        const map =
          'function (doc) { emit(); emit(undefined, NaN); emit(Infinity, -Infinity); emit(new Date(0), new Date(1)); emit([undefined], {a: undefined}); emit(-0, -0); }';
        expect((await ask(db, { map })).rows.map(({ key, value }) => [key, value])).toEqual([
          [null, null],
          [null, null],
          [null, null],
          [0, 0],
          ['1970-01-01T00:00:00.000Z', '1970-01-01T00:00:00.001Z'],
          [[null], {}],
        ]);
      });

      it('keeps doubled rows of a document, ordered by value where keys are equal', async () => {
        const db = fresh(context);
        await db.bulkDocs([{ _id: 'b' }, { _id: 'a' }]);
        const map = 'function (doc) { [2, "x", null, 1, [1], 1].forEach(function (v) { emit("k", v); }); }';
        const result = await ask(db, { map });
        const values = [null, 1, 1, 2, 'x', [1]];
        expect(result.total_rows).toBe(12);
        expect(valuesOf(result)).toEqual([...values, ...values]);
        expect(idsOf(result).join('')).toBe('aaaaaabbbbbb');
        expect(valuesOf(await ask(db, { map }, { descending: true, limit: 6 }))).toEqual(
          [...values].reverse(),
        );
      });

      it('never sees deleted, design and local documents', async () => {
        const db = fresh(context);
        const { rev } = await db.put({ _id: 'gone' });
        await db.remove('gone', rev);
        await db.bulkDocs([{ _id: 'here' }, { _id: '_design/x', views: {} }]);
        await db.put({ _id: '_local/y' });
        expect(idsOf(await ask(db, { map: 'function (doc) { emit(doc._id); }' }))).toEqual(['here']);
      });

      it('sees the winner, with its conflicts when there are any', async () => {
        const db = fresh(context);
        await store(
          db,
          edit('a', '1-a', { n: 1 }),
          edit('a', '2-c 1-a', { n: 3 }),
          edit('a', '2-b 1-a', { n: 2 }),
        );
        await db.put({ _id: 'b', n: 9 });
        const map = 'function (doc) { emit(doc.n, [doc._rev, doc._conflicts]); }';
        const [first, second] = (await ask(db, { map })).rows;
        expect(first).toEqual({ id: 'a', key: 3, value: ['2-c', ['2-b']] });
        expect(second).toMatchObject({ id: 'b', key: 9, value: [expect.stringMatching(/^1-/), null] });
      });

      it('sees attachments as stubs', async () => {
        const db = fresh(context);
        const _attachments = { 'a.txt': { content_type: 'text/plain', data: 'aGVsbG8=' } };
        await db.put({ _id: 'a', _attachments });
        const { rows } = await ask(db, { map: 'function (doc) { emit(doc._id, doc._attachments); }' });
        expect(rows[0]!.value).toEqual((await getDoc(db, 'a'))._attachments);
        expect(rows[0]!.value).toMatchObject({ 'a.txt': { stub: true, length: 5 } });
        const docs = { include_docs: true, attachments: true };
        const whole = await ask(db, { map: 'function (doc) { emit(1); }' }, docs);
        expect(whole.rows[0]!.doc).toMatchObject({ _attachments: { 'a.txt': { data: 'aGVsbG8=' } } });
      });

      it('skips a document on which the map throws, and says so', async () => {
        const db = fresh(context);
        await db.bulkDocs([{ _id: 'a', n: 1 }, { _id: 'b' }, { _id: 'c', n: 3 }, { _id: 'd', n: 4 }]);
        const map = 'function (doc) { emit(doc.n.toFixed(1)); if (doc.n === 4) throw new Error("four"); }';
        expect(idsOf(await ask(db, { map }))).toEqual(['a', 'c']); // With nobody to hear of it.
        if (!context.features.viewEvents) return;
        const errors: Error[] = [];
        db.on('error', (error: Error) => errors.push(error));
        expect(idsOf(await ask(db, { map: `${map};` }))).toEqual(['a', 'c']);
        expect(errors).toHaveLength(2);
        expect(errors[1]).toBeInstanceOf(Error);
        expect(errors[1]!.message).toContain('four');
      });

      it('is not misled by ids and keys that are names of prototypes', async () => {
        const db = fresh(context);
        const ids = ['constructor', 'hasOwnProperty', 'isPrototypeOf', 'toString'];
        await db.bulkDocs(ids.map((_id) => ({ _id })));
        const map =
          'function (doc) { emit(doc._id, doc._id); emit("__proto__"); emit({ ["__proto__"]: 1 }); }';
        const result = await ask(db, { map }, { keys: [...ids, '__proto__', 'valueOf'] });
        expect(keysOf(result)).toEqual([...ids, ...ids.map(() => '__proto__')]);
        const [row] = (await ask(db, { map }, { startkey: {} })).rows;
        expect(Object.keys(row!.key as object)).toEqual(['__proto__']);
      });

      it('takes values of any length', async () => {
        const db = fresh(context);
        const text = 'long '.repeat(2_000);
        await db.bulkDocs([
          { _id: 'a', text },
          { _id: 'b', text: 'short' },
        ]);
        const result = await ask(db, { map: 'function (doc) { emit(null, doc.text); }' });
        expect(valuesOf(result)).toEqual([text, 'short']);
      });

      it('takes sources with what people write around them', async () => {
        const db = fresh(context);
        await db.put({ _id: 'a' });
        for (const map of [
          'function (doc) { emit(1) };\n',
          '(doc) => emit(1)',
          '(function (doc, emit) { emit(1) })',
          '// first\nfunction (doc) { emit(1) } // last',
        ])
          expect(keysOf(await ask(db, { map }))).toEqual([1]);
      });
    });
  }

  context.when('local', 'is a function, with emit as its second argument or as a global', async () => {
    const db = fresh(context);
    await db.bulkDocs([
      { _id: 'a', n: 1 },
      { _id: 'b', n: 2 },
    ]);
    const factor = 10;
    type Emit = (key?: unknown, value?: unknown) => void;
    const byArgument = (doc: { n: number }, emit: Emit): void => emit(doc.n * factor);
    const byGlobal = (doc: { n: number }): void =>
      (globalThis as unknown as { emit: Emit }).emit(doc.n * factor);
    expect(keysOf(await db.query(byArgument))).toEqual([10, 20]);
    expect(keysOf(await db.query({ map: byGlobal }))).toEqual([10, 20]);
    expect('emit' in globalThis).toBe(false);
  });

  context.when('local', 'may change the document it is given', async () => {
    const db = fresh(context);
    await db.put({ _id: 'a', n: 1 });
    const map = (doc: { n: number }, emit: (key: unknown) => void): void => {
      doc.n++;
      emit(doc.n);
    };
    expect(keysOf(await db.query(map))).toEqual([2]);
    expect(keysOf(await db.query(map))).toEqual([2]);
    expect(await db.get('a')).toMatchObject({ n: 1 });
  });

  it('refuses what is no view', async () => {
    const db = fresh(context);
    for (const view of [undefined, null, 5, {}, { map: 5 }])
      await expect(db.query(view)).rejects.toBeInstanceOf(Error);
  });
}
