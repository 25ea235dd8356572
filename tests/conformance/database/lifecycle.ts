/**
 * Opening, naming, closing and destroying, and what `info` and `id` say (contract §1). Events of the constructor and of
 * handles are no part of it: they belong to the entry for PouchDB's calling convention.
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import { changesOf, event, getDoc, idsOf, Listening, numbered, rejection } from './expectations';

export function lifecycleConformance(context: Context): void {
  describe('opening', () => opening(context));
  describe('info and id', () => infoAndId(context));
  describe('closing', () => closing(context));
  describe('destroying', () => destroying(context));
  describe('events', () => events(context));
  describe('aborting', () => aborting(context));
}

function opening(context: Context): void {
  it('has the name it was given, and its adapter as a string', async () => {
    const name = context.name();
    const db = context.open(name);
    const info = await db.info();
    expect(db.name).toBe(name);
    expect(info.db_name).toBe(name);
    expect(typeof db.adapter).toBe('string');
    expect(db.adapter).toBe(info.adapter);
  });

  it('takes calls at once and serves them in order', async () => {
    const db = context.fresh();
    const ids = numbered(10).map((index) => `doc-${9 - index}`);
    await Promise.all(ids.map((_id) => db.put({ _id })));
    expect(idsOf((await changesOf(db)).results)).toEqual(ids);
  });

  for (const name of [
    'with+plus',
    'with%2Fslash',
    'with space',
    'ünïcode-名前',
    '__proto__',
    'constructor',
  ]) {
    it(`works under the name ${name}`, async () => {
      const db = context.open(name);
      const { rev } = await db.put({ _id: 'a' });
      expect((await db.info()).db_name).toBe(name);
      await db.close();
      expect((await getDoc(context.open(name), 'a'))._rev).toBe(rev);
    });
  }

  it('keeps databases of different names apart', async () => {
    const [first, second] = [context.fresh(), context.fresh()];
    await first.put({ _id: 'a' });
    expect((await second.info()).doc_count).toBe(0);
    expect((await rejection(second.get('a'))).status).toBe(404);
  });

  it('has many handles of a name on one store', async () => {
    const name = context.name();
    // Apart, each catches up with what every other writes.
    const count = context.features.onlySeveral ? 12 : 50;
    const handles = numbered(count).map(() => context.open(name));
    await Promise.all(handles.map((db, index) => db.put({ _id: `doc-${index}` })));
    const counts = await Promise.all(handles.map(async (db) => (await db.info()).doc_count));
    expect(new Set(counts)).toEqual(new Set([count]));
  });

  context.when('callbacks', 'answers a callback as well as the promise', async () => {
    const db = context.fresh() as unknown as Record<string, (...values: unknown[]) => Promise<unknown>>;
    const told = new Promise((resolve) => {
      void db.info!((error: unknown, info: unknown) => resolve([error, info]));
    });
    expect(await told).toEqual([null, await db.info!()]);
  });

  it('has methods that work without their object', async () => {
    const db = context.fresh();
    const { get, put, allDocs, bulkDocs } = db;
    await put({ _id: 'a', value: 1 });
    await bulkDocs([{ _id: 'b' }]);
    expect(await Promise.resolve('a').then(get)).toMatchObject({ _id: 'a', value: 1 });
    expect((await allDocs()).rows).toHaveLength(2);
  });

  context.when('prefix', 'puts a prefix before the stored name and does not report it', async () => {
    const name = context.name();
    const [plain, prefixed] = [context.open(name), context.open(name, { prefix: 'prefix-' })];
    await prefixed.put({ _id: 'a' });
    expect((await prefixed.info()).db_name).toBe(name);
    expect((await prefixed.info()).doc_count).toBe(1);
    expect((await plain.info()).doc_count).toBe(0);
    expect((await context.open(`prefix-${name}`).info()).doc_count).toBe(1);
  });

  context.when('constructorChecks', 'refuses to be made without a name, at once', async () => {
    expect(() => context.open(undefined as never)).toThrow(Error);
    expect(() => context.open(null as never)).toThrow(Error);
  });

  context.when('constructorChecks', 'refuses an adapter it does not know, at once', async () => {
    expect(() => context.open(context.name(), { adapter: 'nonsense' })).toThrow('Invalid Adapter: nonsense');
  });
}

function infoAndId(context: Context): void {
  it('describes an empty database', async () => {
    const info = await context.fresh().info();
    expect(info).toMatchObject({ doc_count: 0, update_seq: 0, auto_compaction: false });
  });

  context.when('databaseOptions', 'reports auto_compaction as configured', async () => {
    expect((await context.fresh({ auto_compaction: true }).info()).auto_compaction).toBe(true);
    expect((await context.fresh({ auto_compaction: false }).info()).auto_compaction).toBe(false);
  });

  it('counts live documents: design documents too, deleted and local ones not', async () => {
    const db = context.fresh();
    await db.bulkDocs([{ _id: 'a' }, { _id: 'b' }, { _id: '_design/d' }, { _id: '_local/l' }]);
    expect((await db.info()).doc_count).toBe(3);
    await db.remove(await db.get('a'));
    expect((await db.info()).doc_count).toBe(2);
    await db.put({ _id: 'a' });
    expect((await db.info()).doc_count).toBe(3);
  });

  it('has another update_seq after every write', async () => {
    const db = context.fresh();
    const seqs = [(await db.info()).update_seq];
    const written = await db.put({ _id: 'a' });
    seqs.push((await db.info()).update_seq);
    await db.put({ _id: 'a', _rev: written.rev, value: 2 });
    seqs.push((await db.info()).update_seq);
    await db.remove(await db.get('a'));
    seqs.push((await db.info()).update_seq);
    await db.bulkDocs([{ _id: 'b' }, { _id: 'c' }]);
    seqs.push((await db.info()).update_seq);
    expect(new Set(seqs).size).toBe(5);
  });

  it('has an id of its own that all handles and later openings agree on', async () => {
    const name = context.name();
    const [first, second, other] = [context.open(name), context.open(name), context.fresh()];
    const id = await first.id();
    expect(typeof id).toBe('string');
    expect(id).not.toBe('');
    expect(await second.id()).toBe(id);
    expect(await other.id()).not.toBe(id);
    await first.put({ _id: 'a' });
    await first.close();
    await second.close();
    expect(await context.open(name).id()).toBe(id);
  });
}

function closing(context: Context): void {
  it('finds data and update_seq again after closing', async () => {
    const name = context.name();
    const db = context.open(name);
    await db.bulkDocs([{ _id: 'a', value: 1 }, { _id: 'b' }]);
    const { update_seq } = await db.info();
    await db.close();
    const again = context.open(name);
    expect(await getDoc(again, 'a')).toMatchObject({ value: 1 });
    expect((await again.info()).update_seq).toBe(update_seq);
    await again.put({ _id: 'c' });
    expect((await again.info()).doc_count).toBe(3);
  });

  it('stores what was called before close, and says plainly that it is closed after', async () => {
    const name = context.name();
    const db = context.open(name);
    const written = db.put({ _id: 'a' });
    await written;
    await db.close();
    for (const call of [() => db.info(), () => db.get('a'), () => db.allDocs(), () => db.close()]) {
      const message = await call().then(
        () => 'database is closed',
        (error: Error) => error.message,
      );
      expect(message).toBe('database is closed');
    }
    expect((await context.open(name).info()).doc_count).toBe(1);
  });

  it('settles every call under way when it closes', async () => {
    const name = context.name();
    const db = context.open(name);
    const puts = numbered(20).map((index) => db.put({ _id: `doc-${index}` }));
    const close = db.close();
    const outcomes = await Promise.allSettled(puts);
    await close;
    const written = outcomes.filter(({ status }) => status === 'fulfilled').length;
    expect((await context.open(name).info()).doc_count).toBe(written);
  });

  it('may be opened again before the close has ended', async () => {
    const name = context.name();
    const first = context.open(name);
    await first.put({ _id: 'a' });
    const closing = first.close();
    const second = context.open(name);
    const written = second.put({ _id: 'b' });
    await Promise.all([closing, written]);
    expect((await second.info()).doc_count).toBe(2);
    expect(idsOf((await changesOf(second)).results)).toEqual(['a', 'b']);
  });

  it('leaves other handles of the name open', async () => {
    const [first, second] = context.pair();
    await Promise.all([first.put({ _id: 'a' }), second.put({ _id: 'b' })]);
    await first.close();
    await second.put({ _id: 'c' });
    expect((await second.info()).doc_count).toBe(3);
  });
}

function destroying(context: Context): void {
  it('leaves an empty database, round after round', async () => {
    const name = context.name();
    for (const round of numbered(3)) {
      const db = context.open(name);
      expect(await db.info()).toMatchObject({ doc_count: 0, update_seq: 0 });
      await db.bulkDocs([{ _id: 'a', round }, { _id: '_local/b' }]);
      await db.destroy();
    }
    const again = context.open(name);
    expect((await rejection(again.get('a'))).status).toBe(404);
    expect((await rejection(again.get('_local/b'))).status).toBe(404);
  });

  it('destroys a database that never had data, and takes options', async () => {
    await context.fresh().destroy();
    await context.fresh().destroy({});
  });

  it('makes the destroyed handle reject every call', async () => {
    const db = context.fresh();
    await db.put({ _id: 'a' });
    await db.destroy();
    const calls = [db.info(), db.get('a'), db.put({ _id: 'b' }), db.allDocs(), db.changes()];
    await Promise.all(calls.map(rejection));
  });

  it('never shows the old data to another handle', async () => {
    const [first, second] = context.pair();
    await first.put({ _id: 'a' });
    await second.get('a');
    await first.destroy();
    const [read] = await Promise.allSettled([second.get('a')]);
    expect(read.status).toBe('rejected');
    const [info] = await Promise.allSettled([second.info()]);
    if (info.status === 'fulfilled') expect(info.value.doc_count).toBe(0);
    else expect(info.reason).toBeInstanceOf(Error);
  });

  it('settles every write under way on any handle, and what is written after is whole', async () => {
    const name = context.name();
    const [first, second] = [context.open(name), context.open(name)];
    await first.put({ _id: 'before' });
    const writes = numbered(40).map((index) =>
      (index % 2 ? first : second).bulkDocs([{ _id: `a-${index}` }, { _id: `b-${index}` }]),
    );
    const destroyed = first.destroy();
    const outcomes = await Promise.allSettled(writes);
    await destroyed;
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(Error);
    }
    const after = context.open(name);
    await after.put({ _id: 'after' });
    const [info, all] = [await after.info(), await after.allDocs()];
    expect(info.doc_count).toBe(all.rows.length);
    expect(all.total_rows).toBe(all.rows.length);
    expect(idsOf(all.rows)).not.toContain('before');
    expect(idsOf((await changesOf(after)).results).sort()).toEqual(idsOf(all.rows));
  });

  it('ends the live feeds of every handle', async () => {
    const [first, second] = context.pair();
    await first.put({ _id: 'a' });
    const feeds = [first, second].map((db) => new Listening(db.changes({ live: true })));
    await Promise.all(feeds.map((feed) => feed.heardOf('a')));
    await first.destroy();
    await Promise.allSettled(feeds.map(({ ended }) => ended));
  });
}

function events(context: Context): void {
  context.when('events', 'every live handle hears that its database is destroyed, once', async () => {
    const name = context.name();
    const [closed, first, second] = [context.open(name), context.open(name), context.open(name)];
    await Promise.all([closed, first, second].map((db) => db.info()));
    await closed.close();
    let told = 0;
    const heard = [first, second].map((db) => event(db, 'destroyed'));
    for (const db of [first, second]) db.on('destroyed', () => (told += 1));
    await first.destroy();
    await Promise.all(heard);
    await context.open(name).info();
    expect(told).toBe(2);
  });

  context.when('events', 'a handle tells that it is closed', async () => {
    const db = context.fresh();
    await db.info();
    const closed = event(db, 'closed');
    await db.close();
    await closed;
  });
}

function aborting(context: Context): void {
  context.when(
    'signals',
    'rejects with the reason of a signal that was aborted, and writes nothing',
    async () => {
      const db = context.fresh();
      const reason = new Error('not any more');
      const signal = AbortSignal.abort(reason);
      const calls = [
        db.put({ _id: 'a' }, { signal }),
        db.bulkDocs([{ _id: 'b' }], { signal }),
        db.get('a', { signal }),
        db.allDocs({ signal }),
      ];
      const errors = await Promise.all(calls.map(rejection));
      expect(errors.map(({ message }) => message)).toEqual(calls.map(() => 'not any more'));
      expect((await db.info()).doc_count).toBe(0);
    },
  );

  context.when('signals', 'leaves no listener on the signal of calls and feeds that have ended', async () => {
    const db = context.fresh();
    const controller = new AbortController();
    const { signal } = controller;
    const listening = new Set<unknown>();
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (type: string, listener: unknown, options?: unknown) => {
      listening.add(listener);
      add(type, listener as () => void, options as object);
    };
    signal.removeEventListener = (type: string, listener: unknown, options?: unknown) => {
      listening.delete(listener);
      remove(type, listener as () => void, options as object);
    };
    await Promise.all(numbered(20).map((index) => db.put({ _id: `doc-${index}` }, { signal })));
    await Promise.allSettled([db.put({ _id: 'doc-1' }, { signal }), db.get('missing', { signal })]);
    await Promise.all([db.changes({ signal }), db.allDocs({ signal }), db.get('doc-1', { signal })]);
    const live = new Listening(db.changes({ live: true, signal }));
    await live.heardOf('doc-19');
    live.feed.cancel();
    await live.ended;
    await db.info();
    expect(listening.size).toBe(0);
  });

  context.when('signals', 'ends a live feed when its signal is aborted', async () => {
    const db = context.fresh();
    const controller = new AbortController();
    await db.put({ _id: 'a' });
    const feed = new Listening(db.changes({ live: true, signal: controller.signal }));
    await feed.heardOf('a');
    controller.abort();
    await Promise.allSettled([feed.ended]);
  });
}
