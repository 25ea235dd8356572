/**
 * put, post, remove and bulkDocs: what they answer, what they store, and what they leave alone (contract §3).
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import {
  CONFLICT,
  edit,
  generation,
  getDoc,
  idsOf,
  openRevs,
  refused,
  rejection,
  revsOf,
  store,
  unchanged,
} from './expectations';

const OUR_REV = /^\d+-[0-9a-f]{32}$/;

export function writesConformance(context: Context): void {
  describe('put and post', () => puts(context));
  describe('fields of the database', () => fields(context));
  describe('deleting and writing again', () => deletions(context));
  describe('remove', () => removals(context));
  describe('bulkDocs', () => bulks(context));
  describe('revisions', () => revisions(context));
}

function puts(context: Context): void {
  it('answers ok, id and revision, and nothing else', async () => {
    const db = context.fresh();
    const first = await db.put({ _id: 'a', value: 1 });
    expect(first).toEqual({ ok: true, id: 'a', rev: expect.stringMatching(OUR_REV) });
    expect(generation(first.rev)).toBe(1);
    const second = await db.put({ _id: 'a', _rev: first.rev, value: 2 });
    expect(generation(second.rev)).toBe(2);
    expect(await db.get('a')).toEqual({ _id: 'a', _rev: second.rev, value: 2 });
  });

  it('post makes an id when there is none, and takes one that is given', async () => {
    const db = context.fresh();
    const made = [await db.post({ value: 1 }), await db.post({ value: 1 })];
    expect(new Set(idsOf(made)).size).toBe(2);
    expect(await db.get(made[0]!.id)).toEqual({ _id: made[0]!.id, _rev: made[0]!.rev, value: 1 });
    expect((await db.post({ _id: 'given' })).id).toBe('given');
    await refused(db.post({ _id: 'given' }), CONFLICT);
  });

  it('leaves the caller’s objects as they were', async () => {
    const db = context.fresh();
    const doc = { _id: 'a', when: new Date(0), deep: { list: [new Date(1)], nothing: null } };
    const before = structuredClone(doc);
    await db.put(doc);
    expect(doc).toEqual(before);
    const list = [{ ...before, _id: 'b' }, { value: 1 }];
    const listBefore = structuredClone(list);
    await db.bulkDocs(list);
    const request = { docs: list };
    await db.bulkDocs(request);
    expect(request).toEqual({ docs: listBefore });
    const frozen = Object.freeze({ _id: 'frozen', inner: Object.freeze({ value: 1 }) });
    await db.put(frozen);
    await db.post(Object.freeze({ value: 1 }));
    await db.remove(Object.freeze(await getDoc(db, 'frozen')));
  });

  it('takes documents as they are when it is called, though one object may serve for many', async () => {
    const db = context.fresh();
    const doc: Record<string, unknown> & { _id: string } = { _id: '', list: [] as string[] };
    const ids = ['a', '_local/b', '_design/c', 'd'];
    const writes: Promise<unknown>[] = [];
    for (const [at, _id] of ids.entries()) {
      Object.assign(doc, { _id, n: at });
      (doc.list as string[]).push(_id);
      writes.push(at % 2 === 0 ? db.put(doc) : db.bulkDocs({ docs: [doc] }));
    }
    const list = [doc];
    Object.assign(doc, { _id: 'e', _rev: '3-e', _revisions: { start: 3, ids: ['e', 'f'] } });
    writes.push(db.bulkDocs(list, { new_edits: false }));
    list.length = 0;
    Object.assign(doc, { _id: 'f', _rev: undefined, _revisions: undefined, list: 'changed' });
    await Promise.all(writes);
    for (const [at, id] of ids.entries()) {
      const { _rev, ...read } = await getDoc(db, id);
      expect(read).toEqual({ _id: id, n: at, list: ids.slice(0, at + 1) });
    }
    expect(await getDoc(db, 'e')).toMatchObject({ _rev: '3-e', n: 3, list: ids });
    expect((await db.info()).doc_count).toBe(4);
  });

  it('takes what is said of attachments as it is when it is called', async () => {
    const db = context.fresh();
    const docs = ['a', '_local/b', 'c'].map((_id) => ({
      _id,
      _attachments: { f: { content_type: 'text/plain', data: 'YQ==' } as Record<string, unknown> },
    }));
    const writes = [db.put(docs[0]!), db.put(docs[1]!), db.bulkDocs([docs[2]!])];
    for (const { _attachments } of docs) {
      Object.assign(_attachments.f, { content_type: 'image/png', data: 'Yg==', stub: true });
      Object.assign(_attachments, { g: 5 });
    }
    await Promise.all(writes);
    for (const { _id } of docs) {
      const { _attachments } = await getDoc(db, _id, { attachments: true });
      expect(_attachments).toMatchObject({ f: { content_type: 'text/plain', data: 'YQ==' } });
      expect(Object.keys(_attachments!)).toEqual(['f']);
    }
  });

  it('does not see what the caller changes in his object later', async () => {
    const db = context.fresh();
    const doc = { _id: 'a', list: [1] };
    await db.put(doc);
    doc.list.push(2);
    const read = await getDoc(db, 'a');
    expect(read.list).toEqual([1]);
    (read.list as number[]).push(3);
    expect((await getDoc(db, 'a')).list).toEqual([1]);
  });

  it('stores revisions as given with new_edits: false', async () => {
    const db = context.fresh();
    await db.put(edit('a', '2-b 1-a', { value: 1 }), { new_edits: false });
    expect(await db.get('a', { revs: true })).toEqual({
      _id: 'a',
      _rev: '2-b',
      value: 1,
      _revisions: { start: 2, ids: ['b', 'a'] },
    });
  });

  it('force makes a sibling of an edit that is no leaf any more', async () => {
    const db = context.fresh();
    const first = await db.put({ _id: 'a', value: 1 });
    const second = await db.put({ _id: 'a', _rev: first.rev, value: 2 });
    const forced = await db.put({ _id: 'a', _rev: first.rev, value: 3 }, { force: true });
    expect(forced.ok).toBe(true);
    expect(generation(forced.rev)).toBe(2);
    expect(forced.rev).not.toBe(second.rev);
    expect(revsOf(await openRevs(db, 'a', 'all'))).toEqual([forced.rev, second.rev].sort());
    expect((await getDoc(db, 'a', { rev: forced.rev, revs: true }))._revisions).toEqual({
      start: 2,
      ids: [forced.rev.slice(2), first.rev.slice(2)],
    });
  });

  it('force extends a revision that is not known here', async () => {
    const db = context.fresh();
    const elsewhere = '4-0123456789abcdef0123456789abcdef';
    const missing = await db.put({ _id: 'a', _rev: elsewhere, value: 1 }, { force: true });
    const { rev } = await db.put({ _id: 'b', value: 1 });
    const branch = await db.put({ _id: 'b', _rev: elsewhere, value: 2 }, { force: true });
    for (const [id, made] of [
      ['a', missing],
      ['b', branch],
    ] as const) {
      expect(generation(made.rev)).toBe(5);
      expect(await getDoc(db, id, { revs: true })).toMatchObject({
        _rev: made.rev,
        _revisions: { start: 5, ids: [made.rev.slice(2), elsewhere.slice(2)] },
      });
    }
    expect((await getDoc(db, 'b', { conflicts: true }))._conflicts).toEqual([rev]);
    expect((await db.info()).doc_count).toBe(2);
    await expect(db.put({ _id: 'c', _rev: elsewhere })).rejects.toMatchObject({ name: 'conflict' });
    await expect(db.put({ _id: 'b', _rev: elsewhere })).rejects.toMatchObject({ name: 'conflict' });
  });
}

function fields(context: Context): void {
  it('stores what replication notes in a document', async () => {
    const db = context.fresh();
    const noted = {
      _replication_id: 'id',
      _replication_state: 'triggered',
      _replication_state_time: 5,
      _replication_state_reason: 'because',
      _replication_stats: { docs_read: 1 },
    };
    const { rev } = await db.put({ _id: 'a', ...noted });
    expect(await db.get('a')).toEqual({ _id: 'a', _rev: rev, ...noted });
  });

  it('tolerates the fields that reads add', async () => {
    const db = context.fresh();
    for (const field of ['_revisions', '_revs_info', '_conflicts', '_deleted_conflicts', '_local_seq']) {
      const value = field === '_revisions' ? { start: 1, ids: ['a'] } : [];
      expect((await db.put({ _id: `with${field}`, [field]: value })).ok).toBe(true);
      expect(await db.get(`with${field}`)).not.toHaveProperty(field);
    }
    expect((await db.put({ _id: 'tree', _rev_tree: [] })).ok).toBe(true);
    expect((await db.put({ _id: 'access', _access: ['a'] })).ok).toBe(true);
  });

  it('takes undefined as if it were absent, as JSON does', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a', _rev: undefined, _deleted: undefined, value: undefined });
    expect(await db.get('a')).toStrictEqual({ _id: 'a', _rev: rev });
    await refused(db.put({ _id: 'a', _rev: undefined }), CONFLICT);
  });

  it('takes _deleted: false as if it were absent', async () => {
    const db = context.fresh();
    await db.put({ _id: 'a', _deleted: false, value: 1 });
    const read = await getDoc(db, 'a');
    expect(read.value).toBe(1);
    expect(read).not.toHaveProperty('_deleted');
    expect((await db.info()).doc_count).toBe(1);
  });

  it('keeps the other fields of an update that deletes', async () => {
    const db = context.fresh();
    const first = await db.put({ _id: 'a', value: 1 });
    const deleted = await db.put({ _id: 'a', _rev: first.rev, _deleted: true, value: 2, why: 'moved' });
    await refused(db.get('a'), { status: 404, name: 'not_found' });
    expect(await db.get('a', { rev: deleted.rev })).toEqual({
      _id: 'a',
      _rev: deleted.rev,
      _deleted: true,
      value: 2,
      why: 'moved',
    });
  });
}

function deletions(context: Context): void {
  it('continues the generations when a deleted document is written again without revision', async () => {
    const db = context.fresh();
    const first = await db.put({ _id: 'a', value: 1 });
    const second = await db.remove('a', first.rev);
    const third = await db.put({ _id: 'a', value: 3 });
    expect(generation(third.rev)).toBe(3);
    expect((await getDoc(db, 'a', { revs: true }))._revisions).toEqual({
      start: 3,
      ids: [third, second, first].map(({ rev }) => rev.slice(2)),
    });
    expect((await db.info()).doc_count).toBe(1);
  });

  it('refuses the revision from before the deletion', async () => {
    const db = context.fresh();
    const first = await db.put({ _id: 'a', value: 1 });
    await db.remove('a', first.rev);
    await refused(db.put({ _id: 'a', _rev: first.rev, value: 2 }), CONFLICT);
  });

  it('takes the revision of the tombstone', async () => {
    const db = context.fresh();
    const deleted = await db.remove('a', (await db.put({ _id: 'a' })).rev);
    expect(generation((await db.put({ _id: 'a', _rev: deleted.rev, value: 3 })).rev)).toBe(3);
  });

  it('deletes and revives again and again', async () => {
    const db = context.fresh();
    for (const round of [1, 3, 5, 7]) {
      const { rev } = await db.put({ _id: 'a', value: 'the same' });
      expect(generation(rev)).toBe(round);
      expect(generation((await db.remove('a', rev)).rev)).toBe(round + 1);
      expect((await db.info()).doc_count).toBe(0);
    }
  });
}

function removals(context: Context): void {
  it('takes a document, a document and options with its revision, or id and revision', async () => {
    const db = context.fresh();
    await db.bulkDocs([{ _id: 'a' }, { _id: 'b' }, { _id: 'c' }, { _id: 'd' }]);
    const revs = new Map((await db.allDocs()).rows.map((row) => [row.key, row.value!.rev]));
    const removed = [
      await db.remove(await db.get('a')),
      await db.remove({ _id: 'b' }, { rev: revs.get('b') }),
      await db.remove('c', revs.get('c')),
      await db.remove('d', revs.get('d'), {}),
    ];
    expect(idsOf(removed)).toEqual(['a', 'b', 'c', 'd']);
    for (const row of removed) expect(row).toMatchObject({ ok: true, rev: expect.stringMatching(/^2-/) });
    expect((await db.info()).doc_count).toBe(0);
  });

  it('writes a bare tombstone', async () => {
    const db = context.fresh();
    await db.put({ _id: 'a', value: 1, more: { deep: true } });
    const { rev } = await db.remove(await db.get('a'));
    expect(await db.get('a', { rev })).toEqual({ _id: 'a', _rev: rev, _deleted: true });
  });

  it('refuses a document that is missing, and a revision that is no leaf', async () => {
    const db = context.fresh();
    await rejection(db.remove({ _id: 'missing', _rev: '1-a' }));
    const first = await db.put({ _id: 'a' });
    await db.put({ _id: 'a', _rev: first.rev });
    await unchanged(db, () => refused(db.remove('a', first.rev), CONFLICT));
  });

  it('continues the branch it was given, also a losing one', async () => {
    const db = context.fresh();
    await store(db, edit('a', '4-w 3-w 2-w 1-a'), edit('a', '2-l 1-a'));
    const removed = await db.remove('a', '2-l');
    expect(generation(removed.rev)).toBe(3);
    expect(await getDoc(db, 'a', { conflicts: true })).toEqual({ _id: 'a', _rev: '4-w' });
    expect((await getDoc(db, 'a', { rev: removed.rev, revs: true }))._revisions).toEqual({
      start: 3,
      ids: [removed.rev.slice(2), 'l', 'a'],
    });
  });

  it('edits a losing leaf on its own branch', async () => {
    const db = context.fresh();
    await store(db, edit('a', '2-x 1-a'), edit('a', '2-b 1-a'));
    const { rev } = await db.put({ _id: 'a', _rev: '2-b', value: 'now wins' });
    expect(generation(rev)).toBe(3);
    expect(await getDoc(db, 'a', { conflicts: true })).toMatchObject({ _rev: rev, _conflicts: ['2-x'] });
  });
}

function bulks(context: Context): void {
  it('answers an empty list with an empty list', async () => {
    const db = context.fresh();
    await unchanged(db, async () => {
      expect(await db.bulkDocs([])).toEqual([]);
      expect(await db.bulkDocs({ docs: [] })).toEqual([]);
      expect(await db.bulkDocs([], { new_edits: false })).toEqual([]);
    });
  });

  it('answers in the order of the documents, one row each', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'b', value: 1 });
    const rows = await db.bulkDocs([
      { _id: 'c' },
      { _id: 'b' },
      { _id: 'a' },
      { value: 'no id' },
      { _id: 'b', _rev: rev, value: 2 },
    ]);
    expect(idsOf(rows)).toEqual(['c', 'b', 'a', rows[3]!.id, 'b']);
    expect(rows.map(({ ok, status }) => ok ?? status)).toEqual([true, 409, true, true, true]);
    expect(rows[3]!.id).not.toBe('');
    expect((await db.info()).doc_count).toBe(4);
  });

  it('lets the first of two new documents with one id win', async () => {
    const db = context.fresh();
    const docs = [1, 2, 3].map((value) => ({ _id: 'a', value }));
    const rows = await db.bulkDocs(docs);
    expect(rows.map(({ ok, status }) => ok ?? status)).toEqual([true, 409, 409]);
    expect(await getDoc(db, 'a', { conflicts: true })).toEqual({ _id: 'a', _rev: rows[0]!.rev, value: 1 });
  });

  it('lets the first of two edits of one revision win', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a' });
    const rows = await db.bulkDocs([
      { _id: 'a', _rev: rev, value: 1 },
      { _id: 'a', _rev: rev, value: 2 },
      { _id: 'a', _rev: rev, _deleted: true },
    ]);
    expect(rows.map(({ ok, status }) => ok ?? status)).toEqual([true, 409, 409]);
    expect(await getDoc(db, 'a', { conflicts: true })).toEqual({ _id: 'a', _rev: rows[0]!.rev, value: 1 });
  });

  it('updates and deletes along with new documents', async () => {
    const db = context.fresh();
    const [a, b] = await db.bulkDocs([{ _id: 'a' }, { _id: 'b' }]);
    const rows = await db.bulkDocs({
      docs: [{ _id: 'a', _rev: a!.rev, _deleted: true }, { _id: 'b', _rev: b!.rev, value: 2 }, { _id: 'c' }],
    });
    expect(rows.map(({ ok }) => ok)).toEqual([true, true, true]);
    expect(idsOf((await db.allDocs()).rows)).toEqual(['b', 'c']);
    expect((await db.info()).doc_count).toBe(2);
  });

  it('takes new_edits in the request or in the options', async () => {
    const db = context.fresh();
    expect(await db.bulkDocs({ docs: [edit('a', '1-a')], new_edits: false })).toEqual([]);
    expect(await db.bulkDocs([edit('b', '1-b')], { new_edits: false })).toEqual([]);
    expect(await db.bulkDocs({ docs: [edit('c', '1-c')] }, { new_edits: false })).toEqual([]);
    const { rows } = await db.allDocs();
    expect(rows.map(({ value }) => value!.rev)).toEqual(['1-a', '1-b', '1-c']);
  });
}

function revisions(context: Context): void {
  it('are equal in different databases for equal id, content and parent, deletions too', async () => {
    const histories: string[][] = [];
    for (const db of [context.fresh(), context.fresh()]) {
      const first = await db.put({ _id: 'a', value: 1, nested: { list: [1, 'two', null] } });
      const second = await db.put({ _id: 'a', _rev: first.rev, value: 2 });
      const third = await db.remove('a', second.rev);
      const [fourth] = await db.bulkDocs([{ _id: 'a', value: 1 }]);
      histories.push([first.rev, second.rev, third.rev, fourth!.rev!]);
    }
    expect(histories[0]).toEqual(histories[1]);
    for (const rev of histories[0]!) expect(rev).toMatch(OUR_REV);
  });

  it('differ with the content, with the parent and with deletion', async () => {
    const db = context.fresh();
    const rows = await db.bulkDocs([
      { _id: 'a', value: 1 },
      { _id: 'b', value: 2 },
    ]);
    const [a, b] = [rows[0]!.rev!, rows[1]!.rev!];
    expect(a).not.toBe(b);
    const children = [
      await db.put({ _id: 'a', _rev: a, value: 5 }),
      await db.put({ _id: 'a', _rev: a, value: 6 }, { force: true }),
      await db.put({ _id: 'a', _rev: a, value: 5, _deleted: true }, { force: true }),
      await db.put({ _id: 'b', _rev: b, value: 5 }),
    ];
    expect(new Set(children.map(({ rev }) => rev)).size).toBe(4);
  });

  context.when('databaseOptions', 'are random with deterministic_revs: false', async () => {
    const revs: string[] = [];
    for (const db of [
      context.fresh({ deterministic_revs: false }),
      context.fresh({ deterministic_revs: false }),
    ]) {
      revs.push((await db.put({ _id: 'a', value: 1 })).rev);
    }
    expect(revs[0]).not.toBe(revs[1]);
    for (const rev of revs) expect(rev).toMatch(OUR_REV);
  });
}
