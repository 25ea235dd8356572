/** Calls from a page to its host: what crosses and how, and what is refused. */
import { memory } from '@settledb/adapter-memory';
import { badRequest, conflict, DatabaseError, type Doc } from '@settledb/core';
import { named } from '@settledb/worker';
import { expose, transfer, wrap } from 'comlink';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { connect } from '../../packages/settledb/src/hosted';
import { contextOf } from '../../packages/settledb/src/hosting';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { countMessages, hostAndPage, rejection } from './support';

/** A handle with one verb, to see what reaches it. */
const withVerb = (name: string, verb: (...args: never[]) => unknown) => () => ({
  on: () => {},
  close: async () => {},
  [name]: verb,
});

describe('calls', () => {
  it('of one microtask travel as one message, and so do their answers', async () => {
    // What is said now and then to a host that takes its time is no call.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { Hosted } = hostAndPage();
    const db = new Hosted('notes');
    await db.put({ _id: 'a', n: 1 });
    const messages = countMessages();
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => db.get('a')));
    // 1,000 answers are two messages' worth at least: a message is never larger than is good for the page.
    expect(messages.stop()).toBeLessThanOrEqual(6);
    expect(answers.every(({ n }) => n === 1)).toBe(true);
    const lone = countMessages();
    await db.get('a');
    expect(lone.stop()).toBe(2);
  });

  it('with a callback are refused in the page, as are streams to dump into', async () => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('notes') as unknown as Record<string, (...args: unknown[]) => unknown>;
    const { to } = db.replicate as unknown as typeof db;
    const back = (): void => {};
    for (const call of [
      () => db.get!('a', back),
      () => db.sync!('other', {}, back),
      () => db.close!(back),
      () => db.dump!(back),
      () => to!('other', {}, back),
      () => Reflect.apply(Hosted.replicate, Hosted, [db, 'other', {}, back]),
      () => Reflect.construct(Hosted, ['other', back]),
    ])
      expect(call).toThrow(/^[\w.]+\(\) takes no callback/);
    expect(() => db.dump!(new WritableStream())).toThrow('dump() gives a stream');
    const { dump, load } = db;
    expect(await load!(dump!(null))).toMatchObject({ ok: true });
  });

  it('of a page of another release are refused, and it is told to reload', async () => {
    const { host } = hostAndPage();
    const hello = new MessageChannel();
    onTestFinished(() => hello.port1.close());
    host.accept({ data: { settledb: 'hello', port: hello.port2 } } as MessageEvent);
    const control = wrap<{ attach(port: MessagePort, client: object): unknown }>(hello.port1);
    for (const protocol of [5, 1_000]) {
      const { port1, port2 } = new MessageChannel();
      onTestFinished(() => port1.close());
      const asked = control.attach(transfer(port2, [port2]), { protocol, lock: undefined });
      expect(await rejection(asked)).toMatchObject({ message: expect.stringContaining('reload') });
    }
  });

  it('of a page that its host refuses are refused as any other, with status and reason', async () => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', ({ data }) => {
      const attach = async (): Promise<never> => {
        throw badRequest('reload');
      };
      expose({ attach }, data.port);
    });
    port1.start();
    const Hosted = connect(port2);
    onTestFinished(() => {
      Hosted.disconnect();
      port1.close();
    });
    const refused = await rejection(new Hosted('notes').info());
    expect(refused).toBeInstanceOf(DatabaseError);
    expect(refused).toMatchObject({ status: 400, name: 'bad_request', reason: 'reload' });
  });

  it('of a host that says nothing heed their signals', async () => {
    const silent = Object.assign(new EventTarget(), { postMessage() {}, terminate() {} });
    const Hosted = connect((() => silent) as never, { timeout_ms: 10 * 60_000 });
    onTestFinished(() => Hosted.disconnect());
    const db = new Hosted('silent');
    const abort = new AbortController();
    const { signal } = abort;
    const calls = [db.get('a', { signal }), db.put({ _id: 'a' }, { signal }), db.allDocs({ signal })];
    const settled = Promise.allSettled(calls);
    const reason = new Error('enough');
    abort.abort(reason);
    expect(await settled).toEqual(calls.map(() => ({ status: 'rejected', reason })));
  });

  it('are answered though the page stood still for longer than the worker may take', async () => {
    const timeout_ms = 600;
    const { page } = hostAndPage();
    for (let steps = 0; steps < 5; steps++) {
      const db = new (page({ timeout_ms }))('slow');
      const asked = db.info();
      for (let step = 0; step < steps; step++) await new Promise((resolve) => setTimeout(resolve));
      for (const end = performance.now() + timeout_ms + 50; performance.now() < end; );
      expect(await asked, `after ${steps} steps`).toMatchObject({ db_name: 'slow' });
    }
  });

  it('of several handles and verbs at once, some of which fail, are each answered with its own', async () => {
    const { Hosted } = hostAndPage();
    const [one, other] = [new Hosted('one'), new Hosted('other')];
    await one.bulkDocs([{ _id: 'a' }, { _id: 'b' }]);
    await other.put({ _id: 'a', n: 1 });
    const kinds: [() => Promise<unknown>, object][] = [
      [() => one.get('a'), { _id: 'a' }],
      [() => one.get('b'), { _id: 'b' }],
      [() => rejection(one.get('gone')), { status: 404, docId: 'gone' }],
      [() => other.get('a'), { _id: 'a', n: 1 }],
      [() => one.info(), { db_name: 'one', doc_count: 2 }],
      [() => other.info(), { db_name: 'other', doc_count: 1 }],
      [() => one.allDocs(), { total_rows: 2 }],
      [() => one.get('a', { revs: true }), { _revisions: { start: 1 } }],
      [() => rejection(one.put({ _id: 'a' })), { status: 409 }],
      [() => one.revsDiff({ c: ['1-a' as never] }), { c: { missing: ['1-a'] } }],
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(kinds.length - 1), { maxLength: 60 }), async (picked) => {
        const answers = await Promise.all(picked.map((kind) => kinds[kind]![0]()));
        expect(answers).toMatchObject(picked.map((kind) => kinds[kind]![1]));
      }),
      { numRuns: 30 },
    );
  });

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
            await db[verb]((verb === 'bulkDocs' ? [doc] : doc) as never);
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

  it('reach any verb the host has, and none it has not', async () => {
    const find = vi.fn(async (request: unknown) => ({ docs: [], request }));
    const { Hosted } = hostAndPage({}, {}, withVerb('find', find) as never);
    const db = new Hosted('notes') as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    expect(await db.find!({ selector: { a: { $regex: /x/ } } })).toEqual({
      docs: [],
      request: { selector: { a: { $regex: /x/ } } },
    });
    expect(await rejection(db.explain!({}))).toMatchObject({ message: 'db.explain is not a function' });
  });

  it('end with the reason of their signal, which reaches the host', async () => {
    let heard: AbortSignal | undefined;
    const { Hosted } = hostAndPage(
      {},
      {},
      withVerb('get', (_id: string, { signal }: { signal: AbortSignal }) => {
        heard = signal;
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      }) as never,
    );
    const db = new Hosted('notes');
    const abort = new AbortController();
    const waiting = db.get('a', { signal: abort.signal });
    await vi.waitFor(() => expect(heard).toBeDefined());
    const reason = { a: 'reason' };
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(heard!.aborted).toBe(true);
    await expect(db.get('a', { signal: abort.signal })).rejects.toBe(reason);
  });

  it('with a list of options reach the host with the signals in them', async () => {
    let heard: readonly AbortSignal[] = [];
    const queries = (_view: string, asked: readonly { signal: AbortSignal }[]): Promise<unknown> => {
      heard = asked.map(({ signal }) => signal);
      return new Promise((_, reject) => heard[1]!.addEventListener('abort', () => reject(heard[1]!.reason)));
    };
    const { Hosted } = hostAndPage({}, {}, withVerb('queries', queries as never) as never);
    const abort = new AbortController();
    const { signal } = abort;
    const asked = new Hosted('notes').queries('by-tag', [{ signal, key: 'a' }, { signal }]);
    await Promise.race([asked, vi.waitFor(() => expect(heard).toHaveLength(2))]);
    const reason = new Error('enough');
    abort.abort(reason);
    await expect(asked).rejects.toBe(reason);
  });

  it('hand bytes and streams over, both ways', async () => {
    const echo = async (_id: string, name: string, _rev: string, data: unknown): Promise<unknown> =>
      name === 'stream' ? { stream: data } : data;
    const { Hosted } = hostAndPage({}, {}, withVerb('putAttachment', echo as never) as never);
    const db = new Hosted('notes') as unknown as {
      putAttachment(id: string, name: string, rev: string, data: unknown, type: string): Promise<unknown>;
    };
    const bytes = new Uint8Array([1, 2, 3]);
    expect(await db.putAttachment('a', 'bytes', '1-a', bytes, 'x')).toEqual(bytes);
    expect(bytes).toHaveLength(3); // the caller's own stays with the caller
    const stream = (): ReadableStream => new Blob(['hello']).stream();
    for (const data of [stream(), stream]) {
      const answer = (await db.putAttachment('a', 'stream', '1-a', data, 'x')) as { stream: ReadableStream };
      expect(await new Response(answer.stream).text()).toBe('hello');
    }
    const blob = (await db.putAttachment('a', 'blob', '1-a', new Blob(['hello']), 'x')) as Blob;
    expect(await blob.text()).toBe('hello');
  });

  it('hand streams and bytes over beside long lists, whose parts go ahead of them', async () => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('beside');
    await db.bulkDocs(Array.from({ length: 2_000 }, (_, n) => ({ _id: `${n}` })));
    await db.putAttachment('a', 'f', new Blob(['hello']), 'text/plain');
    for (const options of [{}, { include_docs: true }]) {
      const [{ rows }, { stream }, data] = await Promise.all([
        db.allDocs(options),
        db.openAttachment('a', 'f'),
        db.getAttachment('a', 'f'),
      ]);
      expect(rows).toHaveLength(2_001);
      expect(await new Response(stream).text()).toBe('hello');
      expect(await (data as Blob).text()).toBe('hello');
    }
  });

  it('hand over the bytes of each part of a long list with it', async () => {
    const list = Array.from({ length: 1_200 }, (_, n) => ({ id: n, bytes: new Uint8Array([n % 256]) }));
    const all = async (): Promise<unknown> => ({ rows: list });
    const { Hosted } = hostAndPage({}, {}, withVerb('allDocs', all as never) as never);
    const { rows } = await new Hosted('parts').allDocs({ binary: true } as never);
    expect(rows).toEqual(
      Array.from({ length: 1_200 }, (_, n) => ({ id: n, bytes: new Uint8Array([n % 256]) })),
    );
    expect(list.every(({ bytes }) => bytes.length === 0)).toBe(true);
  });

  it('carry documents with attachment data as they are', async () => {
    let got: { _attachments: { a: { data: Blob }; b: { data: Uint8Array } }; at: string } | undefined;
    const put = async (doc: never): Promise<unknown> => {
      got = doc;
      return { ok: true };
    };
    const { Hosted } = hostAndPage({}, {}, withVerb('put', put as never) as never);
    const doc = {
      _id: 'a',
      at: new Date(0),
      _attachments: { a: { data: new Blob(['hello']) }, b: { data: new Uint8Array([1]) } },
    };
    await new Hosted('notes').put(doc as unknown as Doc & { _id: string });
    expect(await got!._attachments.a.data.text()).toBe('hello');
    expect(got!._attachments.b.data).toEqual(new Uint8Array([1]));
    expect(got!.at).toBe('1970-01-01T00:00:00.000Z');
  });
});

