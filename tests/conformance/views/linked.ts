/** Rows with documents: their own, linked ones, as they are now (contract §12). */
import { describe, expect, it } from 'vitest';
import type { Context } from '../database/context';
import { edit, store } from '../database/expectations';
import { fresh, waysOf } from './support';

export function linkedConformance(context: Context): void {
  for (const [way, ask] of waysOf(context)) {
    describe(way, () => {
      it('brings the document of each row', async () => {
        const db = fresh(context);
        await db.bulkDocs([
          { _id: 'a', n: 2 },
          { _id: 'b', n: 1 },
        ]);
        const map = 'function (doc) { emit(doc.n); emit(doc.n + 10); }';
        const { rows } = await ask(db, { map }, { include_docs: true });
        expect(rows.map(({ doc }) => doc!._id)).toEqual(['b', 'a', 'b', 'a']);
        expect(rows[0]!.doc).toEqual(await db.get('b'));
        expect(rows[0]!.doc).not.toBe(rows[2]!.doc);
      });

      it('brings attachments as they are asked for', async () => {
        const db = fresh(context);
        const _attachments = { 'a.txt': { content_type: 'text/plain', data: 'aGVsbG8=' } };
        await db.put({ _id: 'a', _attachments });
        const map = 'function (doc) { emit(doc._id); }';
        const of = async (options: object) =>
          (await ask(db, { map }, options)).rows[0]!.doc?._attachments as
            | Record<string, Record<string, unknown>>
            | undefined;
        expect(await of({ include_docs: true })).toMatchObject({ 'a.txt': { stub: true, length: 5 } });
        expect(await of({ include_docs: true, attachments: true })).toMatchObject({
          'a.txt': { data: 'aGVsbG8=' },
        });
        const { data } = (await of({ include_docs: true, attachments: true, binary: true }))!['a.txt']!;
        expect(data).not.toBeTypeOf('string');
        expect(await new Response(data as BodyInit).text()).toBe('hello');
        expect(await of({ attachments: true })).toBeUndefined();
      });

      it('brings conflicts with it', async () => {
        const db = fresh(context);
        await store(db, edit('a', '1-a', { n: 1 }), edit('a', '1-b', { n: 2 }));
        const map = 'function (doc) { emit(doc.n); }';
        const [row] = (await ask(db, { map }, { include_docs: true, conflicts: true })).rows;
        expect(row!.doc!._conflicts).toEqual(['1-a']);
        const [bare] = (await ask(db, { map }, { include_docs: true })).rows;
        expect(bare!.doc).not.toHaveProperty('_conflicts');
      });

      it('follows the _id of a value, and gives no document where there is none', async () => {
        const db = fresh(context);
        const { rev } = await db.put({ _id: 'gone' });
        await db.remove('gone', rev);
        await db.bulkDocs([
          { _id: 'a', to: ['b', 'gone', 'never'] },
          { _id: 'b', to: ['a'], n: 1 },
        ]);
        const map = 'function (doc) { doc.to.forEach(function (id) { emit(id, { _id: id }); }); }';
        const { rows } = await ask(db, { map }, { include_docs: true });
        expect(rows.map(({ id, key, doc }) => [id, key, doc?._id])).toEqual([
          ['b', 'a', 'a'],
          ['a', 'b', 'b'],
          ['a', 'gone', undefined],
          ['a', 'never', undefined],
        ]);
      });

      it('follows the _rev of a value, too', async () => {
        const db = fresh(context);
        await store(db, edit('a', '1-a', { n: 1 }), edit('a', '1-b', { n: 2 }));
        await db.put({ _id: 'b' });
        const map =
          'function (doc) { if (doc._id === "b") { emit(1, { _id: "a", _rev: "1-a" }); emit(2, { _id: "a", _rev: "9-x" }); } else emit(0, doc); }';
        const { rows } = await ask(db, { map }, { include_docs: true });
        expect(rows.map(({ doc }) => doc?.n)).toEqual([2, 1, undefined]);
      });
    });
  }
}
