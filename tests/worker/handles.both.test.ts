/** Handles of hosted databases: their events and names, and what is left when they, or the page's worker, are let go. */
import { memory } from '@settledb/adapter-memory';
import type { Written } from '@settledb/core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { connect } from '../../packages/settledb/src/connect';
import { contextOf } from '../../packages/settledb/src/hosting';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { hostAndPage, rejection } from './support';

describe('handles', () => {
  it('are refused what cannot cross, at once', () => {
    const { Hosted } = hostAndPage();
    expect(() => new Hosted(undefined as never)).toThrow(TypeError);
    const nonsense = { adapter: 'nonsense' as never };
    expect(() => new Hosted('a', nonsense)).toThrow(/^Invalid Adapter: nonsense$/);
    expect(() => new Hosted('a', nonsense)).toThrow(
      expect.objectContaining({ status: 400, name: 'bad_request' }),
    );
    for (const adapter of [{ name: 'own' }, memory] as never[])
      expect(() => new Hosted('a', { adapter })).toThrow(/^An adapter cannot cross/);
    expect(() => new Hosted('https://couch.example/a', { fetch: (() => {}) as never })).toThrow(
      /fetch.*cannot cross/,
    );
  });

  it('are refused options with functions deep in them, at once', () => {
    const { Hosted } = hostAndPage();
    const views = { all: { map: () => {} } };
    expect(() => new Hosted('a', { views } as never)).toThrow(/'views' cannot cross.*SettleDB\.defaults/);
  });

  it('whose database another one destroys do not take what comes next for the rest of it', async () => {
    const { Hosted } = hostAndPage();
    const open = async (): Promise<[SettleDB, SettleDB]> => {
      const [one, other] = [new Hosted('destroyed'), new Hosted('destroyed')];
      await one.putAttachment('a', 'f', null, new Uint8Array(3_000_000), 'a/b');
      await other.info();
      return [one, other];
    };
    const gone = { status: 412, name: 'closed' };
    const [one, other] = await open();
    const dump = one.dump({ gzip: false }).getReader();
    await dump.read();
    await other.destroy();
    const whole = async (): Promise<void> => {
      while (!(await dump.read()).done);
    };
    expect(await rejection(whole())).toMatchObject(gone);
    const [two, another] = await open();
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const loaded = rejection(two.load(readable));
    const writer = writable.getWriter();
    const write = (text: string): Promise<void> => writer.write(new TextEncoder().encode(text));
    await write(`{"docs":[${JSON.stringify({ _id: 'b', text: 'x'.repeat(100_000) })},`);
    await another.destroy();
    await Promise.all([write('{"_id":"c"}]}'), writer.close()]).catch(() => {});
    expect(await loaded).toMatchObject(gone);
    expect((await two.info()).doc_count).toBe(0);
    await two.close();
  });

  it('that the host cannot open can be closed all the same, as in a page', async () => {
    const { Hosted } = hostAndPage({ adapters: ['memory', 'unknown'] });
    const db = new Hosted('notes', { adapter: 'unknown' as never });
    const heard: string[] = [];
    db.on('closed', () => heard.push('closed'));
    expect(await rejection(db.info())).toMatchObject({ status: 400, name: 'bad_request' });
    await Promise.all([db.close(), db.close()]);
    expect(heard).toEqual(['closed']);
    expect(await rejection(db.info())).toMatchObject({ status: 412, name: 'closed' });
  });

  it('are refused by a host that keeps their database elsewhere than they say, and write nothing there', async () => {
    const context = contextOf(SettleDB.defaults({ adapter: memory() }));
    const open = new Set<unknown>();
    const { page } = hostAndPage(
      {},
      {},
      {
        ...context,
        open: (name, options) => {
          const opened = context.open(name, options);
          open.add(opened);
          opened.on('closed', () => open.delete(opened));
          return opened;
        },
      },
    );
    for (const adapters of [undefined, ['mine']]) {
      const db = new (page({ adapters }))('elsewhere');
      const refused = await rejection(db.put({ _id: 'a' }));
      expect(refused).toMatchObject({ status: 400, name: 'bad_request' });
      if (adapters === undefined)
        expect(refused).toMatchObject({ message: expect.stringContaining("{ adapters: ['memory'] }") });
      await db.close();
    }
    await vi.waitFor(() => expect(open.size).toBe(0));
    const db = new (page({ adapters: ['memory'] }))('elsewhere');
    expect(db.adapter).toBe('memory');
    expect(await db.info()).toMatchObject({ doc_count: 0, adapter: 'memory' });
  });

  it('of a derived class do what its methods say, in the page as in the worker', async () => {
    const stamped = (Base: typeof SettleDB) =>
      class Stamped extends Base {
        override put(doc: never, options?: never): Promise<Written> {
          return super.put({ ...(doc as object), by: 'Stamped' } as never, options);
        }
        override changes(): never {
          return super.changes({ limit: 1 }) as never;
        }
        override close(): Promise<void> {
          closed++;
          return super.close();
        }
      };
    let closed = 0;
    const { Hosted } = hostAndPage();
    const classes = [SettleDB.defaults({ adapter: memory() }), Hosted, Hosted.defaults({ revs_limit: 10 })];
    for (const [n, Base] of classes.entries()) {
      const db = new (stamped(Base as typeof SettleDB))(`stamped ${n}`);
      const { put } = db;
      for (const _id of ['a', 'b']) await put({ _id } as never);
      expect(await db.get('a')).toMatchObject({ by: 'Stamped' });
      expect((await db.changes()) as object).toMatchObject({ results: [{ id: 'a' }] });
      await db.close();
      expect(closed).toBe(n + 1);
    }
  });

  it('of a URL do not show its password', () => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('http://user:secret@127.0.0.1:9/notes');
    expect(db.name).toBe('http://127.0.0.1:9/notes');
    expect(db.adapter).toBe('http');
  });

  it('leave nothing that watches over the worker when the page lets it go', async () => {
    const running = new Set<unknown>();
    const [begin, end] = [globalThis.setInterval, globalThis.clearInterval];
    vi.stubGlobal('setInterval', (...args: Parameters<typeof begin>) => {
      const timer = begin(...args);
      running.add(timer);
      return timer;
    });
    vi.stubGlobal('clearInterval', (timer: never) => {
      running.delete(timer);
      end(timer);
    });
    onTestFinished(() => void vi.unstubAllGlobals());
    // Node (24) has locks too, but lists requests that were withdrawn until their turn comes.
    const locks = 'window' in globalThis ? navigator.locks : undefined;
    const waited = async (): Promise<number> => (await locks?.query())?.pending?.length ?? 0;
    const before = await waited();
    const { Hosted } = hostAndPage();
    const waiting = new Hosted('left').changes({ live: true });
    await new Hosted('left').info();
    expect(running.size).toBeGreaterThan(0);
    Hosted.disconnect();
    await waiting.catch(() => {});
    expect(running.size).toBe(0);
    // The host hears of it by a message, and waits for the page no more.
    await vi.waitFor(async () => expect(await waited()).toBe(before));
    // Nor where the worker never answered, or was let go before.
    const silent = (): MessagePort => {
      const { port1, port2 } = new MessageChannel();
      onTestFinished(() => port1.close());
      return port2;
    };
    const Unheard = connect(silent(), { timeout_ms: 40 });
    expect(await rejection(new Unheard('left').info())).toMatchObject({ name: 'worker_terminated' });
    Unheard.disconnect();
    const Early = connect(silent());
    const early = rejection(new Early('left').info());
    await vi.waitFor(() => expect(running.size).toBe(1));
    Early.disconnect();
    expect(await early).toMatchObject({ name: 'worker_terminated' });
    await vi.waitFor(() => expect(running.size).toBe(0));
    expect(await waited()).toBe(before);
  });

  it('that destroyed their database tell that they are closed, once, when they are, as in a page', async () => {
    const here = new SettleDB('notes', { adapter: memory() });
    for (const db of [here, new (hostAndPage().Hosted)('notes')]) {
      const heard: string[] = [];
      for (const event of ['destroyed', 'closed'] as const) db.on(event, () => heard.push(event));
      await db.destroy();
      expect(heard).toEqual(['destroyed']);
      await Promise.all([db.close(), db.close()]);
      expect(heard).toEqual(['destroyed', 'closed']);
    }
  });

  it('that are closed while they destroy their database tell it once, and so do those closed by themselves', async () => {
    let destroyed!: () => void;
    const open = () => {
      let tell = (): void => {};
      const gone = new Promise<void>((resolve) => {
        destroyed = resolve;
      });
      return {
        on: (event: string, listener: () => void) => {
          if (event === 'closed') tell = listener;
        },
        destroy: () => gone,
        close: async () => {
          await gone;
          // In a message of its own.
          await new Promise((resolve) => setTimeout(resolve));
          tell();
        },
      };
    };
    const db = new (hostAndPage({}, {}, open as never).Hosted)('notes');
    const closed = vi.fn();
    db.on('closed', closed);
    const ends = [db.destroy(), db.close()];
    await vi.waitFor(() => expect(destroyed).toBeDefined());
    destroyed();
    await Promise.all(ends);
    expect(closed).toHaveBeenCalledOnce();
    const other = new (hostAndPage().Hosted)('notes');
    other.on('closed', closed);
    await other.info();
    await other.close();
    expect(closed).toHaveBeenCalledTimes(2);
  });

  it('that are being closed refuse feeds and replications as they refuse calls', async () => {
    const here = new SettleDB('notes', { adapter: memory() });
    for (const db of [here, new (hostAndPage().Hosted)('notes')]) {
      await db.info();
      const closing = db.close();
      const asked: PromiseLike<unknown>[] = [
        db.changes(),
        db.changes({ live: true }),
        db.replicate.to('other'),
        db.sync('other', { live: true }),
      ];
      for (const feed of asked) expect(await rejection(feed)).toMatchObject({ name: 'closed' });
      await closing;
    }
  });

  it('tell of what happens to their database, in every page', async () => {
    const { Hosted, page } = hostAndPage();
    const [mine, other] = [new Hosted('notes'), new (page())('notes')];
    const heard: string[] = [];
    for (const [who, db] of [
      ['mine', mine],
      ['other', other],
    ] as const) {
      for (const event of ['created', 'destroyed', 'closed'] as const)
        db.on(event, () => heard.push(`${who} ${event}`));
    }
    await Promise.all([mine.put({ _id: 'a' }), other.info()]);
    await mine.destroy();
    await vi.waitFor(() => expect(heard).toContain('other destroyed'));
    expect((await other.info()).doc_count).toBe(0);
    await other.close();
    await expect(other.info()).rejects.toThrow('database is closed');
    expect(heard.sort()).toEqual([
      'mine created',
      'mine destroyed',
      'other closed',
      'other created',
      'other destroyed',
    ]);
  });
});
