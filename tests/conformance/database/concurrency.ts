/**
 * Several handles on one database at once. Held to the invariants: I1 (`doc_count` is the number of live documents), I2 (no seq
 * twice, rising), I9 (a read that begins after an acknowledged write, on whatever handle, sees it).
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import {
  CONFLICT,
  changesOf,
  generation,
  getDoc,
  idsOf,
  Listening,
  newSeeds,
  numbered,
  seeded,
} from './expectations';
import type { TestDatabase } from './types';

const CONCURRENT_PUTS = 500;

export function concurrencyConformance(context: Context): void {
  describe('on one id', () => oneId(context));
  describe('on many ids', () => manyIds(context));
  describe('between handles', () => between(context));
  describe('random mixtures', () => mixtures(context));
}

/** Asserts I1 and I2 on a database at rest, through this handle. */
async function consistent(db: TestDatabase): Promise<void> {
  const [info, all, changes] = [
    await db.info(),
    await db.allDocs({ include_docs: true }),
    await changesOf(db),
  ];
  expect(info.doc_count).toBe(all.rows.length);
  expect(all.total_rows).toBe(all.rows.length);
  for (const { id, value, doc } of all.rows) expect(doc).toMatchObject({ _id: id, _rev: value!.rev });
  const living = changes.results.filter(({ deleted }) => deleted !== true);
  expect(idsOf(living).sort()).toEqual(idsOf(all.rows));
  const seqs = changes.results.map(({ seq }) => Number.parseInt(String(seq), 10));
  for (const [index, seq] of seqs.entries()) if (index > 0) expect(seq).toBeGreaterThan(seqs[index - 1]!);
  expect(changes.last_seq).toBe(info.update_seq);
}

type Outcome = 'written' | 'conflict';

async function outcomeOf(write: Promise<unknown>): Promise<Outcome> {
  return write.then(
    () => 'written' as const,
    (error: unknown) => {
      expect(error).toMatchObject(CONFLICT);
      return 'conflict' as const;
    },
  );
}

function oneId(context: Context): void {
  it('two handles writing a new document give exactly one conflict', async () => {
    const [first, second] = context.pair();
    const rows = (
      await Promise.all([
        first.bulkDocs([{ _id: 'a', from: 'first' }]),
        second.bulkDocs([{ _id: 'a', from: 'second' }]),
      ])
    ).flat();
    expect(rows.filter(({ status }) => status === 409)).toHaveLength(1);
    const [written] = rows.filter(({ ok }) => ok);
    for (const db of [first, second]) {
      expect(await getDoc(db, 'a', { conflicts: true })).toEqual({
        _id: 'a',
        _rev: written!.rev,
        from: expect.any(String),
      });
      await consistent(db);
    }
  });

  it('identical content does not make two writers of one', async () => {
    const [first, second] = context.pair();
    const outcomes = await Promise.all(
      [first, second].map((db) => outcomeOf(db.put({ _id: 'a', same: true }))),
    );
    expect(outcomes.sort()).toEqual(['conflict', 'written']);
  });

  it('of 100 updates of one revision exactly one is accepted', async () => {
    const [first, second] = context.pair();
    const { rev } = await first.put({ _id: 'a' });
    const updates = numbered(100).map((value) =>
      outcomeOf((value % 2 === 0 ? first : second).put({ _id: 'a', _rev: rev, value })),
    );
    const outcomes = await Promise.all(updates);
    expect(outcomes.filter((outcome) => outcome === 'written')).toHaveLength(1);
    const read = await getDoc(first, 'a', { conflicts: true });
    expect(outcomes[read.value as number]).toBe('written');
    expect(generation(read._rev)).toBe(2);
    expect(read).not.toHaveProperty('_conflicts');
  });

  it('no increment is lost by writers who retry on conflict', async () => {
    const handles = context.pair();
    await handles[0].put({ _id: 'counter', value: 0 });
    const increment = async (db: TestDatabase): Promise<void> => {
      for (;;) {
        const doc = await getDoc(db, 'counter');
        const outcome = await outcomeOf(db.put({ ...doc, value: (doc.value as number) + 1 }));
        if (outcome === 'written') return;
      }
    };
    await Promise.all(numbered(30).map((index) => increment(handles[index % 2]!)));
    const read = await getDoc(handles[0], 'counter');
    expect(read.value).toBe(30);
    expect(generation(read._rev)).toBe(31);
  });

  it('a write and a deletion of one revision: one of them', async () => {
    const [first, second] = context.pair();
    const { rev } = await first.put({ _id: 'a' });
    const outcomes = await Promise.all([
      outcomeOf(first.put({ _id: 'a', _rev: rev, value: 2 })),
      outcomeOf(second.remove('a', rev)),
    ]);
    expect([...outcomes].sort()).toEqual(['conflict', 'written']);
    expect((await first.info()).doc_count).toBe(outcomes[0] === 'written' ? 1 : 0);
    await consistent(second);
  });
}

