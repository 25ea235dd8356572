/** What of the local database is about its plans and its use of the store; the contract has a suite of its own. */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import {
  type Doc,
  LocalDatabase,
  type LocalOptions,
  MAX_GENERATION,
  quotaExceeded,
  schema,
} from '../../packages/core/src/index';
import type { DatabaseTables } from '../../packages/core/src/store/schema';
import type { Store } from '../../packages/core/src/store/store';
import { naiveStore } from '../support/naive-store';

type Note = { n?: number; text?: string };
const newStore = (): Store<DatabaseTables> => naiveStore<DatabaseTables>(schema, { replans: true });
const open = (store = newStore(), options: Partial<LocalOptions> = {}) =>
  LocalDatabase.open<Note>(store, { name: 'notes', adapter: 'naive', ...options });
const path = (id: string, ...hashes: string[]): Doc<Note> => ({
  _id: id,
  _rev: `${hashes.length}-${hashes.at(-1)}`,
  _revisions: { start: hashes.length, ids: [...hashes].reverse() },
  text: hashes.join(''),
});

/** A store that tells what is asked of it. */
function watched(store: Store<DatabaseTables>) {
  const queries: { from: string; keys?: readonly unknown[]; texts?: unknown }[] = [];
  let writes = 0;
  const seen = <Q extends readonly unknown[]>(all: Q): Q => {
    queries.push(...(all as unknown as typeof queries));
    return all;
  };
  const wrapped: Store<DatabaseTables> = {
    ...store,
    read: (all, options) => store.read(seen(all), options),
    readNow: (all) => store.readNow(seen(all)),
    write: (all, plan, options) => {
      writes += 1;
      return store.write(seen(all), plan, options);
    },
  };
  return { store: wrapped, queries, writes: () => writes };
}

describe('an id', () => {
  it('that is an accessor of the class is none to put: what is stored is the JSON', async () => {
    class Note {
      get _id(): string {
        return 'n1';
      }
      text = 'x';
    }
    const db = await open();
    await expect(db.put(new Note())).rejects.toMatchObject({ status: 412, name: 'missing_id' });
    const own = {
      get _id(): string {
        return 'n2';
      },
    };
    expect(await db.put(own)).toMatchObject({ id: 'n2' });
    expect(await db.put({ toJSON: () => ({ _id: 'n3' }) } as never)).toMatchObject({ id: 'n3' });
    expect((await db.allDocs()).rows.map(({ key }) => key)).toEqual(['n2', 'n3']);
  });
});

describe('a generation', () => {
  const invalid = { status: 400, message: 'Invalid rev format' };

  it('from outside is bounded, so that every revision can be named', async () => {
    const generation = fc.oneof(
      fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      fc.integer({ min: MAX_GENERATION - 3, max: MAX_GENERATION + 3 }),
    );
    await fc.assert(
      fc.asyncProperty(generation, fc.boolean(), async (start, listed) => {
        const db = await open();
        const revisions = listed ? { _revisions: { start, ids: ['a'] } } : {};
        const doc = { _id: 'a', _rev: `${start}-a`, ...revisions };
        const outcome = await db.bulkDocs([doc], { new_edits: false }).catch((error: unknown) => error);
        if (start > MAX_GENERATION) {
          expect(outcome).toMatchObject(invalid);
          await expect(db.put(doc)).rejects.toMatchObject(invalid);
          return;
        }
        const edited = await db.put({ _id: 'a', _rev: `${start}-a` }).catch((error: unknown) => error);
        if (start === MAX_GENERATION) {
          expect(edited).toMatchObject(invalid);
          expect(await db.get('a', { rev: `${start}-a` })).toMatchObject({ _id: 'a' });
        } else
          expect(await db.get('a', { rev: (edited as { rev: string }).rev })).toMatchObject({ _id: 'a' });
      }),
      { numRuns: 40 },
    );
  });

  it('that is the last of a tombstone is not followed by an edit that names none', async () => {
    const db = await open();
    const gone = { _id: 'a', _rev: `${MAX_GENERATION}-a`, _deleted: true } as never;
    await db.bulkDocs([gone], { new_edits: false });
    await expect(db.put({ _id: 'a' })).rejects.toMatchObject({ status: 409 });
  });
});

