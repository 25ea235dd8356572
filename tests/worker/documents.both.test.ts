/** Documents in calls to a host and in its answers: as they are in the page, one by one and in lists of any length. */
import { memory } from '@settledb/adapter-memory';
import { describe, expect, it } from 'vitest';
import { contextOf } from '../../packages/settledb/src/hosting';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { hostAndPage, rejection } from './support';

describe('calls', () => {
  it('see documents as they were when the call was made', async () => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('notes');
    const doc = { _id: 'a', n: 1 };
    const puts: Promise<unknown>[] = [];
    for (const _id of ['a', 'b', 'c']) {
      Object.assign(doc, { _id, n: _id });
      puts.push(db.put(doc));
    }
    await Promise.all(puts);
    const { rows } = await db.allDocs({ include_docs: true });
    expect(rows.map((row) => 'doc' in row && row.doc?.n)).toEqual(['a', 'b', 'c']);
  });

  it('refuse a promise in the place of a document, of which JSON makes an empty one', async () => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('notes');
    const refused = { status: 400, reason: expect.stringContaining('await it first') };
    const forgotten = () => Promise.resolve({ _id: 'a' }) as never;
    await expect(db.post(forgotten())).rejects.toMatchObject(refused);
    await expect(db.put(forgotten())).rejects.toMatchObject(refused);
    await expect(db.bulkDocs([{ _id: 'b' }, forgotten()])).rejects.toMatchObject(refused);
    expect((await db.info()).doc_count).toBe(0);
  });

  it('store what JSON makes of documents: dates, toJSON, functions, proxies, undefined', async () => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('notes');
    class Money {
      readonly cents = 5;
      toJSON(): string {
        return '0.05 €';
      }
    }
    const doc = {
      _id: 'a',
      at: new Date(0),
      price: new Money(),
      call: () => 1,
      none: undefined,
      nan: Number.NaN,
    };
    await db.put(new Proxy(doc, {}));
    expect(await db.get('a')).toMatchObject({ at: '1970-01-01T00:00:00.000Z', price: '0.05 €', nan: null });
    expect(Object.keys(await db.get('a')).sort()).toEqual(['_id', '_rev', 'at', 'nan', 'price']);
  });

  it('take options that are proxies, as frameworks make them of state', async () => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('notes');
    await db.bulkDocs([
      { _id: 'a', tags: ['x'] },
      { _id: 'b', tags: ['y'] },
    ]);
    /** What Vue's `reactive` and Svelte's `$state` do: whatever is read from it is a proxy too. */
    const state = <T extends object>(value: T): T =>
      new Proxy(value, {
        get: (target, key, receiver) => {
          const read = Reflect.get(target, key, receiver);
          return typeof read === 'object' && read !== null ? state(read) : read;
        },
      });
    const of = (docs: readonly { _id: string }[]) => docs.map(({ _id }) => _id);
    const { docs } = await db.find(state({ selector: { $or: [{ tags: { $in: ['x'] } }, { _id: 'z' }] } }));
    expect(of(docs)).toEqual(['a']);
    expect((await db.allDocs({ keys: state(['b']) })).rows.map(({ key }) => key)).toEqual(['b']);
    expect((await db.bulkGet(state({ docs: [{ id: 'a' }] }))).results).toHaveLength(1);
    expect(await db.changes({ doc_ids: state(['b']) })).toMatchObject({ results: [{ id: 'b' }] });
    await db.createIndex(state({ fields: ['tags'] }));
    const auth = { username: 'a', password: 'b' };
    expect(new Hosted('http://127.0.0.1:9/notes', state({ auth })).adapter).toBe('http');
    await db.bulkDocs(state([{ _id: 'c', tags: [] }]));
    const selector = { tags: { $all: [{ deep: () => 1 }] } };
    expect(await rejection(db.find(state({ selector })))).toMatchObject({ status: 400, name: 'bad_request' });
  });

  it('take thousands of documents, and answer thousands of rows, in order', async () => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('notes');
    const ids = Array.from({ length: 4_500 }, (_, n) => `doc-${String(n).padStart(5, '0')}`);
    const writing = db.bulkDocs({ docs: ids.map((_id) => ({ _id })) });
    // Made after it, and not to overtake it.
    const late = db.put({ _id: ids[0]! }).catch((error: unknown) => error);
    const rows = await writing;
    expect(rows.map((row) => row.id)).toEqual(ids);
    expect(await late).toMatchObject({ status: 409 });
    expect((await db.bulkDocs(ids.map((_id) => ({ _id })))).every((row) => 'error' in row)).toBe(true);
    const all = await db.allDocs();
    expect(all.total_rows).toBe(4_500);
    expect(all.rows.map((row) => row.key)).toEqual(ids);
    expect(await db.changes()).toHaveProperty('results.length', 4_500);
  });

  it('write documents of every kind as they are written in the page, and refuse the same ones', async () => {
    const { Hosted } = hostAndPage();
    const [hosted, here] = [new Hosted('there'), new SettleDB('here', { adapter: memory() })];
    const rev = `1-${'a'.repeat(32)}`;
    const data = { content_type: 'text/plain', data: 'YQ==' };
    const lists: unknown[] = [
      [
        { _id: 'plain', 'a "key"': ['\ud800', '\u2028', 1e300] },
        { a: 1, _id: 'last', b: { __proto__: null } },
      ],
      [JSON.parse('{ "__proto__": { "a": 1 }, "_id": "proto", "constructor": 2 }'), { _id: 'empty' }],
      [{ _id: '_local/one', a: 1 }, { _id: '_design/one', views: {} }, { _id: 'with "quotes" \\' }],
      [{ _id: 'dated', at: new Date(0), toJSON: () => ({ _id: 'other', a: 1 }) }, { _id: 'plain' }],
      [
        { _id: 'with data', _attachments: { a: data }, n: 1 },
        { _id: 'gone', _deleted: true, a: 1 },
      ],
      [
        { _id: 'plain', _rev: rev, n: 2 },
        { _id: 'plain', _rev: '1-nothing', n: 3 },
      ],
      { docs: [{ _id: 'plain', _rev: rev, n: 2 }], new_edits: false },
      {
        docs: [{ _id: 'told', _rev: `2-${'b'.repeat(32)}`, _revisions: { start: 2, ids: ['b', 'a'] } }],
        new_edits: false,
      },
      [{ _id: 'plain' }, { _id: 'new' }, { _id: 'plain' }, { _id: 'empty' }, { _id: '__proto__' }],
      Array.from({ length: 4_500 }, (_, n) => ({ _id: n % 3 === 0 ? 'plain' : `many ${n}`, n })),
      [{ _id: 'good' }, { _id: '_bad' }],
      [{ _id: 'good' }, { _id: 'bad', _rev: 5 }],
      [{ _id: 'good' }, { _id: 'bad', _unknown: 1 }],
      [{ _id: 'good' }, { _id: '' }],
      ...['_id', '_rev', '_deleted'].flatMap((field) =>
        [
          new Date(0),
          { toJSON: () => '1-a' },
          new String('1-a'),
          new Boolean(true),
          Number.NaN,
          () => {},
        ].map((value) => [{ _id: 'good' }, { _id: 'bad', [field]: value }]),
      ),
      { docs: [{ _id: new Date(0) }] },
      [{ _id: 'deep', at: { _id: new Date(0) }, _attachments: { a: { ...data, data: new Uint8Array(1) } } }],
      [{ _id: 'good' }, null],
      [{ _id: 'good' }, undefined, 5],
      [{ _id: 'good' }, { _id: 'big', n: 1n }],
      { docs: [{ _id: 'good' }, { _id: 'no revision' }], new_edits: false },
      {},
      [],
    ];
    for (const list of lists) {
      const answers = [hosted, here].map((db) =>
        db.bulkDocs(list as never).catch(({ status, name, reason, docId, index }) => ({
          ...{ status, name, reason, docId, index },
        })),
      );
      const [there, inPage] = await Promise.all(answers);
      expect(there).toEqual(inPage);
    }
    for (const db of [hosted, here])
      expect(await rejection(db.put({ _id: new Date(0) } as never))).toMatchObject({
        reason: '_id field must contain a string',
      });
    const options = { include_docs: true, attachments: true, conflicts: true };
    expect(await hosted.allDocs(options)).toEqual(await here.allDocs(options));
    expect(await hosted.get('_local/one')).toEqual(await here.get('_local/one'));
    const [random] = await hosted.bulkDocs([{ n: 1 }]);
    expect(await hosted.get((random as { id: string }).id)).toMatchObject({ n: 1 });
  });

  it('with a long list of which a part is no JSON write nothing of it', async () => {
    const db = new (hostAndPage().Hosted)('notes');
    const cycle: Record<string, unknown> = { _id: 'z' };
    cycle.self = cycle;
    for (const at of [0, 2_500, 6_999]) {
      const docs = Array.from({ length: 7_000 }, (_, n) => (n === at ? cycle : { _id: `doc ${n}` }));
      expect(await rejection(db.bulkDocs(docs as never))).toMatchObject({ status: 400 });
    }
    expect(await db.info()).toMatchObject({ doc_count: 0, update_seq: 0 });
    expect(await db.put({ _id: 'a' })).toMatchObject({ ok: true });
  });

  it('give a class of the host that has verbs of its own documents as they are, and take its answers', async () => {
    class Stamped extends SettleDB {
      override bulkDocs(docs: never): never {
        const list = docs as { _id: string; n: number }[];
        return super.bulkDocs(list.map((doc) => ({ ...doc, twice: doc.n * 2 }))) as never;
      }
      override async get(id: string): Promise<never> {
        return { ...(await super.get(id)), read: new Date(0) } as never;
      }
    }
    const context = contextOf(Stamped.defaults({ adapter: memory() }) as typeof SettleDB);
    const db = new (hostAndPage({}, {}, context).Hosted)('notes');
    await db.bulkDocs([
      { _id: 'a', n: 1 },
      { _id: 'b', n: 2, _attachments: {} },
    ]);
    expect(await db.get('b')).toMatchObject({ n: 2, twice: 4, read: new Date(0) });
    expect((await db.allDocs({ include_docs: true })).rows).toHaveLength(2);
  });

  it('answer documents as they are in the page, whatever is in them, in lists of any length', async () => {
    const open = new Map<string, SettleDB>();
    const context = contextOf(SettleDB.defaults({ adapter: memory() }));
    const keeping = (name: string): never => {
      const db = context.open(name, {});
      open.set(name, db as unknown as SettleDB);
      return db as never;
    };
    const { Hosted } = hostAndPage({}, {}, { ...context, open: keeping });
    const hosted = new Hosted('odd');
    await hosted.info();
    const here = open.get('odd')!;
    expect(await hosted.allDocs({ include_docs: true })).toEqual({ total_rows: 0, offset: 0, rows: [] });
    await here.bulkDocs([
      { _id: '"quoted" \\ \u2028', 'a "key"': ['\ud800', -0, 1e300, null, true] },
      JSON.parse('{ "_id": "proto", "in": { "__proto__": { "a": 1 } }, "constructor": 2 }'),
      { _id: 'empty' },
      { _id: 'gone' },
      { _id: 'with attachment', _attachments: { a: { content_type: 'text/plain', data: 'YQ==' } } },
      ...Array.from({ length: 1_200 }, (_, n) => ({ _id: `row ${n}`, n })),
    ]);
    await here.remove(await here.get('gone'));
    await here.bulkDocs({ docs: [{ _id: 'empty', _rev: '1-b', conflicting: true }], new_edits: false });
    const keys = ['proto', 'gone', 'never', 'empty'];
    for (const options of [
      {},
      { keys },
      { conflicts: true },
      { limit: 3, skip: 1 },
      { attachments: true },
      { att_encoding_info: true },
    ]) {
      const asked = { include_docs: true, update_seq: true, ...options };
      const [there, inPage] = await Promise.all([hosted.allDocs(asked), here.allDocs(asked)]);
      expect(there).toEqual(inPage);
      expect(JSON.stringify(there)).toBe(JSON.stringify(inPage));
    }
  });

  it('carry a document with fields `docs` and `data` as any other: they are no list, and no content', async () => {
    const [hosted, here] = [new (hostAndPage().Hosted)('there'), new SettleDB('here', { adapter: memory() })];
    const data = new Blob(['hello']);
    const fields: object[] = [
      { docs: [{ _id: 'x', _rev: '1-a', n: 1 }, { n: 2 }, [{ _id: 'y', n: 3 }]] },
      { docs: [{ _attachments: { f: { data: 'YQ==' } } }], n: 1 },
      { docs: Array.from({ length: 2_500 }, (_, n) => ({ _id: `${n}`, n })) },
      { docs: [{ _id: 'x', n: 1 }], _attachments: { f: { content_type: 'text/plain', data } } },
      // Nor is a field `data` content, but where it is an attachment's.
      { data: () => 1, in: { data: () => 2 }, _attachments: { f: { content_type: 'text/plain', data } } },
    ];
    for (const verb of ['put', 'post', 'bulkDocs'] as const) {
      for (const [n, field] of fields.entries()) {
        const doc = { _id: `${verb} ${n}`, ...field };
        const [there, inPage] = await Promise.all(
          [hosted, here].map(async (db) => {
            if (verb === 'bulkDocs') await db.bulkDocs([doc]);
            else await db[verb](doc as never);
            return JSON.stringify(await db.get(doc._id, { attachments: true }));
          }),
        );
        expect(there).toBe(inPage);
      }
    }
  });

  it('read documents one by one as they are in the page, with whatever else is answered in the same turn', async () => {
    const [hosted, here] = [new (hostAndPage().Hosted)('there'), new SettleDB('here', { adapter: memory() })];
    const docs: object[] = [
      { _id: '"quoted" \\ \u2028', 'a "key"': ['\ud800', -0, 1e300, null, true] },
      JSON.parse('{ "_id": "proto", "in": { "__proto__": { "a": 1 } }, "constructor": 2 }'),
      { _id: 'empty' },
      { _id: '_design/one', views: {} },
      { _id: 'attached', _attachments: { a: { content_type: 'text/plain', data: 'YQ==' } } },
      ...Array.from({ length: 150 }, (_, n) => ({ _id: `long ${n}`, text: 'é'.repeat(1_000) })),
    ];
    const ids = [...docs.map((doc) => (doc as { _id: string })._id), 'missing', '_local/none', '_local/some'];
    const [there, inPage] = await Promise.all(
      [hosted, here].map(async (db) => {
        await db.bulkDocs({ docs: docs as never });
        await db.put({ _id: '_local/some', n: 1 });
        const gets = [...ids, 5].map((id) => db.get(id as string).catch((error: Error) => error.message));
        return JSON.stringify(await Promise.all([db.allDocs(), ...gets, db.get('proto', { revs: true })]));
      }),
    );
    expect(there).toBe(inPage);
  });
});