describe('errors', () => {
  it('come back with all they have: class, status, name, reason, docId, fields, causes', async () => {
    const cause = new TypeError('the first cause', { cause: conflict('b') });
    const error = Object.assign(
      new DatabaseError({ status: 418, name: 'teapot', reason: 'short and stout', docId: 'a', cause }),
      { result: { docs_written: 3 } },
    );
    const { Hosted } = hostAndPage({}, {}, withVerb('get', async () => Promise.reject(error)) as never);
    const told = await rejection(new Hosted('notes').get('a'));
    expect(told).toBeInstanceOf(DatabaseError);
    expect(told).toMatchObject({
      status: 418,
      name: 'teapot',
      reason: 'short and stout',
      docId: 'a',
      error: true,
    });
    expect(told.result).toEqual({ docs_written: 3 });
    expect(told.stack).toBe(error.stack);
    expect(told.cause).toBeInstanceOf(TypeError);
    expect((told.cause as Error).cause).toMatchObject({ status: 409, docId: 'b' });
  });

  it('come back so whether or not JSON has what is in them, and disturb no other answer of their turn', async () => {
    const odd = [
      undefined,
      Number.POSITIVE_INFINITY,
      -0,
      null,
      true,
      'a\ud800',
      new Date(0),
      [undefined],
      1n,
    ];
    const get = async (at: number): Promise<unknown> => {
      if (at < 0) return { at };
      throw Object.assign(conflict('a'), { odd: odd[at], cause: conflict(`${at}`) });
    };
    const { Hosted } = hostAndPage({}, {}, { open: withVerb('get', get as never) as never, own: true });
    const db = new Hosted('notes');
    const asked = [...odd.keys()].flatMap((at) => [db.get(-1 as never), rejection(db.get(at as never))]);
    for (const [place, answer] of (await Promise.all(asked)).entries()) {
      if (place % 2 === 0) expect(answer).toEqual({ at: -1 });
      else {
        const error = answer as Awaited<ReturnType<typeof rejection>>;
        expect(error).toMatchObject({ status: 409, docId: 'a', cause: { docId: `${(place - 1) / 2}` } });
        expect(error.odd).toStrictEqual(odd[(place - 1) / 2]);
      }
    }
    for (const [at, value] of odd.entries())
      expect((await rejection(db.get(at as never))).odd).toStrictEqual(value);
  });

  it('may be anything', async () => {
    for (const thrown of [
      'text',
      5,
      undefined,
      { a: 1 },
      new DOMException('full', 'QuotaExceededError'),
      new RangeError('r'),
    ]) {
      const { Hosted } = hostAndPage({}, {}, withVerb('get', async () => Promise.reject(thrown)) as never);
      const got = await new Hosted('notes').get('a').catch((error: unknown) => error);
      expect(got).toEqual(thrown);
      if (thrown instanceof Error) expect(got).toHaveProperty('name', thrown.name);
    }
  });

  it('say so when arguments or answers cannot cross', async () => {
    const { Hosted } = hostAndPage({}, {}, withVerb('get', async () => ({ f: () => 1 })) as never);
    const db = new Hosted('notes');
    expect(await rejection(db.get('a'))).toMatchObject({ status: 400, name: 'bad_request' });
    expect(await rejection(db.allDocs({ keys: [Symbol('a')] as never }))).toMatchObject({ status: 400 });
    const both = [db.allDocs({ keys: [Symbol('a')] as never }), db.id()];
    expect((await rejection(both[0]!)).message).toMatch(/could not cross/);
    expect(await rejection(both[1]!)).toMatchObject({ message: 'db.id is not a function' });
  });

  it('say so when a part of a long answer cannot cross, rather than answer the rest', async () => {
    const rows = Array.from({ length: 1_200 }, (_, n) => (n === 700 ? { f: () => 1 } : { n }));
    const { Hosted } = hostAndPage({}, {}, withVerb('allDocs', async () => ({ rows })) as never);
    const refused = await rejection(new Hosted('notes').allDocs());
    expect(refused).toMatchObject({ status: 400, message: expect.stringContaining('could not cross') });
  });
});

