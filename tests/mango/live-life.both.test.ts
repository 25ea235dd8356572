/** The life of live results: as long as somebody hears them, and nothing is left behind. */
import type { MapFunction } from '@settledb/core';
import type { LiveQuery } from '@settledb/query';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { SettleDB } from '../../packages/settledb/src/settledb';
import { uncaught } from '../support/unhandled';
import { countFeeds, docs, hear, open } from './live';

describe('the life of a live result', () => {
  it('is that of its subscribers: one feed for all, none for nobody', async () => {
    const db = open();
    await db.bulkDocs(docs);
    const feeds = countFeeds(db);
    const live = db.live.find({ selector: {} });
    expect(live.current).toBeUndefined();
    const [one, other] = [hear(live), hear(live)];
    const third = hear(db.live.allDocs());
    await vi.waitFor(() => expect(one.results.length * other.results.length * third.results.length).toBe(1));
    expect(one.last).toBe(other.last);
    expect(live.current).toBe(one.last);
    expect(feeds()).toBe(1);
    const late = hear(live);
    expect(late.last).toBe(one.last);
    for (const each of [one, other, late]) each.leave();
    expect(live.current).toBe(one.last);
    expect(feeds()).toBe(1);
    third.leave();
    third.leave();
    await vi.waitFor(() => expect(feeds()).toBe(0));
    const again = hear(live);
    await vi.waitFor(() => expect(again.results).toHaveLength(1));
    expect(again.last).toBe(one.last);
    again.leave();
    await vi.waitFor(() => expect(feeds()).toBe(0));
  });

  it('leaves nothing behind when it is left before it began', async () => {
    const db = open();
    const feeds = countFeeds(db);
    for (let n = 0; n < 20; n++) hear(db.live.find({ selector: {} })).leave();
    const live = db.live.find({ selector: {} });
    for (let n = 0; n < 20; n++) hear(live).leave();
    const probe = hear(live);
    await vi.waitFor(() => expect(probe.results).toHaveLength(1));
    expect(feeds()).toBe(1);
    probe.leave();
    await vi.waitFor(() => expect(feeds()).toBe(0));
  });

  it('can be walked, and skips what came while the loop was busy', async () => {
    const db = open();
    const seen: number[] = [];
    for await (const { docs: found } of db.live.find({ selector: {} })) {
      seen.push(found.length);
      if (found.length === 10) break;
      for (let n = 0; n < 10 && seen.length === 1; n++) {
        await db.put({ _id: `d${n}` });
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
    expect(seen[0]).toBe(0);
    expect(seen.at(-1)).toBe(10);
    expect(seen.length).toBeLessThan(8);
  });

  it('ends with its signal, with cancel, and with the handle', async () => {
    const db = open();
    const feeds = countFeeds(db);
    const abort = new AbortController();
    const ended: string[] = [];
    const watch = (name: string, live: ReturnType<SettleDB['live']['find']>): Promise<void> =>
      new Promise((resolve) => {
        live.subscribe({
          next: () => resolve(),
          complete: () => ended.push(name),
          error: () => ended.push(`${name} failed`),
        });
      });
    const cancelled = db.live.find({ selector: {} });
    await Promise.all([
      watch('signal', db.live.find({ selector: {}, signal: abort.signal })),
      watch('cancel', cancelled),
      watch('close', db.live.find({ selector: {} })),
    ]);
    const loop = (async () => {
      for await (const _ of db.live.allDocs()) ended.push('looped');
      ended.push('loop over');
    })();
    await vi.waitFor(() => expect(ended).toEqual(['looped']));
    abort.abort();
    expect(ended).toEqual(['looped', 'signal']);
    cancelled.cancel();
    await vi.waitFor(() => expect(ended).toEqual(['looped', 'signal', 'cancel']));
    await db.close();
    await loop;
    expect(ended.slice(3).sort()).toEqual(['close', 'loop over']);
    await vi.waitFor(() => expect(feeds()).toBe(0));
    // As a feed, which is then cancelled.
    await new Promise<void>((complete) =>
      db.live.find({ selector: {}, signal: abort.signal }).subscribe({ complete }),
    );
    const late = db.live.find({ selector: {} });
    await expect(new Promise((_, reject) => late.subscribe({ error: reject }))).rejects.toThrow('closed');
  });

  it.each(['close', 'destroy'] as const)('is complete when `%s` comes while it begins', async (how) => {
    const told: string[] = [];
    // At another moment of the beginning each time.
    for (let ticks = 0; ticks < 40; ticks++) {
      const db = open();
      await db.info();
      for await (const _ of db.live.allDocs()) break; // Its code is there.
      db.live.allDocs().subscribe({
        error: (error) => told.push(`after ${ticks} ticks: ${error}`),
        complete: () => told.push('complete'),
      });
      for (let i = 0; i < ticks; i++) await undefined;
      await db[how]();
    }
    await vi.waitFor(() => expect(told).toHaveLength(40));
    expect(new Set(told)).toEqual(new Set(['complete']));
  });

  it('ends when another handle destroys the database, of every kind, and a new one is of the next', async () => {
    const map: MapFunction = (doc, emit) => emit(doc._id);
    const kinds: ((db: SettleDB) => LiveQuery<unknown>)[] = [
      (db) => db.live.find({ selector: {} }),
      (db) => db.live.allDocs(),
      (db) => db.live.query(map),
    ];
    const name = `live-destroyed-${Date.now()}`;
    const [db, other] = [open(name), open(name)];
    await db.put({ _id: 'a' });
    const told: string[] = [];
    const listen = (what: string, live: LiveQuery<unknown>): void =>
      void live.subscribe({
        complete: () => told.push(what),
        error: (error) => told.push(`${what}: ${error}`),
      });
    const [heard, left, begun] = [0, 1, 2].map(() => kinds.map((make) => make(db)));
    for (const live of [...heard!, ...left!, ...begun!]) for await (const _ of live) break; // Its code is there.
    for (const live of heard!) listen('heard', live);
    for (const live of begun!) listen('begun', live);
    await other.destroy();
    for (const live of left!) listen('left', live);
    const all = ['heard', 'begun', 'left'].flatMap((what) => Array<string>(3).fill(what));
    await vi.waitFor(() => expect([...told].sort()).toEqual(all.sort()));
    const next = kinds.map((make) => hear(make(db)));
    await db.put({ _id: 'b' });
    const shown = () =>
      next.map(({ last }) =>
        JSON.stringify(last ?? null)
          .match(/"(_id|id)":"."/g)
          ?.join(),
      );
    await vi.waitFor(() => expect(shown()).toEqual(['"_id":"b"', '"id":"b"', '"id":"b"']));
    for (const { leave } of next) leave();
  });

  it('hears its signal only while somebody listens, and is over when it is aborted meanwhile', async () => {
    const db = open();
    const abort = new AbortController();
    let heard = 0;
    const { signal } = abort;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...given: never[]) => ++heard && (add as (...args: never[]) => void)(...given);
    signal.removeEventListener = (...given: never[]) =>
      heard-- && (remove as (...args: never[]) => void)(...given);
    const live = db.live.find({ selector: {}, signal });
    for (let i = 0; i < 2; i++) {
      for await (const { docs } of live) {
        expect(docs).toEqual([]);
        expect(heard).toBe(1);
        break;
      }
      await vi.waitFor(() => expect(heard).toBe(0));
    }
    abort.abort();
    for await (const _ of live) throw new Error('a result that is over answered');
    await new Promise<void>((complete) => live.subscribe({ complete }));
  });

  it('tells what is wrong with the question', async () => {
    const db = open();
    const failed = (live: ReturnType<SettleDB['live']['find']>): Promise<unknown> =>
      new Promise((resolve) => live.subscribe({ error: resolve }));
    expect(await failed(db.live.find({ selector: { a: { $in: 'a' } } }))).toMatchObject({ status: 400 });
    expect(await failed(db.live.find(undefined as never))).toMatchObject({ status: 400 });
    await expect(
      (async () => {
        for await (const _ of db.live.query('none')) break;
      })(),
    ).rejects.toMatchObject({ status: 404 });
    const feeds = countFeeds(db);
    expect(await failed(db.live.find({ selector: { a: { $nope: 1 } } }))).toBeInstanceOf(Error);
    await vi.waitFor(() => expect(feeds()).toBe(0));
  });

  it('sees a purge, by whichever handle', async () => {
    const name = `live-purge-${Date.now()}`;
    const [db, other] = [open(name), open(name)];
    await db.put({ _id: 'a', n: 1 });
    const revs = await Promise.all(['b', 'c'].map((_id) => db.put({ _id, n: 1 })));
    const map: MapFunction = (doc, emit) => emit(doc.n);
    const ids = (rows: readonly { readonly id: string }[]): string => rows.map(({ id }) => id).join();
    const found = hear(db.live.find({ selector: { n: 1 } }));
    const listed = hear(db.live.allDocs());
    const viewed = hear(db.live.query(map));
    const seen = () => [
      found.results
        .at(-1)
        ?.docs.map(({ _id }) => _id)
        .join(),
      ids((listed.results.at(-1)?.rows ?? []) as never),
      ids((viewed.results.at(-1)?.rows ?? []) as never),
    ];
    await vi.waitFor(() => expect(seen()).toEqual(['a,b,c', 'a,b,c', 'a,b,c']));
    await db.purge('b', revs[0]!.rev);
    await vi.waitFor(() => expect(seen()).toEqual(['a,c', 'a,c', 'a,c']));
    await other.purge('c', revs[1]!.rev);
    await vi.waitFor(() => expect(seen()).toEqual(['a', 'a', 'a']));
    for (const each of [found, listed, viewed]) each.leave();
  });

  it('is left at once by a loop that waits, and hears no more then', async () => {
    const db = open();
    const feeds = countFeeds(db);
    const results = db.live.allDocs()[Symbol.asyncIterator]();
    await results.next();
    const waiting = results.next();
    expect(await results.return!()).toEqual({ value: undefined, done: true });
    expect(await waiting).toEqual({ value: undefined, done: true });
    expect(await results.next()).toEqual({ value: undefined, done: true });
    await vi.waitFor(() => expect(feeds()).toBe(0));
    const unread = db.live.allDocs()[Symbol.asyncIterator]();
    const first = unread.next();
    expect(await unread.return!()).toEqual({ value: undefined, done: true });
    expect(await first).toEqual({ value: undefined, done: true });
    await vi.waitFor(() => expect(feeds()).toBe(0));
  });

  it('is an observable, and a store as frameworks know them', async () => {
    const db = open();
    const live = db.live.find({ selector: {} });
    const key = ((Symbol as { observable?: symbol }).observable ?? Symbol.for('observable')) as never;
    expect((live[key] as () => unknown)()).toBe(live);
    let heard = 0;
    const unsubscribe = live.subscribe({
      next() {
        heard++;
      },
    });
    await vi.waitFor(() => expect(heard).toBe(1));
    unsubscribe();
    await db.put({ _id: 'a' });
    await (await db.info()).update_seq;
    expect(heard).toBe(1);
  });

  it('is an observable for RxJS, whose unsubscribing ends the work', async () => {
    const db = open();
    const feeds = countFeeds(db);
    const live = db.live.find({ selector: {} }) as object;
    // As `from` of RxJS does.
    const key = (Symbol as { observable?: symbol }).observable ?? '@@observable';
    const { subscribe } = (live as Record<symbol | string, () => LiveQuery<unknown>>)[key]!();
    let heard = 0;
    const { unsubscribe } = subscribe({ next: () => heard++, error: () => {}, complete: () => {} });
    await vi.waitFor(() => expect(heard).toBe(1));
    expect(feeds()).toBe(1);
    unsubscribe();
    await vi.waitFor(() => expect(feeds()).toBe(0));
    await db.put({ _id: 'a' });
    expect(heard).toBe(1);
  });

  it('says at the call what is no observer, and takes one with any of its methods', async () => {
    const db = open();
    const live = db.live.find({ selector: {} });
    for (const none of [undefined, null, 'next', 5, true, { next: 5 }, { error: 'no' }, { complete: {} }])
      expect(() => live.subscribe(none as never)).toThrow(TypeError);
    let ends = 0;
    live.subscribe({});
    live.subscribe({ next: null, error: undefined, complete: () => ends++ } as never);
    await vi.waitFor(() => expect(live.current).toBeDefined());
    expect(() => live.subscribe(undefined as never)).toThrow('subscribe takes a function, or an observer');
    live.cancel();
    await vi.waitFor(() => expect(ends).toBe(1));
  });

  it('reports what a listener throws, and tells the others all the same', async () => {
    const live = open().live.find({ selector: {} });
    const { seen, stop } = uncaught(2);
    onTestFinished(stop);
    const thrown = [new Error('thrown by next'), new Error('thrown by complete')];
    const wrong = (at: number) => () => {
      throw thrown[at];
    };
    live.subscribe({ next: wrong(0), complete: wrong(1) });
    let ends = 0;
    const heard: unknown[] = [];
    live.subscribe({ next: (result) => heard.push(result), complete: () => ends++ });
    await vi.waitFor(() => expect(heard).toHaveLength(1));
    live.cancel();
    expect(await seen).toEqual(thrown);
    expect(ends).toBe(1);
  });

  it('tells one nothing that another has taken away, nor a result after its end', async () => {
    const db = open();
    const all = new AbortController();
    const live = db.live.find({ selector: {}, signal: all.signal });
    const told: string[] = [];
    let leave = (): void => {};
    live.subscribe({
      next({ docs: found }) {
        told.push(`first ${found.length}`);
        if (found.length === 1) leave();
        if (found.length === 2) all.abort();
      },
      complete: () => leaveLast(),
    });
    leave = live.subscribe(({ docs: found }) => told.push(`left ${found.length}`));
    live.subscribe({
      next: ({ docs: found }) => told.push(`second ${found.length}`),
      complete: () => told.push('ended'),
    });
    const leaveLast = live.subscribe({ complete: () => told.push('left ended') });
    await vi.waitFor(() => expect(told).toHaveLength(3));
    await db.put({ _id: 'a' });
    await vi.waitFor(() => expect(told).toHaveLength(5));
    await db.put({ _id: 'b' });
    await vi.waitFor(() => expect(told).toHaveLength(7));
    expect(told.slice(3)).toEqual(['first 1', 'second 1', 'first 2', 'ended']);
    live.subscribe({ complete: () => told.push('left ended') })();
    await new Promise<void>((complete) => live.subscribe({ complete }));
    expect(told).toHaveLength(7);
  });
});
