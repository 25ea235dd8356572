/** Writes of the local database: their plans, their revisions, and how they use the store. The contract has a suite of its own. */
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { hash128, MAX_GENERATION, quotaExceeded, useHash } from '../../packages/core/src/index';
import { nextRev } from '../../packages/core/src/model/next-rev';
import type { DatabaseTables } from '../../packages/core/src/store/schema';
import type { Store } from '../../packages/core/src/store/store';
import { newStore, open, path } from './local';

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

describe('an edit that is forced again and again', () => {
  it.each([
    1, 1000,
  ])('makes a branch each time, for which no more revisions are tried the more there are, with revs_limit %i', async (limit) => {
    const db = await open(newStore(), { revs_limit: limit });
    const { rev: parent } = await db.put({ _id: 'a' });
    const forced = { _id: 'a', _rev: parent, n: 1 };
    const hash = hash128;
    let hashes = 0;
    onTestFinished(() => useHash(hash));
    useHash((...given) => {
      hashes += 1;
      return hash(...given);
    });
    const many = await db.bulkDocs(new Array(200).fill(forced), { force: true });
    const rows = [...many, await db.put(forced, { force: true }), await db.put(forced, { force: true })];
    // Each is hashed as it is taken, and each plan is made twice.
    expect(hashes).toBeLessThan(4 * rows.length);
    const revs = rows.map((row) => ('rev' in row ? row.rev : undefined));
    expect(revs[0]).toBe(nextRev('a', parent, false, '{"n":1}'));
    expect(new Set(revs).size).toBe(rows.length);
    const leaves = await db.get('a', { open_revs: 'all' });
    expect(leaves.map((row) => 'ok' in row && row.ok._rev).sort()).toEqual(revs.sort());
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
