/**
 * `_local/` documents: without history, seen by nobody who does not ask by name (contract §9).
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import { changesOf, edit, getDoc, idsOf, numbered, rejection, unchanged } from './expectations';

const LOCAL_REV = /^0-\d+$/;

export function localDocsConformance(context: Context): void {
  describe('writing', () => writing(context));
  describe('deleting', () => deleting(context));
  describe('in bulkDocs', () => bulk(context));
  describe('elsewhere', () => elsewhere(context));
}

function writing(context: Context): void {
  it('answers ok, id and a revision of generation 0', async () => {
    const db = context.fresh();
    const first = await db.put({ _id: '_local/a', value: 1 });
    expect(first).toEqual({ ok: true, id: '_local/a', rev: expect.stringMatching(LOCAL_REV) });
    expect(await db.get('_local/a')).toEqual({ _id: '_local/a', _rev: first.rev, value: 1 });
    const second = await db.put({ _id: '_local/a', _rev: first.rev, value: 2 });
    expect(second.rev).toMatch(LOCAL_REV);
    expect(second.rev).not.toBe(first.rev);
    expect(await getDoc(db, '_local/a')).toMatchObject({ _rev: second.rev, value: 2 });
  });

  it('needs the revision to update, and the right one', async () => {
    const db = context.fresh();
    const first = await db.put({ _id: '_local/a', value: 1 });
    const second = await db.put({ _id: '_local/a', _rev: first.rev, value: 2 });
    for (const _rev of [undefined, first.rev, '0-99', '1-abc']) {
      const doc = _rev === undefined ? { _id: '_local/a' } : { _id: '_local/a', _rev };
      await rejection(db.put({ ...doc, value: 3 }));
    }
    await rejection(db.put({ _id: '_local/new', _rev: '0-5' }));
    expect(await db.get('_local/a')).toEqual({ _id: '_local/a', _rev: second.rev, value: 2 });
    expect((await rejection(db.get('_local/new'))).status).toBe(404);
  });

  it('is missing before it is written', async () => {
    const error = await rejection(context.fresh().get('_local/a'));
    expect(error).toMatchObject({ status: 404, name: 'not_found' });
  });

  it('keeps no history, whatever is given or asked for', async () => {
    const db = context.fresh();
    await db.put({ _id: '_local/a', value: 1, _revisions: { start: 2, ids: ['b', 'a'] } });
    for (const options of [{}, { revs: true }, { conflicts: true }]) {
      expect(await db.get('_local/a', options)).not.toHaveProperty('_revisions');
    }
  });

  it('has ids and contents as other documents have', async () => {
    const db = context.fresh();
    const ids = ['_local/constructor', '_local/__proto__', '_local/a/b c%2F', '_local/\u{1f600}'];
    for (const [value, _id] of ids.entries()) await db.put({ _id, value, deep: { when: new Date(0) } });
    for (const [value, id] of ids.entries()) {
      expect(await getDoc(db, id)).toMatchObject({ value, deep: { when: '1970-01-01T00:00:00.000Z' } });
    }
  });

  it('is told by the id in its JSON, if it has its JSON made by itself', async () => {
    const db = context.fresh();
    const written = { toJSON: () => ({ _id: '_local/a', value: 1 }) };
    expect(await db.bulkDocs([written])).toMatchObject([{ ok: true, id: '_local/a', rev: '0-1' }]);
    expect(await getDoc(db, '_local/a')).toEqual({ _id: '_local/a', _rev: '0-1', value: 1 });
    expect((await db.info()).doc_count).toBe(0);
  });

  it('survives closing', async () => {
    const name = context.name();
    const db = context.open(name);
    await db.put({ _id: '_local/a', value: 1 });
    await db.close();
    expect(await getDoc(context.open(name), '_local/a')).toMatchObject({ value: 1 });
  });

  it('grows by hundreds of updates', async () => {
    const db = context.fresh();
    let { rev } = await db.put({ _id: '_local/a', value: 0 });
    for (const value of numbered(100)) ({ rev } = await db.put({ _id: '_local/a', _rev: rev, value }));
    expect(await getDoc(db, '_local/a')).toMatchObject({ value: 99, _rev: rev });
  });
}

function deleting(context: Context): void {
  it('answers revision 0-0, and the document can be written anew, repeatedly', async () => {
    const db = context.fresh();
    for (const round of numbered(3)) {
      const { rev } = await db.put({ _id: '_local/a', round });
      expect(await db.remove('_local/a', rev)).toEqual({ ok: true, id: '_local/a', rev: '0-0' });
      expect((await rejection(db.get('_local/a'))).status).toBe(404);
    }
    const { rev } = await db.put({ _id: '_local/a' });
    const deleted = await db.put({ _id: '_local/a', _rev: rev, _deleted: true });
    expect(deleted).toEqual({ ok: true, id: '_local/a', rev: '0-0' });
    await db.put({ _id: '_local/a', value: 'again' });
    expect((await db.remove(await db.get('_local/a'))).rev).toBe('0-0');
  });

  it('refuses a missing document and a wrong revision', async () => {
    const db = context.fresh();
    await rejection(db.remove({ _id: '_local/missing', _rev: '0-1' }));
    const { rev } = await db.put({ _id: '_local/a', value: 1 });
    await rejection(db.remove('_local/a', '0-99'));
    await rejection(db.remove('_local/a', '1-abc'));
    expect(await db.get('_local/a')).toEqual({ _id: '_local/a', _rev: rev, value: 1 });
  });
}

function bulk(context: Context): void {
  it('may be mixed with documents', async () => {
    const db = context.fresh();
    const rows = await db.bulkDocs([
      { _id: 'a' },
      { _id: '_local/l', value: 1 },
      { _id: 'b' },
      { _id: '_local/m' },
    ]);
    expect(rows.map(({ ok, id }) => [ok, id])).toEqual([
      [true, 'a'],
      [true, '_local/l'],
      [true, 'b'],
      [true, '_local/m'],
    ]);
    expect(await getDoc(db, '_local/l')).toMatchObject({ value: 1 });
    const removed = await db.bulkDocs([
      { _id: 'a', _rev: rows[0]!.rev, _deleted: true },
      { _id: '_local/l', _rev: rows[1]!.rev, _deleted: true },
    ]);
    expect(removed[1]).toEqual({ ok: true, id: '_local/l', rev: '0-0' });
    expect((await rejection(db.get('_local/l'))).status).toBe(404);
  });

  it('does not disturb documents that are written twice beside it', async () => {
    const db = context.fresh();
    const rows = await db.bulkDocs([
      { _id: '_local/l', value: 1 },
      { _id: '_local/m', value: 2 },
      { _id: 'a', value: 3 },
      { _id: 'b', value: 4 },
      { _id: 'a', value: 5 },
      { _id: '_local/l', value: 6 },
      { _id: 'b', value: 7 },
    ]);
    expect(rows.map(({ ok }) => ok ?? false)).toEqual([true, true, true, true, false, false, false]);
    const found = await Promise.all(['_local/l', '_local/m', 'a', 'b'].map((id) => getDoc(db, id)));
    expect(found.map(({ value }) => value)).toEqual([1, 2, 3, 4]);
    expect(await db.info()).toMatchObject({ doc_count: 2, update_seq: 2 });
  });

  it('fails by itself', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: '_local/l', value: 1 });
    const rows = await db.bulkDocs([
      { _id: '_local/missing', _rev: '0-1', _deleted: true },
      { _id: 'a' },
      { _id: '_local/l', _rev: '0-99', _deleted: true },
      { _id: '_local/n' },
    ]);
    expect(rows.map(({ ok }) => ok ?? false)).toEqual([false, true, false, true]);
    for (const row of [rows[0]!, rows[2]!]) {
      expect(row.error).toBeTruthy();
      expect([404, 409]).toContain(row.status);
    }
    expect(rows.map(({ id }) => id)).toEqual(['_local/missing', 'a', '_local/l', '_local/n']);
    expect(await getDoc(db, '_local/l')).toMatchObject({ _rev: rev, value: 1 });
  });
}

function elsewhere(context: Context): void {
  it('is not seen in allDocs, changes and counts', async () => {
    const db = context.fresh();
    await db.put({ _id: 'a' });
    await unchanged(db, async () => {
      const { rev } = await db.put({ _id: '_local/a', value: 1 });
      await db.put({ _id: '_local/a', _rev: rev, value: 2 });
    });
    expect(idsOf((await db.allDocs()).rows)).toEqual(['a']);
    expect(idsOf((await changesOf(db, { style: 'all_docs', include_docs: true })).results)).toEqual(['a']);
    expect((await db.info()).doc_count).toBe(1);
  });

  it('has no other revisions to be read', async () => {
    const db = context.fresh();
    await db.put({ _id: '_local/a', value: 1 });
    for (const open_revs of ['all', ['1-a']] as const) {
      const error = await rejection(db.get('_local/a', { open_revs }));
      expect([error.status, error.name]).toEqual([404, 'not_found']);
    }
    expect((await rejection(db.get('_local/a', { open_revs: 'some' as never }))).status).toBe(400);
    expect((await rejection(db.get('_local/a', { rev: '1-a' }))).status).toBe(404);
  });

  it('is another document than the one of the same name without _local', async () => {
    const db = context.fresh();
    await db.put({ _id: 'a', value: 'plain' });
    await db.put({ _id: '_local/a', value: 'local' });
    await db.bulkDocs([edit('b', '1-b', { value: 'plain' })], { new_edits: false });
    expect(await getDoc(db, 'a')).toMatchObject({ value: 'plain' });
    expect(await getDoc(db, '_local/a')).toMatchObject({ value: 'local' });
    expect((await rejection(db.get('_local/b'))).status).toBe(404);
  });
}