describe('writes', () => {
  it('cancel a stream of content that cannot be begun to be stored', async () => {
    const store = newStore();
    const full = { put: () => Promise.reject(quotaExceeded()) };
    const blobs = Object.assign(Object.create(store.blobs) as typeof store.blobs, full);
    const db = await open({ ...store, blobs });
    const cancelled = vi.fn();
    const data = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(600_000)),
      cancel: cancelled,
    });
    const doc = { _id: 'a', _attachments: { f: { content_type: 'x/y', data } } };
    await expect(db.put(doc as never)).rejects.toMatchObject({ name: 'quota_exceeded' });
    await vi.waitFor(() => expect(cancelled).toHaveBeenCalledTimes(1));
  });

  it('make a few commits of 500 puts at once', async () => {
    const store = newStore();
    const db = await open(store);
    const before = store.stats().commits;
    await Promise.all(Array.from({ length: 500 }, (_, i) => db.put({ _id: `d${i}`, n: i })));
    expect(store.stats().commits - before).toBeLessThanOrEqual(3);
    expect((await db.info()).doc_count).toBe(500);
  });

  it('ask for no body text and no rows of bodies when documents are edited', async () => {
    const { store, queries } = watched(newStore());
    const db = await open(store);
    const made = await db.bulkDocs([{ _id: 'a', n: 1 }, { _id: 'b' }]);
    queries.length = 0;
    await db.bulkDocs(made.map((row) => ({ _id: row.id, _rev: (row as { rev: string }).rev, n: 2 })));
    await db.put({ ...(await db.get('a')), _deleted: true });
    const asked = queries.filter(({ from, keys }) => from !== 'docs' || keys?.length === 2);
    expect(asked.every(({ from }) => from !== 'bodies')).toBe(true);
    for (const query of asked) if (query.from === 'docs') expect(query.texts).toEqual(['tip']);
  });

  it('read bodies, in a second plan, only when a losing leaf comes to win', async () => {
    const { store, writes } = watched(newStore());
    const db = await open(store);
    await db.bulkDocs([path('a', '1', 'x'), path('a', '1', 'y')], { new_edits: false });
    const before = writes();
    await db.put({ _id: 'a', _rev: '2-y', _deleted: true });
    expect(writes() - before).toBe(2);
    expect(await db.get('a')).toEqual({ _id: 'a', _rev: '2-x', text: '1x' });
    expect(await db.info()).toMatchObject({ doc_count: 1, doc_del_count: 0, update_seq: 3 });
  });

  it('do not let a conflict of one call disturb the calls beside it', async () => {
    const db = await open();
    const answers = await Promise.allSettled([
      db.put({ _id: 'a' }),
      db.put({ _id: 'a', n: 2 }),
      db.put({ _id: 'b', _rev: '1-none' }),
      db.put({ _id: 'c' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(answers[1]).toMatchObject({ reason: { name: 'conflict', status: 409, docId: 'a' } });
  });

  it('write nothing of a call with one invalid document', async () => {
    const db = await open();
    await expect(db.bulkDocs([{ _id: 'a' }, { _id: '_x' }])).rejects.toMatchObject({ status: 400 });
    await expect(db.bulkDocs([{ _id: 'a' }, { _id: 'b', _rev: 'bad' }])).rejects.toThrow(
      'Invalid rev format',
    );
    expect(await db.info()).toMatchObject({ doc_count: 0, update_seq: 0 });
  });

  it('of two handles on one store lose nothing and take no seq twice (I1, I2)', async () => {
    const op = fc.record({ handle: fc.nat(1), id: fc.constantFrom('a', 'b', 'c'), deleted: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(op, { maxLength: 30 }), async (ops) => {
        const store = newStore();
        const handles = [await open(store), await open(store)];
        // Each edits what it read; those that raced lost. Counts how many were accepted.
        const accepted = await Promise.all(
          ops.map(async ({ handle, id, deleted }) => {
            const db = handles[handle]!;
            const rev = await db.get(id).then(
              (doc) => doc._rev,
              () => undefined,
            );
            const doc = { _id: id, _deleted: deleted, ...(rev === undefined ? {} : { _rev: rev }) };
            return db.put(doc).then(
              () => 1,
              (error) => {
                expect(error.status).toBe(409);
                return 0;
              },
            );
          }),
        );
        const info = await handles[0]!.info();
        expect(info.update_seq).toBe(accepted.reduce<number>((sum, one) => sum + one, 0));
        expect(await handles[1]!.info()).toEqual(info);
        expect((await handles[0]!.allDocs()).rows).toHaveLength(info.doc_count);
        expect(await handles[0]!.id()).toBe(await handles[1]!.id());
      }),
      { numRuns: 50 },
    );
  });

  it('keep revs_limit generations and drop the bodies of what they forget', async () => {
    const store = newStore();
    const db = await open(store, { revs_limit: 3 });
    let rev: string | undefined;
    const revs: string[] = [];
    for (let n = 1; n <= 6; n++) {
      ({ rev } = await db.put({ _id: 'a', n, ...(rev === undefined ? {} : { _rev: rev }) }));
      revs.unshift(rev);
    }
    const doc = await db.get('a', { revs: true });
    expect(doc._revisions).toEqual({ start: 6, ids: revs.slice(0, 3).map((each) => each.split('-')[1]) });
    await expect(db.get('a', { rev: revs[3]! })).rejects.toMatchObject({ status: 404, reason: 'missing' });
    const [bodies] = await store.read([{ from: 'bodies', range: {} }]);
    expect(bodies.map((row) => row.rev).sort()).toEqual(revs.slice(1, 3).sort());
  });

  it('give random revisions when asked to, and the equal one otherwise', async () => {
    const [one, other] = [await open(), await open()];
    expect((await one.put({ _id: 'a', n: 1 })).rev).toBe((await other.put({ _id: 'a', n: 1 })).rev);
    const random = await open(newStore(), { deterministic_revs: false });
    const made = await random.put({ _id: 'a', n: 1 });
    expect(made.rev).toMatch(/^1-[0-9a-f]{32}$/);
    expect(made.rev).not.toBe((await one.get('a'))._rev);
    const gone = await random.put({ _id: 'a', _rev: made.rev, _deleted: true });
    expect((await random.put({ _id: 'a' })).rev).toMatch(/^3-/);
    expect(gone.rev).toMatch(/^2-/);
  });

  it('attach late ancestors without a new seq, and with one where a leaf vanishes', async () => {
    const db = await open();
    await db.bulkDocs([{ _id: 'a', _rev: '3-z' }], { new_edits: false });
    await db.bulkDocs([path('a', 'x', 'y', 'z')], { new_edits: false });
    expect((await db.get('a', { revs: true }))._revisions).toEqual({ start: 3, ids: ['z', 'y', 'x'] });
    expect((await db.info()).update_seq).toBe(1);
    await db.bulkDocs(
      [
        { _id: 'b', _rev: '1-x' },
        { _id: 'b', _rev: '2-y', _deleted: true },
      ],
      { new_edits: false },
    );
    expect((await db.info()).update_seq).toBe(3);
    expect((await db.get('b'))._rev).toBe('1-x');
    await db.bulkDocs([{ ...path('b', 'x', 'y'), _deleted: true }], { new_edits: false });
    expect(await db.info()).toMatchObject({ update_seq: 4, doc_count: 1, doc_del_count: 1 });
    await expect(db.get('b')).rejects.toMatchObject({ status: 404, reason: 'deleted' });
  });
});

describe('the body of a past revision that comes after a compaction', () => {
  const late = path('a', 'x');
  const missing = { status: 404, reason: 'missing' };
  const begun = async (store = newStore()): Promise<LocalDatabase<Note>> => {
    const db = await open(store);
    await db.bulkDocs([path('a', 'x', 'y'), { _id: 'b', _rev: '1-x' }], { new_edits: false });
    return db;
  };

  it('goes with the next one', async () => {
    const db = await begun();
    await db.compact();
    await db.bulkDocs([late], { new_edits: false });
    expect(await db.get('a', { rev: '1-x' })).toMatchObject({ text: 'x' });
    await db.compact();
    await expect(db.get('a', { rev: '1-x' })).rejects.toMatchObject(missing);
    expect(await db.get('a')).toMatchObject({ _rev: '2-y', text: 'xy' });
    expect(await db.get('_local/compaction')).toMatchObject({ last_seq: 2 });
  });

  it('goes with the one that is under way, behind which it came', async () => {
    const store = newStore();
    let listings = 0;
    const db = await begun({
      ...store,
      async read(queries, options) {
        const [query] = queries as unknown as readonly [{ readonly by?: string }];
        if (query.by === 'seq' && ++listings === 2) await db.bulkDocs([late], { new_edits: false });
        return store.read(queries, options);
      },
    });
    await db.bulkDocs(Array.from({ length: 1_500 }, (_, i) => ({ _id: `c${i}` })));
    await db.compact();
    expect(listings).toBeGreaterThan(2);
    await expect(db.get('a', { rev: '1-x' })).rejects.toMatchObject(missing);
    expect(await db.get('_local/compaction')).toMatchObject({ last_seq: 1_502 });
  });

  it('leaves alone what the same write says of compaction', async () => {
    const db = await begun();
    await db.compact();
    const { _rev } = await db.get('_local/compaction');
    const said = { _id: '_local/compaction', _rev, last_seq: 0 } as Doc<Note>;
    await db.bulkDocs([late, said], { new_edits: false });
    expect(await db.get('_local/compaction')).toMatchObject({ last_seq: 0 });
  });
});

describe('allDocs', () => {
  it('shows what sorting, filtering and slicing all documents shows', async () => {
    const key = fc.constantFrom('', 'a', 'a0', 'b', 'c', 'd5', 'zz');
    const options = fc.record(
      {
        startkey: key,
        endkey: key,
        inclusive_end: fc.boolean(),
        descending: fc.boolean(),
        skip: fc.nat(8),
        limit: fc.nat(8),
        include_docs: fc.boolean(),
        key,
      },
      { requiredKeys: [] },
    );
    const names = fc.uniqueArray(
      fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.nat(9)).map(([a, n]) => `${a}${n}`),
    );
    await fc.assert(
      fc.asyncProperty(names, names, options, async (live, gone, asked) => {
        const db = await open();
        await db.bulkDocs([
          ...live.map((_id) => ({ _id })),
          ...gone.filter((_id) => !live.includes(_id)).map((_id) => ({ _id, _deleted: true })),
        ]);
        const { startkey, endkey, inclusive_end = true, descending, skip = 0, limit } = asked;
        const [low, high] = descending ? [endkey, startkey] : [startkey, endkey];
        const kept = [...live].sort().filter((id) => {
          if (asked.key !== undefined) return id === asked.key;
          if (endkey === id) return inclusive_end && (low ?? id) <= id && id <= (high ?? id);
          return (low === undefined || id >= low) && (high === undefined || id <= high);
        });
        if (descending) kept.reverse();
        const expected = kept.slice(skip, limit === undefined ? undefined : skip + limit);
        const answer = await db.allDocs(asked);
        expect(answer.rows.map((row) => row.key)).toEqual(expected);
        expect(answer.total_rows).toBe(live.length);
        for (const row of answer.rows) expect('doc' in row).toBe(asked.include_docs === true);
      }),
      { numRuns: 150 },
    );
  });

  it('pages exactly across more deleted documents than a page has room for', async () => {
    const db = await open();
    const ids = Array.from({ length: 700 }, (_, i) => `d${String(i).padStart(4, '0')}`);
    await db.bulkDocs(ids.map((_id, i) => ({ _id, _deleted: i % 7 !== 0 || (i > 100 && i < 500) })));
    const live = ids.filter((_, i) => i % 7 === 0 && !(i > 100 && i < 500));
    for (const descending of [false, true]) {
      const seen: string[] = [];
      for (let last: string | undefined; ; last = seen.at(-1)) {
        const page = await db.allDocs({
          limit: 5,
          descending,
          ...(last === undefined ? {} : { startkey: last, skip: 1 }),
        });
        seen.push(...page.rows.map((row) => row.key));
        if (page.rows.length < 5) break;
      }
      expect(seen).toEqual(descending ? [...live].reverse() : live);
    }
  });

  it('refuses options that contradict each other or are of the wrong type', async () => {
    const db = await open();
    for (const bad of [
      { limit: -1 },
      { limit: 1.5 },
      { skip: '1' },
      { keys: 'a' },
      { keys: ['a'], key: 'a' },
      { keys: [], startkey: 'a' },
    ]) {
      await expect(db.allDocs(bad as never)).rejects.toMatchObject({ status: 400 });
    }
  });
});

describe('reads', () => {
  it('follow branches and report what is missing when they changed between two passes', async () => {
    const store = newStore();
    const writer = await open(store);
    await writer.bulkDocs([path('a', '1', 'x'), path('a', '1', 'y')], { new_edits: false });
    // Between the pass that shows the tree and the one that reads the bodies, the loser becomes the winner.
    let reads = 0;
    const racing: Store<DatabaseTables> = {
      ...store,
      readNow: () => undefined,
      read: async (queries, options) => {
        const answer = await store.read(queries, options);
        reads += 1;
        if (reads === 2) await writer.put({ _id: 'a', _rev: '2-y', _deleted: true });
        return answer;
      },
    };
    const db = await open(racing);
    reads = 1;
    const leaves = await db.get('a', { open_revs: 'all' });
    expect(leaves).toMatchObject([{ ok: { _rev: '2-x', text: '1x' } }, { ok: { _deleted: true } }]);
    expect(reads).toBeGreaterThan(2);
  });

  it('answer bulkGet entry by entry, wrong ones too', async () => {
    const db = await open();
    await db.bulkDocs([path('x', '1', 'a'), path('x', '1', 'b'), path('p', '1')], { new_edits: false });
    await db.bulkDocs([{ _id: 'gone', _deleted: true }]);
    const { results } = await db.bulkGet({
      docs: [
        { id: 'x', rev: '2-a' },
        { id: 'x' },
        { id: 'x', rev: '1-1' },
        { id: 'x', rev: 'bad' },
        { id: 'gone' },
        { id: 'no' },
        { rev: '1-1' } as never,
      ],
      revs: true,
    });
    expect(results).toMatchObject([
      { id: 'x', docs: [{ ok: { _rev: '2-a', text: '1a', _revisions: { start: 2, ids: ['a', '1'] } } }] },
      { id: 'x', docs: [{ ok: { _rev: '2-b' } }] },
      { id: 'x', docs: [{ error: { id: 'x', rev: '1-1', error: 'not_found', reason: 'missing' } }] },
      { id: 'x', docs: [{ error: { error: 'bad_request', reason: 'Invalid rev format' } }] },
      { id: 'gone', docs: [{ error: { error: 'not_found', reason: 'deleted' } }] },
      { id: 'no', docs: [{ error: { error: 'not_found', reason: 'missing' } }] },
      { docs: [{ error: { error: 'bad_request' } }] },
    ]);
    const latest = await db.bulkGet({ docs: [{ id: 'x', rev: '1-1' }], latest: true });
    expect(latest.results[0]!.docs).toMatchObject([{ ok: { _rev: '2-b' } }, { ok: { _rev: '2-a' } }]);
  });
});

describe('compact', () => {
  it('drops past bodies since the position in _local/compaction, and moves it', async () => {
    const store = newStore();
    const db = await open(store);
    const edit = async (id: string) => {
      const { rev } = await db.put({ _id: id, n: 1 });
      await db.put({ _id: id, _rev: rev, n: 2 });
      return rev;
    };
    const early = await edit('early');
    await db.put({ _id: '_local/compaction', last_seq: 2 } as Doc<Note>);
    const late = await edit('late');
    await Promise.all(Array.from({ length: 5 }, () => db.compact()));
    expect(await db.get('early', { rev: early })).toMatchObject({ n: 1 });
    await expect(db.get('late', { rev: late })).rejects.toMatchObject({ status: 404 });
    expect((await db.get('late', { revs: true }))._revisions!.ids).toHaveLength(2);
    expect(await db.get('_local/compaction')).toEqual({ _id: '_local/compaction', _rev: '0-2', last_seq: 4 });
    const before = store.stats().commits;
    await db.compact();
    expect(store.stats().commits).toBe(before);
  });

  it('takes the interval that a remote database is asked by, and refuses one that no timer keeps', async () => {
    const db = await open();
    await db.compact({ interval: 1 });
    for (const interval of [0, 1.5, 2 ** 31])
      await expect(db.compact({ interval })).rejects.toMatchObject({ status: 400, name: 'bad_request' });
  });
});

describe('purge', () => {
  it('forgets leaf by leaf, keeps the counters, and moves the document to a new seq', async () => {
    const store = newStore();
    const db = await open(store);
    await db.bulkDocs([path('a', '1', 'x'), path('a', '1', 'y'), path('a', '1', 'y', 'z')], {
      new_edits: false,
    });
    await expect(db.purge('a', '2-y')).rejects.toMatchObject({ status: 400 });
    await expect(db.purge('a', '9-q')).rejects.toMatchObject({ status: 404 });
    expect(await db.purge('a', '3-z')).toEqual({
      ok: true,
      deletedRevs: ['3-z', '2-y'],
      documentWasRemovedCompletely: false,
    });
    expect(await db.get('a', { conflicts: true })).toEqual({ _id: 'a', _rev: '2-x', text: '1x' });
    expect(await db.info()).toMatchObject({ doc_count: 1, update_seq: 4 });
    expect(await db.purge('a', '2-x')).toMatchObject({ documentWasRemovedCompletely: true });
    await expect(db.get('a')).rejects.toMatchObject({ status: 404, reason: 'missing' });
    expect(await db.info()).toMatchObject({ doc_count: 0, doc_del_count: 0, update_seq: 5 });
    const [docs, bodies] = await store.read([
      { from: 'docs', range: {} },
      { from: 'bodies', range: {} },
    ]);
    expect([...docs, ...bodies]).toEqual([]);
  });
});

describe('closing', () => {
  it('writes what was asked for before, and rejects every method after', async () => {
    const store = newStore();
    const db = await open(store);
    const put = db.put({ _id: 'a' });
    const closing = db.close();
    await expect(db.put({ _id: 'b' })).rejects.toMatchObject({ name: 'closed' });
    expect(await put).toMatchObject({ ok: true });
    await closing;
    await db.close();
    const calls = [
      () => db.info(),
      () => db.id(),
      () => db.get('a'),
      () => db.put({ _id: 'b' }),
      () => db.bulkDocs([]),
      () => db.bulkGet({ docs: [] }),
      () => db.allDocs(),
      () => db.revsDiff({}),
      () => db.compact(),
      () => db.purge('a', '1-a'),
      () => db.destroy(),
    ];
    for (const call of calls) await expect(call()).rejects.toThrow('database is closed');
  });

  it('destroys through the hook, after the store was closed', async () => {
    const store = newStore();
    const order: string[] = [];
    const closes: Store<DatabaseTables> = {
      ...store,
      close: async () => {
        order.push('close');
      },
    };
    const db = await open(closes, { onDestroy: async () => void order.push('destroy') });
    expect(await db.destroy()).toEqual({ ok: true });
    expect(order).toEqual(['close', 'destroy']);
  });

  it('aborted signals reject with their reason, and nothing is written', async () => {
    const db = await open();
    const signal = AbortSignal.abort(new Error('enough'));
    const calls = [
      () => db.info({ signal }),
      () => db.get('a', { signal }),
      () => db.put({ _id: 'b' }, { signal }),
      () => db.bulkDocs([{ _id: 'b' }], { signal }),
      () => db.bulkGet({ docs: [], signal }),
      () => db.allDocs({ signal }),
      () => db.revsDiff({}, { signal }),
      () => db.compact({ signal }),
      () => db.purge('a', '1-a', { signal }),
    ];
    for (const call of calls) await expect(call()).rejects.toThrow('enough');
    expect((await db.info()).update_seq).toBe(0);
  });
});