describe('functions', () => {
  const filter = (doc: { n: number }): boolean => doc.n % 2 === 0;
  const docs = [1, 2, 3, 4].map((n) => ({ _id: String(n), n }));
  const ids = (result: object): string[] =>
    ((result as { results?: { id: string }[] }).results ?? []).map(({ id }) => id);

  it('are refused, and what to do instead is said', async () => {
    const db = new (hostAndPage().Hosted)('notes');
    const error = await rejection(db.changes({ filter: filter as never }));
    expect(error).toMatchObject({ status: 400, name: 'bad_request' });
    expect(error.reason).toMatch(/design document.*named\('…'\).*functions: 'source'/);
    expect(await rejection(db.replicate.to('other', { filter: filter as never }))).toMatchObject({
      status: 400,
    });
  });

  it('are found by name where the host has them', async () => {
    const { Hosted } = hostAndPage({}, { functions: { isEven: filter } });
    const db = new Hosted('notes');
    await db.bulkDocs(docs);
    expect(ids(await db.changes({ filter: named('isEven') }))).toEqual(['2', '4']);
    expect(await rejection(db.changes({ filter: named('isOdd') }))).toMatchObject({ status: 400 });
    expect(await rejection(db.changes({ filter: named('constructor') }))).toMatchObject({
      status: 400,
    });
  });

  it('cross as their source when asked to, also written as methods', async () => {
    const { Hosted } = hostAndPage({ functions: 'source' });
    const db = new Hosted('notes');
    await db.bulkDocs(docs);
    expect(ids(await db.changes({ filter: filter as never }))).toEqual(['2', '4']);
    const options = {
      filter(doc: { n: number }) {
        return doc.n > 2;
      },
    };
    expect(ids(await db.changes(options as never))).toEqual(['3', '4']);
  });
});
