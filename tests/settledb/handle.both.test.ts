/** Making a handle, and the calls made while it opens. */
import { memory } from '@settledb/adapter-memory';
import type { Journal } from '@settledb/engine';
import { describe, expect, it, vi } from 'vitest';
import { queryCode } from '../../packages/settledb/src/code';
import { isDatabaseError, SettleDB } from '../../packages/settledb/src/entry.browser';
import { SettleDB as Base } from '../../packages/settledb/src/settledb';
import { unhandledBy } from '../support/unhandled';
import { watched } from '../support/watched-adapter';
import { event, name } from './handles';

describe('making a handle', () => {
  it('throws at once without a name or for an adapter nobody knows', () => {
    for (const wrong of [undefined, null, '', 7]) expect(() => new SettleDB(wrong as never)).toThrow(Error);
    expect(() => new SettleDB({} as never)).toThrow(Error);
    for (const adapter of ['nonsense', 'constructor', 7, null, {}, memory, 'idb'] as never[]) {
      const made = (): SettleDB => new SettleDB('a', { adapter });
      if (adapter === null) expect(made().adapter).toBe('indexeddb');
      else expect(made).toThrow(/^Invalid Adapter: /);
    }
    expect(() => new SettleDB('a', { adapter: 'nonsense' as never })).toThrow(/^Invalid Adapter: nonsense$/);
    expect(() => new Base('a')).toThrow('Invalid Adapter');
  });

  it('says which adapters there are, and what somebody may have meant', () => {
    const reason = (adapter: unknown): string => {
      try {
        return new SettleDB('a', { adapter: adapter as never }).name;
      } catch (error) {
        return isDatabaseError(error) ? error.reason : String(error);
      }
    };
    expect(reason('nonsense')).toMatch("'indexeddb', 'memory'");
    expect(reason('idb')).toMatch("Use 'indexeddb'");
    expect(reason(memory)).toMatch('must be called: adapter: memory()');
    // Programs print the message alone. That of a name which nothing stands for is PouchDB's.
    const making = (adapter: unknown) => () => new SettleDB('a', { adapter: adapter as never });
    expect(making('idb')).toThrow(/^Invalid Adapter: idb\. Use 'indexeddb'/);
    expect(making(memory)).toThrow('Invalid Adapter: memory. It must be called: adapter: memory()');
  });

  it('refuses names that are nearly a URL, without a password in what it says', () => {
    for (const wrong of [
      'localhost:5984/a',
      'undefined/a',
      'htp://127.0.0.1/a',
      'ws://host/a',
      'http:/127.0.0.1:5984/x',
      'http//host/x',
    ])
      expect(() => new SettleDB(wrong)).toThrow(expect.objectContaining({ status: 400 }));
    for (const wrong of [
      '//host/x',
      ' http://host/x',
      'file:///tmp/x',
      '127.0.0.1:5984/x',
      'http:\\\\host\\x',
      '://x',
    ])
      expect(() => new SettleDB(wrong)).toThrow(expect.objectContaining({ status: 400 }));
    expect(() => new SettleDB('x', { prefix: 'htps://me:secret@host/' })).toThrow(/^'x' is neither/);
    const secret = (): SettleDB => new SettleDB('me:secret@host:5984/x');
    expect(secret).toThrow(/^'host:5984\/x' is neither/);
    for (const fine of [
      'C:\\data\\x',
      'C:/data/x',
      'user:1',
      'a/b',
      './a',
      '/tmp/a',
      'a+b%2F',
      '__proto__',
      'http',
      'a:b/c',
    ])
      expect(new SettleDB(fine, { adapter: 'memory' }).name).toBe(fine);
  });

  it('takes one object as well, and adapters by name', async () => {
    const db = new SettleDB({ name: name(), adapter: 'memory', revs_limit: 5 });
    expect(db.adapter).toBe('memory');
    expect(await db.info()).toMatchObject({ adapter: 'memory', db_name: db.name, update_seq: 0 });
    const same = new SettleDB(db.name, { adapter: 'memory' });
    await db.put({ _id: 'a' });
    expect((await same.info()).doc_count).toBe(1);
    await Promise.all([db.destroy(), same.close()]);
  });

  it('does not take a misspelt durability for the lesser one', async () => {
    const adapter = memory();
    const db = new SettleDB('a', { adapter, durability: 'stict' as never });
    for (const call of [() => db.info(), () => db.put({ _id: 'a' })])
      await expect(call()).rejects.toMatchObject({ status: 400, name: 'bad_request' });
    await db.close();
    expect((await new SettleDB('a', { adapter, durability: 'strict' }).info()).doc_count).toBe(0);
  });

  it('checks options alike, whether or not others have the database open', async () => {
    const wrong: readonly object[] = [
      ...[-1, 0, 1.5, Number.NaN, '5', null].map((revs_limit) => ({ revs_limit })),
      ...['stict', '', null, 1].map((durability) => ({ durability })),
      ...['yes', 1, 0, {}].flatMap((value) => [{ auto_compaction: value }, { deterministic_revs: value }]),
      ...['text', 1, true, {}].map((evaluate) => ({ evaluate })),
    ];
    const adapter = memory();
    const first = new SettleDB('a', { adapter });
    for (const opened of [false, true]) {
      if (opened) await first.put({ _id: 'a' });
      for (const options of wrong) {
        const db = new SettleDB(opened ? 'a' : 'b', { adapter, ...options });
        for (const call of [() => db.info(), () => db.put({ _id: 'x' }), () => db.changes()])
          await expect(call(), JSON.stringify(options)).rejects.toMatchObject({ status: 400 });
        await db.close();
      }
    }
    // Whoever was refused has neither made one, nor taken this one away.
    expect(await first.info()).toMatchObject({ doc_count: 1 });
    const made = await adapter.open('b', { mustExist: true }).catch((error) => error.status);
    expect(made).toBe(404);
    const destroyer = new SettleDB('a', { adapter, revs_limit: -1 });
    expect(await destroyer.destroy()).toEqual({ ok: true });
    expect(await first.info()).toMatchObject({ doc_count: 0 });
    await first.close();
  });

  it('has writes on the disk for all as soon as one handle asks for that', async () => {
    const adapter = memory();
    const asked: string[] = [];
    const open = async (...given: Parameters<typeof adapter.open>): Promise<Journal> =>
      new Proxy(await adapter.open(...given), {
        get(journal, key) {
          if (key === 'appendNow') return () => false;
          if (key === 'append')
            return (...args: Parameters<Journal['append']>) => {
              asked.push(args[2]);
              return journal.append(...args);
            };
          const value = journal[key as keyof Journal];
          return typeof value === 'function' ? value.bind(journal) : value;
        },
      });
    const relaxed = new SettleDB('a', { adapter: { ...adapter, open }, revs_limit: 7 });
    await relaxed.put({ _id: 'a' });
    expect(new Set(asked.splice(0))).toEqual(new Set(['relaxed']));
    // Its first call waits for no opening.
    const strict = new SettleDB('a', { adapter: { ...adapter, open }, durability: 'strict', revs_limit: 9 });
    await strict.put({ _id: 'b' });
    await strict.putAttachment('c', 'x', 'aGk=', 'text/plain');
    const { rev } = await strict.put({ _id: 'd' });
    await strict.purge('d', rev);
    await relaxed.put({ _id: 'e' });
    expect(new Set(asked)).toEqual(new Set(['strict']));
    expect(await strict.info()).toMatchObject({ revs_limit: 7 });
    await Promise.all([relaxed.close(), strict.close()]);
  });

  it('tells when it was opened', async () => {
    const db = new SettleDB(name(), { adapter: memory() });
    expect(await event(db, 'created')).toBe(db);
  });

  it('serves calls in their order, those made while it opens first', async () => {
    const db = new SettleDB(name(), { adapter: memory() });
    const order: string[] = [];
    const note = (what: string) => (): void => void order.push(what);
    const early = [db.put({ _id: 'a' }).then(note('put a')), db.changes().then(note('changes'))];
    void event(db, 'created').then(() => db.put({ _id: 'b' }).then(note('put b')));
    await Promise.all(early);
    await vi.waitFor(() => expect(order).toContain('put b'));
    expect(order.indexOf('put a')).toBeLessThan(order.indexOf('put b'));
  });

  it('answers calls in their order too, where the storage takes its time over the first only', async () => {
    const db = new SettleDB(name(), { adapter: memory() });
    // Calls that take long make way for others, here the put behind one.
    let now = Date.now();
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => (now += 10));
    const order: string[] = [];
    const put = (_id: string) => db.put({ _id }).then(() => void order.push(_id));
    const early = [db.allDocs(), put('a')];
    try {
      await event(db, 'created').then(() => Promise.all([...early, put('b')]));
    } finally {
      clock.mockRestore();
    }
    expect(order).toEqual(['a', 'b']);
  });

  it('asks a server for calls in their order, those made while it opens first', async () => {
    // Code is loaded in as many steps as a platform has it: whatever their number, the later call is made between two of them.
    for (let steps = 0; steps < 40; steps++) {
      const asked: string[] = [];
      const fetch = async (url: unknown): Promise<Response> => {
        const id = new URL(String(url)).pathname.replace('/db/', '');
        asked.push(id);
        return Response.json({ ok: true, id, rev: '1-a' });
      };
      const db = new SettleDB('http://127.0.0.1:9/db', { fetch: fetch as never, skip_setup: true });
      const early = [db.put({ _id: 'a' }), db.put({ _id: 'b' })];
      for (let step = 0; step < steps; step++) await undefined;
      await Promise.all([...early, db.put({ _id: 'c' })]);
      expect(asked, `${steps} steps`).toEqual(['a', 'b', 'c']);
      await db.close();
    }
  });

  it('takes documents as they are at the call, though it opens first or asks a server', async () => {
    const sent = new Map<string, unknown>();
    const fetch = async (_url: unknown, { body }: RequestInit): Promise<Response> => {
      const text = typeof body === 'string' ? body : '{}';
      const { docs = [JSON.parse(text)] } = JSON.parse(text);
      for (const { _id, n } of docs) sent.set(_id, n);
      const rows = docs.map(({ _id: id }: { _id: string }) => ({ ok: true, id, rev: '1-a' }));
      return Response.json(text.startsWith('{"docs"') ? rows : rows[0]);
    };
    const local = new SettleDB(name(), { adapter: memory() });
    const remote = new SettleDB('http://127.0.0.1:9/db', { fetch: fetch as never, skip_setup: true });
    for (const db of [local, remote]) {
      const doc: { _id?: string | undefined; n: number } = { n: 0 };
      const writes: Promise<unknown>[] = [];
      const write = (): void => {
        for (const write of [
          () => db.put(doc as { _id: string; n: number }),
          () => db.bulkDocs([doc]),
          () => db.bulkDocs({ docs: [doc] }),
          () => db.post(doc),
        ]) {
          doc.n++;
          doc._id = `doc ${doc.n}`;
          writes.push(write());
        }
        Object.assign(doc, { _id: 'none', n: doc.n });
      };
      write();
      await Promise.all(writes);
      write();
      await Promise.all(writes);
      for (let n = 1; n <= 8; n++)
        expect(db === local ? await local.get(`doc ${n}`) : { n: sent.get(`doc ${n}`) }).toMatchObject({ n });
    }
    await Promise.all([local.close(), remote.close()]);
  });

  it('may be by defaults, which add up and give way', async () => {
    const Kept = SettleDB.defaults({ adapter: 'memory', prefix: 'my-' }).defaults({
      revs_limit: 3,
      prefix: 'our-',
    });
    const [one, two] = [new Kept('a'), new Kept({ name: 'b', prefix: 'her-' })];
    expect(one).toBeInstanceOf(SettleDB);
    expect([one.adapter, one.name, two.adapter, two.name]).toEqual(['memory', 'a', 'memory', 'b']);
    await Promise.all([one.put({ _id: 'x' }), two.put({ _id: 'y' })]);
    const stored = ['our-a', 'her-b'].map((each) => new SettleDB(each, { adapter: 'memory' }).get);
    expect([await stored[0]!('x'), await stored[1]!('y')]).toMatchObject([{ _id: 'x' }, { _id: 'y' }]);
    expect(await one.replicate.to('c')).toMatchObject({ docs_written: 1 });
    expect(await new Kept('c').get('x')).toMatchObject({ _id: 'x' });
    const unsaid = { adapter: undefined, prefix: undefined, revs_limit: undefined };
    for (const db of [new Kept('a', unsaid), new Kept({ name: 'a', ...unsaid })]) {
      expect(db.adapter).toBe('memory');
      expect([await db.info(), await db.get('x')]).toMatchObject([{ revs_limit: 3 }, { _id: 'x' }]);
    }
    for (const wrong of [undefined, null, '']) expect(() => new Kept(wrong as never)).toThrow(TypeError);
    expect(() => new Kept(new URL('http://a/b') as never)).toThrow('a name, or a URL, as text');
  });

  it('takes null for no options, and refuses a text or a list, in its defaults too', async () => {
    const Kept = SettleDB.defaults({ adapter: 'memory', revs_limit: 3 });
    for (const Class of [Kept, Kept.defaults(null as never), Kept.defaults(undefined as never)])
      expect(await new Class(name(), null as never).info()).toMatchObject({ revs_limit: 3 });
    for (const wrong of ['x', ['x']]) {
      expect(() => new Kept('a', wrong as never)).toThrow('takes its options as an object');
      expect(() => Kept.defaults(wrong as never)).toThrow('takes its options as an object');
    }
  });

  it('may name an adapter that is in the defaults as an object', async () => {
    const adapter = { ...watched(), name: 'opfs' };
    const Kept = SettleDB.defaults({ adapter }).defaults({ revs_limit: 3 });
    for (const db of [new Kept(name(), { adapter: 'opfs' }), new Kept({ name: name(), adapter: 'opfs' })])
      expect(db.adapter).toBe('opfs');
    expect(adapter.open).toHaveBeenCalledTimes(2);
    expect(() => new SettleDB('a', { adapter: 'opfs' })).toThrow('Invalid Adapter: opfs');
    expect(new Kept('a', { adapter: 'memory' }).adapter).toBe('memory');
  });

  it('answers every call with the failure to open, until it can be opened, and says nothing when nobody asks', async () => {
    const adapter = watched();
    adapter.open.mockRejectedValue(new Error('no room'));
    const silent = new SettleDB(name(), { adapter });
    await silent.close();
    const db = new SettleDB(name(), { adapter });
    await expect(db.get('a')).rejects.toThrow('no room');
    await expect(Promise.resolve(db.changes())).rejects.toThrow('no room');
    await expect(db.info()).rejects.toThrow('no room');
    adapter.open.mockReset();
    expect(await db.put({ _id: 'a' })).toMatchObject({ ok: true });
    await db.destroy();
  });

  it('leaves nothing unhandled when a feed asked for while it opens fails, whoever hears of it', async () => {
    const fresh = (options: object): ReturnType<SettleDB['changes']> =>
      new SettleDB(name(), { adapter: memory() }).changes({ since: 'bad', ...options });
    const caught: unknown[] = [];
    const hears = [
      async (feed: ReturnType<typeof fresh>) => feed.catch((error: unknown) => caught.push(error)),
      (feed: ReturnType<typeof fresh>) =>
        new Promise((done) => feed.on('error', done)).then((e) => caught.push(e)),
      async (feed: ReturnType<typeof fresh>) => {
        try {
          for await (const change of feed) expect(change).toBe('none');
        } catch (error) {
          caught.push(error);
        }
      },
    ];
    for (const hear of hears)
      for (const options of [{}, { live: true }])
        expect(await unhandledBy(() => hear(fresh(options)))).toEqual([]);
    expect(caught).toHaveLength(6);
    for (const error of caught) expect(error).toMatchObject({ status: 400 });
  });

  it('rejects a call that is aborted while it waits', async () => {
    const adapter = watched();
    adapter.open.mockReturnValue(new Promise<never>(() => {}));
    const db = new SettleDB(name(), { adapter });
    const abort = new AbortController();
    const waiting = db.put({ _id: 'a' }, { signal: abort.signal });
    abort.abort(new Error('too slow'));
    await expect(waiting).rejects.toThrow('too slow');
    const feed = db.changes({ live: true });
    feed.cancel();
    expect(await feed).toEqual({ status: 'cancelled' });
  });
});

describe('code that cannot be loaded at first', () => {
  it('is asked for again by the next query, and by the next who subscribes to a live result', async () => {
    const db = new SettleDB<{ n: number }>(name(), { adapter: memory() });
    await db.put({ _id: 'a', n: 1 });
    const offline = vi.spyOn(queryCode, 'load').mockRejectedValue(new Error('offline'));
    const find = db.live.find({ selector: { n: 1 } });
    await expect(db.find({ selector: { n: 1 } })).rejects.toThrow('offline');
    await expect(db.query((doc, emit) => emit(doc.n))).rejects.toThrow('offline');
    await expect(find[Symbol.asyncIterator]().next()).rejects.toThrow('offline');
    offline.mockRestore();
    expect((await db.query((doc, emit) => emit(doc.n))).rows).toHaveLength(1);
    for await (const { docs } of find) {
      expect(docs).toHaveLength(1);
      break;
    }
    await db.destroy();
  });
});
