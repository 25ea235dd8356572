/** Checkpoint and compaction while something else happens: writes that keep references, other contexts, failing storage. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, type DocRow, ioError, type Store, schema, type Text } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { type Hooks, hooked } from '../support/hooked-adapter';

type TestStore = Store<DatabaseTables>;

const long = (letter: string): string => JSON.stringify(letter.repeat(1000));
const short = JSON.stringify('short');

async function setUp(hooks: Hooks = {}) {
  const world = memory();
  const adapter = hooked(world, hooks);
  const open = async (): Promise<TestStore> =>
    openLogStore<DatabaseTables>(await adapter.open('db'), schema, { checkpoint: false, textCacheLength: 0 });
  return { world, open, store: await open(), hooks };
}

const put = (store: TestStore, ...rows: DocRow[]): Promise<number> =>
  store.write([], () => ({ writes: [{ into: 'docs', put: rows }], value: 0 }));

const doc = (id: string, seq: number, body: Text): DocRow => ({ id, seq, rev: `${seq}-x`, body });

/** The row again with a new seq and the body it had, by reference. */
const touch = (store: TestStore, id: string, seq: number): Promise<number> =>
  store.write([{ from: 'docs', keys: [id] }], ([[row]]) => ({
    writes: [{ into: 'docs', put: [{ ...(row as DocRow), seq }] }],
    value: 0,
  }));

const bodies = async (store: TestStore): Promise<[string, unknown][]> => {
  const [rows] = await store.read([{ from: 'docs', range: {}, texts: true }]);
  return rows.map((row) => [row.id, row.body]);
};

/** Runs `work` once, before the first block of the next rewrite is put: after its snapshot, before it is installed. */
function during(hooks: Hooks, work: () => Promise<unknown>): void {
  hooks.before = async ({ kind }) => {
    if (kind !== 'rewrite') return;
    hooks.before = undefined;
    await work();
  };
}

