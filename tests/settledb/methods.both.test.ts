/** What is called on a handle: the forms its methods take, replication between handles, and how errors are told. */
import { memory } from '@settledb/adapter-memory';
import { describe, expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.browser';
import { watched } from '../support/watched-adapter';

let count = 0;
const name = (): string => `methods-${Date.now()}-${++count}`;

describe('errors', () => {
  it('name the document where they are printed, and keep the message that programs compare', async () => {
    const db = new SettleDB(name(), { adapter: memory() });
    const missing = await db.get('nobody').catch((error: unknown) => error);
    expect(missing).toMatchObject({ message: 'missing', docId: 'nobody' });
    // Browsers of V8 print the stack as it began; others, and Node, what it is now and the fields.
    if (typeof document === 'object' && String((missing as Error).stack).includes('missing'))
      expect((missing as Error).stack).toMatch("missing (document 'nobody')");
    expect(
      Object.keys(
        await db
          .bulkDocs([])
          .then(() => db.allDocs({ limit: -1 }))
          .catch((e: object) => e),
      ),
    ).not.toContain('docId');
  });
});

describe('a server that is not there', () => {
  it('is an error with the reason of the system, or in a page with what may be the reason', async () => {
    // Nothing listens on port 2.
    const db = new SettleDB('http://127.0.0.1:2/db');
    const error = await db.info().catch((e: unknown) => e);
    expect(error).toMatchObject({ status: 503, name: 'unreachable' });
    if (typeof document === 'object') expect((error as Error).message).toMatch('CORS');
    else
      expect(error).toMatchObject({
        cause: { code: 'ECONNREFUSED' },
        message: expect.stringContaining('ECONNREFUSED'),
      });
  });
});

describe('methods', () => {
  it('work without their object', async () => {
    const { put, get, post, remove, changes } = new SettleDB(name(), { adapter: memory() });
    const { id } = await put({ _id: 'a', n: 1 });
    expect(await Promise.resolve(id).then(get)).toMatchObject({ n: 1 });
    const posted = await post({ n: 2 });
    expect(posted.id).toMatch(/^[0-9a-f]{32}$/);
    await remove(await get(posted.id));
    expect((await changes()) as object).toMatchObject({ last_seq: 3 });
  });

  it('of what a listener listens to are those of its `this`, as in PouchDB', async () => {
    const [db, other] = [name(), name()].map((one) => new SettleDB(one, { adapter: memory() }));
    const heard: unknown[] = [];
    function hear(this: unknown): void {
      heard.push(this);
    }
    const replication = db!.replicate.to(other!).on('complete', hear);
    const sync = db!.sync(other!).on('complete', hear);
    const changes = db!.changes().on('complete', hear);
    await Promise.all([replication, sync, changes]);
    db!.on('destroyed', hear);
    await db!.destroy();
    expect(heard).toHaveLength(4);
    expect(new Set(heard)).toEqual(new Set([replication, sync, changes, db]));
  });

  it('refuse a callback, which nothing would call', async () => {
    const db = new SettleDB(name(), { adapter: memory() });
    const back = (): void => {};
    const calls = [
      () => db.get('a', back as never),
      () => (db.allDocs as (...args: unknown[]) => unknown)({}, back),
      () => db.info(back as never),
      () => db.changes(back as never),
      () => (db.query as (...args: unknown[]) => unknown)(() => {}, {}, back),
      () => db.destroy(back as never),
      () => db.sync('other', back as never),
      () => db.replicate.to('other', back as never),
      () => (db.replicate.from as (...args: unknown[]) => unknown)('other', {}, back),
      () => (SettleDB.replicate as (...args: unknown[]) => unknown)(db, 'other', {}, back),
      () => SettleDB.sync(db, 'other', back as never),
      () => new SettleDB(name(), back as never),
      () => Reflect.construct(SettleDB, [name(), {}, back]),
      () => Reflect.construct(SettleDB.defaults({}), [name(), back]),
      () => db.dump(back as never),
      () => (db.load as (...args: unknown[]) => unknown)(new Blob([]), back),
    ];
    for (const call of calls) expect(call).toThrow(/^[\w.]+\(\) takes no callback/);
    await db.writeSnapshot(() => {});
    expect((await db.query((_doc, emit) => emit(1))).rows).toEqual([]);
  });

  it('refuse a text or a list in place of options, which would be passed over', async () => {
    const db = new SettleDB(name(), { adapter: memory() });
    for (const wrong of ['1-a', [], ['1-a']] as never[])
      for (const call of [
        () => db.get('a', wrong),
        () => db.changes(wrong),
        () => db.allDocs(wrong),
        () => db.replicate.to('other', wrong),
        () => SettleDB.sync(db, 'other', wrong),
        () => new SettleDB(name(), wrong),
        () => db.info(wrong),
        () => db.id(wrong),
        () => db.destroy(wrong),
        () => db.remove({ _id: 'a', _rev: '1-a' }, wrong),
        () => db.remove('a', '1-a', wrong),
        () => db.revsDiff({}, wrong),
        () => db.purge('a', '1-a', wrong),
        () => db.putAttachment('a', 'f', '1-a', 'YQ==', 'a/b', wrong),
        () => db.removeAttachment('a', 'f', '1-a', wrong),
        () => db.getIndexes(wrong),
        () => db.createIndex({ fields: ['a'] }, wrong),
        () => db.deleteIndex({ ddoc: 'a', name: 'b' }, wrong),
        () => db.viewInfo('a', wrong),
        () => db.viewCleanup(wrong),
        () => db.queries('a', [], wrong),
      ])
        expect(call).toThrow(/^[\w.]+\(\) takes its options as an object, not ("1-a"|a list)$/);
    const { rev } = await db.putAttachment('b', 'f', 'YQ==', 'a/b');
    expect(await db.removeAttachment('b', 'f', rev)).toMatchObject({ ok: true });
  });

  it('refuse options of a database where a peer is only named, since they would be of no effect', () => {
    const db = new SettleDB(name(), { adapter: memory() });
    const auth = { username: 'me', password: 'secret' };
    const url = 'http://127.0.0.1:2/db';
    for (const call of [
      () => db.sync(url, { auth } as never),
      () => db.replicate.to(url, { auth } as never),
      () => SettleDB.replicate(url, db, { headers: {} } as never),
      () => db.replicate.from(url, { fetch } as never),
      () => db.sync(url, { push: { auth } as never }),
    ])
      expect(call).toThrow(/is no option of a replication.*new SettleDB\(url, \{ (auth|headers|fetch) \}\)/);
  });

  it('dump gives a stream, and takes none', async () => {
    const db = new SettleDB(name(), { adapter: memory() });
    expect(() => db.dump(new WritableStream() as never)).toThrow('dump() gives a stream');
    const { dump, load } = db;
    expect(await load(dump())).toMatchObject({ ok: true });
  });

  it('take null for options that are not given', async () => {
    const db = new SettleDB(name(), { adapter: 'memory' });
    const none = null as never;
    const { rev } = await db.put({ _id: 'a' }, none);
    await db.post({ _id: 'b' }, none);
    await db.bulkDocs([{ _id: 'c' }], none);
    expect(await db.get('a', none)).toEqual({ _id: 'a', _rev: rev });
    expect((await db.allDocs(none)).rows).toHaveLength(3);
    expect(await db.changes(none)).toMatchObject({ last_seq: 3 });
    expect((await db.find({ selector: { _id: 'a' } })).docs).toHaveLength(1);
    expect((await db.getIndexes(none)).total_rows).toBe(1);
    expect((await db.query((doc, emit) => emit(doc._id), none)).rows).toHaveLength(3);
    expect((await db.replicate.to(name(), none)).docs_written).toBe(3);
    expect((await new Response(db.dump(none)).arrayBuffer()).byteLength).toBeGreaterThan(0);
    for (const call of [() => db.info(none), () => db.compact(none), () => db.viewCleanup(none)])
      expect(await call()).toBeTypeOf('object');
    await expect(db.put(none)).rejects.toMatchObject({ status: 400 });
    await expect(db.find(none)).rejects.toMatchObject({ status: 400 });
    await db.remove('a', rev, none);
    await db.destroy(none);
  });

  it('remove takes a document, a document and a revision, or id and revision', async () => {
    const db = new SettleDB(name(), { adapter: memory() });
    const rows = await db.bulkDocs(['a', 'b', 'c'].map((_id) => ({ _id, text: 'x' })));
    const revs = rows.map((row) => ('rev' in row ? row.rev : ''));
    await db.remove({ _id: 'a', _rev: revs[0]! });
    await db.remove({ _id: 'b' }, { rev: revs[1]! });
    const { rev } = await db.remove('c', revs[2]!);
    expect(await db.get('c', { rev })).toEqual({ _id: 'c', _rev: rev, _deleted: true });
    expect((await db.info()).doc_count).toBe(0);
    await db.put({ _id: 'd' });
    await expect(db.remove({ _id: 'd' })).rejects.toMatchObject({ status: 409, docId: 'd' });
    await expect(db.remove({ _id: 'missing' })).rejects.toMatchObject({ status: 404 });
    await expect(db.remove('missing', '1-a')).rejects.toMatchObject({ status: 404, docId: 'missing' });
    await expect(db.remove('d', '1-a')).rejects.toMatchObject({ status: 409, docId: 'd' });
    await expect(db.remove('a', revs[0]!)).rejects.toMatchObject({ status: 409, docId: 'a' });
    await expect(db.remove(undefined as never)).rejects.toMatchObject({ status: 400 });
    await expect(db.remove({} as never)).rejects.toThrow(Error);
    expect((await db.info()).doc_del_count).toBe(3);
  });

  it('post keeps an _id, leaves the document as it was, and wants an object', async () => {
    const db = new SettleDB(name(), { adapter: memory() });
    const doc = { n: 1 };
    await db.post(doc);
    expect(doc).toEqual({ n: 1 });
    expect((await db.post({ _id: 'mine' })).id).toBe('mine');
    await expect(db.post({ _id: 'mine' })).rejects.toMatchObject({ status: 409 });
    for (const wrong of [undefined, null, [], 'x', 1])
      await expect(db.post(wrong as never)).rejects.toThrow('Document must be a JSON object');
  });

  it('a promise is refused where a document belongs: it would be stored as an empty one', async () => {
    const db = new SettleDB(name(), { adapter: memory() });
    const reason = 'Document must be a JSON object, and is a promise: await it first';
    const forgotten = () => Promise.resolve({ _id: 'a' }) as never;
    await expect(db.post(forgotten())).rejects.toMatchObject({ status: 400, reason });
    await expect(db.put(forgotten())).rejects.toMatchObject({ status: 400, reason });
    await expect(db.bulkDocs([{ _id: 'b' }, forgotten()])).rejects.toMatchObject({ reason, index: 1 });
    expect((await db.info()).doc_count).toBe(0);
    await db.post({ then: 'a field like any other' });
  });

  it('post stores what the toJSON of a document says, as put and bulkDocs do, under the id that it says', async () => {
    class Note {
      constructor(readonly said: object) {}
      toJSON(): object {
        return this.said;
      }
    }
    const db = new SettleDB(name(), { adapter: memory() });
    const { id } = await db.post(new Note({ n: 1 }));
    expect(await db.get(id)).toEqual({ _id: id, _rev: expect.any(String), n: 1 });
    expect(await db.post({ _id: 'other', toJSON: () => ({ _id: 'mine', n: 2 }) })).toMatchObject({
      id: 'mine',
    });
    expect(await db.post({ _id: 'other', toJSON: () => ({ n: 3 }) })).not.toMatchObject({ id: 'other' });
    for (const wrong of [new Date(0), new Note([]), { toJSON: () => undefined }])
      await expect(db.post(wrong as never)).rejects.toThrow('Document must be a JSON object');
    await expect(db.post(new Note({ n: 1n }))).rejects.toMatchObject({ status: 400 });
  });

  it('bulkDocs writes nothing when one document is invalid, and says which', async () => {
    const db = new SettleDB(name(), { adapter: memory() });
    const refused = (docs: unknown[]): Promise<unknown> =>
      db.bulkDocs(docs as []).catch((error: unknown) => error);
    expect(await refused([{ _id: 'a' }, { _id: 'b', _typo: 1 }])).toMatchObject({
      message: 'Bad special document member: _typo',
      docId: 'b',
      index: 1,
    });
    expect(await refused([{ _id: 'a' }, { _id: 'b', big: 1n }])).toMatchObject({ docId: 'b', index: 1 });
    expect(await refused([{ _id: 'a' }, { n: 1 }, 'c'])).toMatchObject({ index: 2 });
    expect((await db.info()).update_seq).toBe(0);
  });

  it('bulkDocs takes a list or an object with one', async () => {
    const db = new SettleDB(name(), { adapter: memory() });
    expect(await db.bulkDocs({ docs: [{ _id: 'a', _rev: '1-x' }], new_edits: false })).toEqual([]);
    expect(await db.bulkDocs([])).toEqual([]);
    await expect(db.bulkDocs(undefined as never)).rejects.toThrow("Missing JSON list of 'docs'");
  });
});

describe('replication', () => {
  it('goes to and from handles and names, and both ways', async () => {
    const options = { adapter: memory() };
    const [one, two] = [new SettleDB('one', options), new SettleDB('two', options)];
    await one.put({ _id: 'a' });
    await two.put({ _id: 'b' });
    expect(await one.replicate.to('two')).toMatchObject({ ok: true, docs_written: 1 });
    expect(await one.replicate.from(two)).toMatchObject({ ok: true, docs_written: 1 });
    await one.put({ _id: 'c' });
    const both = await one.sync('two');
    expect(both).toMatchObject({ push: { docs_written: 1 }, pull: { docs_written: 0 } });
    expect(await SettleDB.replicate(one, new SettleDB('three', options))).toMatchObject({ docs_written: 3 });
    expect(await SettleDB.sync(two, one)).toMatchObject({ push: { ok: true }, pull: { ok: true } });
  });

  it('of a sync take options for one direction, and nothing else in their place', async () => {
    const [one, other] = [
      new SettleDB('one', { adapter: memory() }),
      new SettleDB('other', { adapter: memory() }),
    ];
    await one.put({ _id: 'a' });
    for (const wrong of ['x', 5, true, () => {}] as never[]) {
      expect(() => one.sync(other, { push: wrong, retry: true })).toThrow('push must be options');
      expect(() => one.sync(other, { pull: wrong })).toThrow(TypeError);
    }
    const { push } = await one.sync(other, { push: false as never, pull: null as never });
    expect(push.docs_written).toBe(1);
    await Promise.all([one.destroy(), other.destroy()]);
  });

  it('says at once what cannot be a peer', () => {
    const db = new SettleDB(name(), { adapter: 'memory' });
    for (const wrong of [undefined, null, 5, true] as never[]) {
      expect(() => db.sync(wrong)).toThrow(/a name, a URL or a database/);
      expect(() => db.replicate.to(wrong)).toThrow(TypeError);
      expect(() => SettleDB.replicate(wrong, db)).toThrow(TypeError);
    }
    expect(() => db.sync('localhost:5984/a')).toThrow(expect.objectContaining({ status: 400 }));
  });

  it('closes the handle it made for a name', async () => {
    const adapter = watched();
    const db = new SettleDB('one', { adapter });
    await db.put({ _id: 'a' });
    await db.replicate.to('two');
    await vi.waitFor(async () => {
      const journals = await Promise.all(adapter.open.mock.results.map(({ value }) => value));
      await expect(journals[1].read()).rejects.toMatchObject({ name: 'closed' });
    });
    expect((await db.info()).doc_count).toBe(1);
  });

  it('ends when its database is closed', async () => {
    const options = { adapter: memory() };
    const [one, two] = [new SettleDB('one', options), new SettleDB('two', options)];
    const live = one.sync(two, { live: true });
    await new Promise((resolve) => live.once('paused', resolve));
    await one.close();
    await Promise.allSettled([live]);
    expect((await two.info()).doc_count).toBe(0);
  });
});

describe('a name that is a URL', () => {
  it('means a remote database, whose credentials are not part of the name', () => {
    const db = new SettleDB('http://user:secret@127.0.0.1:9/notes');
    expect(db.adapter).toBe('http');
    expect(db.name).not.toContain('secret');
    expect(new SettleDB('notes', { prefix: 'http://127.0.0.1:9/couch' }).name).toBe(
      'http://127.0.0.1:9/couch/notes',
    );
    expect(new SettleDB({ name: 'http://user:secret@127.0.0.1:9/notes' }).name).not.toContain('secret');
  });
});