function manyIds(context: Context): void {
  it(`takes ${CONCURRENT_PUTS} puts at once`, async () => {
    const db = context.fresh();
    const written = await Promise.all(
      numbered(CONCURRENT_PUTS).map((index) => db.put({ _id: `doc-${index}` })),
    );
    expect(new Set(idsOf(written)).size).toBe(CONCURRENT_PUTS);
    expect((await db.info()).doc_count).toBe(CONCURRENT_PUTS);
    await consistent(db);
  });

  it(`takes ${CONCURRENT_PUTS} puts at once through two handles, each heard of once`, async () => {
    const [first, second] = context.pair();
    const live = new Listening(first.changes({ live: true }));
    await Promise.all(
      numbered(CONCURRENT_PUTS).map((index) => (index % 2 ? first : second).put({ _id: `doc-${index}` })),
    );
    await live.until((changes) => changes.length >= CONCURRENT_PUTS);
    await second.put({ _id: 'last' });
    await live.heardOf('last');
    expect(live.changes).toHaveLength(CONCURRENT_PUTS + 1);
    expect(new Set(live.changes.map(({ seq }) => seq)).size).toBe(CONCURRENT_PUTS + 1);
    live.feed.cancel();
    for (const db of [first, second]) await consistent(db);
  });

  it('answers a failing put among many to its caller alone', async () => {
    const db = context.fresh();
    await db.put({ _id: 'doc-7' });
    const outcomes = await Promise.all(
      numbered(50).map((index) => outcomeOf(db.put({ _id: `doc-${index}` }))),
    );
    expect(outcomes.flatMap((outcome, index) => (outcome === 'conflict' ? [index] : []))).toEqual([7]);
    expect((await db.info()).doc_count).toBe(50);
  });

  it('reads whole states while it writes: counts and rows always agree', async () => {
    const [writer, reader] = context.pair();
    const writing = Promise.all(
      numbered(20).map((batch) =>
        writer.bulkDocs(numbered(10).map((index) => ({ _id: `doc-${batch}-${index}`, batch }))),
      ),
    );
    for (let rows = 0; rows < 200; ) {
      const answer = await reader.allDocs({ include_docs: true });
      rows = answer.rows.length;
      expect(answer.total_rows).toBe(rows);
      // One call of bulkDocs is one commit: all of its documents or none.
      expect(rows % 10).toBe(0);
    }
    await writing;
  });
}

