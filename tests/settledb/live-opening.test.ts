/** Live results of a database that is still opening, which may take long: they can be ended at once. */
import { memory } from '@settledb/adapter-memory';
import type { Adapter } from '@settledb/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { gate, name } from './handles';

// biome-ignore lint/suspicious/noExplicitAny: three kinds of results, one test
type Any = any;

const KINDS: Record<string, (db: SettleDB, signal?: AbortSignal) => Any> = {
  find: (db, signal) => db.live.find({ selector: {}, signal } as Any),
  query: (db, signal) => db.live.query((doc: Any, emit: Any) => emit(doc._id), { signal }),
  allDocs: (db, signal) => db.live.allDocs({ signal }),
};

/** A handle whose database is not opened before `go`. */
function opening() {
  const { promise, go } = gate();
  const inner = memory();
  const adapter: Adapter = {
    ...inner,
    open: async (location, options) => {
      await promise;
      return inner.open(location, options);
    },
  };
  const db = new SettleDB(name(), { adapter });
  onTestFinished(async () => {
    go();
    await db.close();
  });
  return { db, go };
}

const completed = (live: Any): Promise<string> =>
  new Promise((resolve) =>
    live.subscribe({ next: () => resolve('next'), error: resolve, complete: () => resolve('complete') }),
  );

describe.each(Object.entries(KINDS))('a live %s of a database that opens', (_, make) => {
  it('ends with its signal', async () => {
    const { db, go } = opening();
    const controller = new AbortController();
    const live = make(db, controller.signal);
    const [first, second] = [completed(live), completed(live)];
    const results = live[Symbol.asyncIterator]();
    const next = results.next();
    await Promise.resolve();
    controller.abort();
    expect(await Promise.all([first, second, next])).toEqual([
      'complete',
      'complete',
      { value: undefined, done: true },
    ]);
    expect(await completed(live)).toBe('complete');
    go();
    await db.info();
    expect(await completed(live)).toBe('complete');
    expect(live.current).toBeUndefined();
  });

  it('ends when it is cancelled, before or after somebody subscribed', async () => {
    const { db } = opening();
    const [heard, unheard] = [make(db), make(db)];
    const end = completed(heard);
    heard.cancel();
    unheard.cancel();
    expect(await end).toBe('complete');
    expect(await completed(unheard)).toBe('complete');
    for await (const _ of unheard) expect.unreachable();
  });

  it('does not begin with a signal that was aborted before', async () => {
    const { db } = opening();
    expect(await completed(make(db, AbortSignal.abort()))).toBe('complete');
  });

  it('begins when the database is open, if its signal is not aborted', async () => {
    const { db, go } = opening();
    const controller = new AbortController();
    const live = make(db, controller.signal);
    const first = completed(live);
    go();
    expect(await first).toBe('next');
    const end = new Promise<void>((resolve) => live.subscribe({ complete: resolve }));
    controller.abort();
    await end;
  });
});
