/**
 * Indexes that follow a few changes within the turn in which they are asked: after any edits, in lots that are small enough for that and
 * larger ones, every index answers what mapping the documents gives, and says how far it is.
 */
import { memory } from '@settledb/adapter-memory';
import fc from 'fast-check';
import { expect, it, onTestFinished, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';

type Doc = { _id: string; n: number; tags?: string[] };
type Emit = (key?: unknown, value?: unknown) => void;

const VIEWS = {
  plain: (doc: Doc, emit: Emit) => emit(doc.n, `text ${doc.n}`),
  tags: (doc: Doc, emit: Emit) => {
    if (doc.n === 3) throw new Error('three');
    for (const tag of doc.tags ?? []) emit([tag, doc.n], doc.n % 2 ? 'say "hi" \\ ☃' : { n: doc.n });
  },
  links: (doc: Doc, emit: Emit) => emit(doc.n, { _id: `d${doc.n}` }),
};
const NAMES = Object.keys(VIEWS) as (keyof typeof VIEWS)[];

const step = fc.record({
  ids: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 20 }),
  n: fc.integer({ min: 0, max: 6 }),
  tags: fc.array(fc.constantFrom('a', 'b', 'constructor'), { maxLength: 3 }),
  kind: fc.constantFrom('put', 'put', 'put', 'remove', 'conflict', 'purge', 'design'),
  ask: fc.subarray(NAMES, { minLength: 1 }),
  options: fc.constantFrom<object>(
    {},
    { startkey: 2 },
    { descending: true, limit: 3 },
    { keys: [1, 4, 1], skip: 1 },
    { limit: 0 },
  ),
  include_docs: fc.boolean(),
});

let count = 0;

async function write(
  db: SettleDB,
  { ids, n, tags, kind }: typeof step extends fc.Arbitrary<infer S> ? S : never,
) {
  if (kind === 'design') return void (await db.put({ _id: `_design/x${n}` }).catch(() => {}));
  for (const id of ids.map((each) => `d${each}`)) {
    const known = await db.get(id).catch(() => undefined);
    if (kind === 'conflict')
      await db.bulkDocs([{ _id: id, _rev: `1-${n}abc`, n, tags }] as never, { new_edits: false });
    else if (kind === 'put') await db.put({ ...known, _id: id, n, tags });
    else if (known !== undefined && kind === 'remove') await db.remove(known);
    else if (known !== undefined) await db.purge(id, known._rev);
  }
}

it('answers what mapping the documents gives, whatever was written', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      const db = new SettleDB(`follow ${++count}`, { adapter: memory(), views: VIEWS as never });
      let errors = 0;
      db.on('error', () => errors++);
      for (const name of NAMES) await db.query(name);
      for (const each of steps) {
        await write(db, each);
        for (const name of each.ask) {
          const { include_docs } = each;
          const options = { ...each.options, include_docs, update_seq: true };
          const found = await db.query(name, options as never);
          expect(found).toEqual(await db.query(VIEWS[name] as never, options as never));
        }
      }
      await db.close();
    }),
    { numRuns: 25 },
  );
});

/** Until the test is over the machine takes no time, which would end a turn of the storage, and slices last as `ms` has it. */
function timeless(ms: () => number = () => 0): void {
  const clocks = [
    vi.spyOn(Date, 'now').mockReturnValue(0),
    vi.spyOn(performance, 'now').mockImplementation(ms),
  ];
  onTestFinished(() => {
    for (const clock of clocks) clock.mockRestore();
  });
}

it('tells of it as of any other following, and of documents on which a map threw', async () => {
  timeless();
  const db = new SettleDB(`follow ${++count}`, { adapter: memory(), views: VIEWS as never });
  await db.put({ _id: 'd0', n: 0, tags: [] });
  await db.query('tags');
  const told: unknown[] = [];
  db.on('indexing', (progress) => told.push(progress));
  db.on('error', (error) => told.push((error as { docId: string }).docId));
  await db.bulkDocs([
    { _id: 'd1', n: 1, tags: ['a'] },
    { _id: 'd3', n: 3, tags: ['a'] },
  ]);
  const asking = db.query('tags');
  expect(told).toEqual([]);
  expect((await asking).rows.map(({ id }) => id)).toEqual(['d1']);
  expect(told).toEqual([{ indexed_docs: 0 }, 'd3', { indexed_docs: 2, last_seq: 3, results_count: 2 }]);
  await db.query('tags');
  expect(told).toHaveLength(3);
  await db.close();
});

it('maps in the turn of who asks for the time of a slice, keeps what it has, and goes on in others', async () => {
  let now = 0;
  timeless(() => now);
  let turn = 0;
  const mapped = new Map<number, number>();
  const slow = (doc: Doc, emit: Emit): void => {
    now += 4;
    mapped.set(turn, (mapped.get(turn) ?? 0) + 1);
    emit(doc.n);
  };
  const next = (): void => {
    turn++;
    turns = setImmediate(next);
  };
  let turns = setImmediate(next);
  try {
    const db = new SettleDB(`follow ${++count}`, { adapter: memory(), views: { slow: slow as never } });
    await db.put({ _id: 'first', n: -1 });
    await db.query('slow');
    await db.bulkDocs(Array.from({ length: 16 }, (_, n) => ({ _id: `d${n}`, n })));
    mapped.clear();
    const told: unknown[] = [];
    db.on('indexing', (progress) => told.push(progress));
    const asking = db.query('slow');
    expect([...mapped.values()]).toEqual([2]);
    expect((await asking).rows.map(({ key }) => key)).toEqual(Array.from({ length: 17 }, (_, n) => n - 1));
    expect(told.slice(0, 2)).toEqual([
      { indexed_docs: 0 },
      { indexed_docs: 2, last_seq: 3, results_count: 2 },
    ]);
    const counts = [...mapped.values()];
    expect(counts.reduce((sum, each) => sum + each)).toBe(16);
    // Two slices at most lie between two of our turns.
    expect(Math.max(...counts)).toBeLessThanOrEqual(4);
    await db.close();
  } finally {
    clearImmediate(turns);
  }
});