describe('rewriting', () => {
  it('keeps a text whose row kept it, by reference, during two compactions, beside one that was freed', async () => {
    const { store, open, hooks } = await setUp();
    await put(store, doc('a', 1, long('a')), doc('b', 2, short));
    during(hooks, async () => {
      await put(store, doc('a', 3, long('A')));
      await touch(store, 'b', 4);
    });
    await store.compact();
    during(hooks, () => touch(store, 'b', 5));
    await store.compact();
    const expected = [
      ['a', long('A')],
      ['b', short],
    ];
    expect(await bodies(store)).toEqual(expected);
    expect(await bodies(await open())).toEqual(expected);
  });

  it('keeps the text of a row that a plan put back as it found it meanwhile, also for other contexts', async () => {
    const { store, open, hooks } = await setUp();
    const other = await open();
    await put(store, doc('a', 1, long('a')));
    during(hooks, () =>
      store.write([{ from: 'docs', keys: ['a'] }], ([[row]]) => ({
        writes: [{ into: 'docs', put: [row as DocRow] }],
        value: 0,
      })),
    );
    await store.compact();
    for (const each of [store, other, await open()]) expect(await bodies(each)).toEqual([['a', long('a')]]);
  });

  it('counts live and dead texts the same in memory and after reopening, whatever was written meanwhile', async () => {
    const { store, open, hooks } = await setUp();
    await put(store, doc('a', 1, long('a')), doc('b', 2, short), doc('c', 3, long('c')));
    during(hooks, async () => {
      await put(store, doc('a', 4, long('A')));
      await touch(store, 'b', 5);
      await touch(store, 'c', 6);
      await put(store, doc('c', 7, short));
    });
    await store.compact();
    const { liveTextLength, deadTextLength } = store.stats();
    expect(liveTextLength).toBe(long('A').length + 2 * short.length);
    expect((await open()).stats()).toMatchObject({ liveTextLength, deadTextLength });
  });

  it('tells watchers of a commit that it learnt of while installing', async () => {
    const { store, world, hooks } = await setUp({ deaf: true });
    const other = await openLogStore<DatabaseTables>(await world.open('db'), schema, { checkpoint: false });
    await put(store, doc('a', 1, short));
    const heard: number[] = [];
    hooks.before = async (step) => {
      if (step.kind !== 'rewrite' || step.change.manifest === undefined) return;
      hooks.before = undefined;
      // Installing meets the other's commit before the hint of it is looked into.
      store.watch(() => heard.push(store.stats().commits));
      await put(other, doc('b', 2, short));
    };
    await store.compact();
    await store.read([]);
    expect(heard).toContain(2);
    expect((await bodies(store)).map(([id]) => id)).toEqual(['a', 'b']);
  });

  it('knows the other rewrite that overtook its own, although no other context is left', async () => {
    const { store, world, hooks } = await setUp();
    await put(store, doc('a', 1, short));
    during(hooks, async () => {
      // Another rewriter, as if the lock between them had failed.
      const journal = await world.open('db');
      const bold = {
        ...journalOf(journal),
        exclusively: async (work: () => Promise<void>) => {
          await work();
          return true;
        },
      };
      const other = await openLogStore<DatabaseTables>(bold, schema, { checkpoint: false });
      await put(other, doc('b', 2, short));
      await other.compact();
      await other.close();
    });
    await store.compact();
    expect((await bodies(store)).map(([id]) => id)).toEqual(['a', 'b']);
  });

  it('begins again where another context made room by dropping what died meanwhile, as it may without locks', async () => {
    const { store, world, open, hooks } = await setUp();
    const rows = Array.from({ length: 50 }, (_, i) => doc(`b${i}`, i + 1, long('b')));
    await put(store, ...rows);
    await store.compact();
    // Most of the block is dead, so what is left is moved.
    await put(store, ...rows.slice(5).map(({ id }, i) => doc(id, 51 + i, short)));
    const journal = await world.open('db');
    const other = await openLogStore<DatabaseTables>(await world.open('db'), schema, { checkpoint: false });
    hooks.before = async (step) => {
      if (step.kind !== 'load') return;
      hooks.before = undefined;
      await put(other, ...rows.slice(0, 5).map(({ id }, i) => doc(id, 96 + i, short)));
      const { epoch, commits } = await journal.read();
      await journal.rewrite({ drop: step.ids }, { epoch, n: commits.at(-1)!.n });
    };
    await store.compact();
    expect(hooks.before).toBeUndefined();
    expect(new Set((await bodies(await open())).map(([, body]) => body))).toEqual(new Set([short]));
  });

  it('takes no text of a commit for a leftover that another context made just before it listed the blocks', async () => {
    const { store, world, open, hooks } = await setUp({ deaf: true });
    const other = await openLogStore<DatabaseTables>(await world.open('db'), schema, { checkpoint: false });
    await put(store, doc('a', 1, long('a')));
    // So many that they lie in blocks of their own.
    const rows = Array.from({ length: 50 }, (_, i) => doc(`b${i}`, i + 2, long('b')));
    hooks.before = async ({ kind }) => {
      if (kind !== 'blockIds') return;
      hooks.before = undefined;
      await put(other, ...rows);
    };
    await store.compact();
    const kept = (await bodies(await open())).map(([, body]) => body);
    expect(kept).toEqual([long('a'), ...rows.map(({ body }) => body)]);
  });

  it('leaves no blocks behind when it fails, and everything as it was', async () => {
    const { store, world, hooks } = await setUp();
    for (let i = 0; i < 10; i++) await put(store, doc(`d${i}`, i + 1, long('x')));
    const journal = await world.open('db');
    const before = (await journal.blockIds()).sort();
    hooks.before = (step) => {
      if (step.kind === 'rewrite' && step.change.manifest !== undefined) throw ioError('the disk is full');
    };
    await expect(store.compact()).rejects.toMatchObject({ reason: 'the disk is full' });
    expect((await journal.blockIds()).sort()).toEqual(before);
    hooks.before = undefined;
    expect((await bodies(store)).length).toBe(10);
    await store.compact();
    expect((await bodies(store)).length).toBe(10);
  });

  it('drops nothing when the manifest was installed but that could not be told', async () => {
    const { store, open, hooks } = await setUp();
    for (let i = 0; i < 10; i++) await put(store, doc(`d${i}`, i + 1, long('x')));
    hooks.after = (step) => {
      if (step.kind === 'rewrite' && step.change.manifest !== undefined) throw ioError('lost');
    };
    await expect(store.compact()).rejects.toMatchObject({ reason: 'lost' });
    hooks.after = undefined;
    expect((await bodies(await open())).length).toBe(10);
    expect((await bodies(store)).length).toBe(10);
  });

  it('rejects a compaction that closing broke off with `closed`', async () => {
    const { store, hooks } = await setUp();
    const rows = Array.from({ length: 5000 }, (_, i) => doc(`d${i}`, i + 1, short));
    await put(store, ...rows);
    let closing: Promise<void> | undefined;
    during(hooks, async () => {
      closing = store.close();
    });
    await expect(store.compact()).rejects.toMatchObject({ name: 'closed' });
    await closing;
  });

  it('compacts after the rewrite of another context, when it was asked meanwhile', async () => {
    const { store, open, hooks } = await setUp();
    await put(store, doc('a', 1, long('a')), doc('b', 2, short));
    const other = await open();
    let second: Promise<void> | undefined;
    during(hooks, async () => {
      second = other.compact();
      await put(store, doc('a', 3, short));
    });
    let installed = 0;
    hooks.after = (step) => {
      if (step.kind === 'rewrite' && step.change.manifest !== undefined) installed++;
    };
    await store.compact();
    await second;
    expect(installed).toBe(2);
    expect(await bodies(await open())).toEqual([
      ['a', short],
      ['b', short],
    ]);
  });

  it('is aborted, or ends with its store, while another context rewrites', async () => {
    const { store, open, hooks } = await setUp();
    await put(store, doc('a', 1, short));
    const [aborted, ended] = [await open(), await open()];
    during(hooks, async () => {
      const controller = new AbortController();
      const compactions = [aborted.compact({ signal: controller.signal }), ended.compact()];
      const outcomes = Promise.allSettled(compactions);
      await put(store, doc('b', 2, short));
      controller.abort(new Error('enough'));
      await ended.close();
      expect(await outcomes).toMatchObject([
        { reason: { message: 'enough' } },
        { reason: { name: 'closed' } },
      ]);
    });
    await store.compact();
    expect(await bodies(await open())).toHaveLength(2);
  });
});

const journalOf = (journal: Awaited<ReturnType<ReturnType<typeof memory>['open']>>) => ({
  blobs: journal.blobs,
  shared: journal.shared,
  alone: () => journal.alone(),
  read: journal.read.bind(journal),
  append: journal.append.bind(journal),
  rewrite: journal.rewrite.bind(journal),
  load: journal.load.bind(journal),
  blockIds: journal.blockIds.bind(journal),
  listen: journal.listen.bind(journal),
  close: () => journal.close(),
});