function between(context: Context): void {
  it('a read after an acknowledged write on the other handle sees it', async () => {
    const handles = context.pair();
    for (const round of numbered(20)) {
      const [writer, reader] = [handles[round % 2]!, handles[(round + 1) % 2]!];
      const { rev } = await writer.put({ _id: `doc-${round}`, round });
      const [doc, all, info, changes, diff] = await Promise.all([
        getDoc(reader, `doc-${round}`),
        reader.allDocs({ key: `doc-${round}` }),
        reader.info(),
        changesOf(reader),
        reader.revsDiff({ [`doc-${round}`]: [rev] }),
      ]);
      expect(doc).toEqual({ _id: `doc-${round}`, _rev: rev, round });
      expect(all).toMatchObject({ total_rows: round + 1, rows: [{ value: { rev } }] });
      expect(info.doc_count).toBe(round + 1);
      expect(changes.results.at(-1)).toMatchObject({ id: `doc-${round}`, changes: [{ rev }] });
      expect(Object.keys(diff)).toEqual([]);
    }
  });

  it('updates and deletions pass from hand to hand', async () => {
    const handles = context.pair();
    let { rev } = await handles[0].put({ _id: 'a', round: 0 });
    for (const round of numbered(20).slice(1)) {
      const db = handles[round % 2]!;
      expect((await getDoc(db, 'a')).round).toBe(round - 1);
      ({ rev } = await db.put({ _id: 'a', _rev: rev, round }));
    }
    await handles[1].remove('a', rev);
    await expect(handles[0].get('a')).rejects.toMatchObject({ status: 404, reason: 'deleted' });
  });

  it('local documents and compaction are seen by the other handle', async () => {
    const [first, second] = context.pair();
    const { rev } = await first.put({ _id: '_local/l', value: 1 });
    expect(await getDoc(second, '_local/l')).toMatchObject({ value: 1, _rev: rev });
    const one = await first.put({ _id: 'a', value: 1 });
    await first.put({ _id: 'a', _rev: one.rev, value: 2 });
    expect(await getDoc(second, 'a', { rev: one.rev })).toMatchObject({ value: 1 });
    await first.compact();
    await expect(second.get('a', { rev: one.rev })).rejects.toMatchObject({ status: 404 });
    expect(await getDoc(second, 'a')).toMatchObject({ value: 2 });
  });
}

function mixtures(context: Context): void {
  const [seed, another] = newSeeds(2) as [number, number];
  it(`keep counts and seqs right on three handles, and each hears of all (seed ${seed})`, () =>
    mixture(context, seeded(seed)));

  context.when('databaseOptions', `do so with auto_compaction and a small revs_limit (seed ${another})`, () =>
    mixture(context, seeded(another), { auto_compaction: true, revs_limit: 3 }),
  );
}

async function mixture(context: Context, random: () => number, options?: object): Promise<void> {
  const name = context.name();
  const handles = numbered(3).map(() => context.open(name, options));
  const feeds = handles.map((db) => new Listening(db.changes({ live: true })));
  for (const _round of numbered(8)) {
    const calls = numbered(30).map(() => randomCall(handles[Math.floor(random() * 3)]!, random));
    for (const call of await Promise.allSettled(calls)) expectRefusal(call);
    for (const db of handles) await consistent(db);
  }
  await handles[0]!.put({ _id: 'last' });
  await Promise.all(feeds.map((feed) => feed.heardOf('last')));
  const { results } = await changesOf(handles[1]!);
  const expected = results.map(({ id, changes }) => [id, changes[0]!.rev]).sort();
  for (const { changes, feed, ended } of feeds) {
    const seqs = changes.map(({ seq }) => Number.parseInt(String(seq), 10));
    expect(seqs).toEqual([...new Set(seqs)].sort((one, other) => one - other));
    const lastTold = new Map(changes.map((change) => [change.id, change.changes[0]!.rev]));
    expect([...lastTold].sort()).toEqual(expected);
    feed.cancel();
    await ended;
  }
  await Promise.all(handles.map((db) => db.close()));
  await consistent(context.open(name, options));
}

/** Refusals of random calls may only be conflicts, or not-founds of what was deleted. */
function expectRefusal(call: PromiseSettledResult<unknown>): void {
  if (call.status === 'rejected') expect([404, 409]).toContain((call.reason as { status?: number }).status);
}

/** One random write on one of twenty documents. */
async function randomCall(db: TestDatabase, random: () => number): Promise<unknown> {
  const id = `doc-${Math.floor(random() * 20)}`;
  const [kind, value, hash] = [random(), random(), Math.floor(random() * 4)];
  if (kind < 0.3) return db.put({ _id: id, value });
  if (kind < 0.5) return db.put({ ...(await getDoc(db, id)), value });
  if (kind < 0.65) return db.remove(await db.get(id));
  if (kind < 0.8) {
    const body = hash === 0 ? { _deleted: true } : {};
    return db.bulkDocs([{ _id: id, _rev: `${hash + 1}-h${hash}`, ...body }], { new_edits: false });
  }
  if (kind < 0.9) return db.bulkDocs([{ _id: id, value }, { value }, { _id: `${id}x`, value }]);
  if (kind < 0.95) return db.compact();
  return db.put({ _id: `_local/${id}`, value });
}
