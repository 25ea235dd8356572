/** Histories that lie partly beside their packed tree are what they would be if each edit had packed it. */
import { memory } from '@settledb/adapter-memory';
import { openLogStore } from '@settledb/engine';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { docRow } from '../../packages/core/src/database/doc-rows';
import { TIP_REVS_MAX, treeOf } from '../../packages/core/src/database/tip';
import {
  hasRev,
  LocalDatabase,
  leaves,
  merge,
  nextRev,
  packTree,
  type RevTree,
  schema,
  unpackTree,
  winner,
} from '../../packages/core/src/index';
import type { DatabaseTables } from '../../packages/core/src/store/schema';
import type { Store } from '../../packages/core/src/store/store';
import { naiveStore } from '../support/naive-store';

const ID = 'a';
const hashOf = (rev: string): string => rev.slice(rev.indexOf('-') + 1);
const generationOf = (rev: string): number => Number.parseInt(rev, 10);

/** What is done to the one document. Numbers choose among what there is. */
type Step =
  | { readonly kind: 'edits'; readonly count: number; readonly together: boolean }
  | { readonly kind: 'leaf' | 'delete' | 'stale'; readonly which: number }
  | { readonly kind: 'replicate'; readonly which: number; readonly hashes: readonly string[] }
  | { readonly kind: 'foretold'; readonly ahead: number; readonly hash: string }
  | { readonly kind: 'compact' };

it('a long tree is not unpacked for the call after the one that packed it', () => {
  const hashes = Array.from({ length: 200 }, (_, n) => n.toString(16).padStart(32, '0'));
  const { tree } = merge(undefined, { generation: 200, hashes, deleted: false }, 1000);
  const row = docRow(ID, 1, `200-${hashes[0]}`, false, tree, undefined);
  expect(treeOf({ ...row, seq: 2 })).toBe(tree);
  expect(unpackTree(row.tree as string)).toEqual(tree);
});

it('a long tree is unpacked once for calls that follow one another, and anew if it is another', () => {
  const hashes = Array.from({ length: 200 }, (_, n) => n.toString(16).padStart(32, '0'));
  const tree = packTree(merge(undefined, { generation: 200, hashes, deleted: false }, 1000).tree);
  const row = { id: ID, seq: 1, rev: `200-${hashes[0]}`, tree };
  const known = treeOf(row);
  expect(treeOf({ ...row, seq: 2 })).toBe(known);
  const next = { ...row, rev: `201-${hashes[1]}`, tip: `1000:${hashes[0]}` };
  expect(leaves(treeOf(next)).map(({ rev }) => rev)).toEqual([next.rev]);
  expect(treeOf(row)).toEqual(known);
});

/** After the third, the tree was packed as long as that of a whole history, though it has a branch without its beginning. */
const AS_LONG_AS_WHOLE: readonly Step[] = [
  { kind: 'replicate', which: 0, hashes: ['x', ...Array(3).fill('0'.repeat(32))] },
  { kind: 'delete', which: 0 },
  { kind: 'foretold', ahead: 3, hash: '0'.repeat(32) },
  { kind: 'foretold', ahead: 1, hash: '0'.repeat(32) },
];

const which = fc.nat({ max: 1000 });
const hash = fc
  .array(fc.constantFrom(...'0123456789abcdef'), { minLength: 32, maxLength: 32 })
  .map((digits) => digits.join(''));
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('edits' as const),
      count: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 30, max: 70 })),
      together: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('leaf' as const, 'delete' as const, 'stale' as const),
      which,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('replicate' as const),
      which,
      hashes: fc.array(fc.oneof(hash, fc.constantFrom('x', 'y')), { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('foretold' as const),
      ahead: fc.integer({ min: 1, max: 4 }),
      hash,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('compact' as const) }) },
);

class Model {
  tree: RevTree | undefined;
  /** Revisions whose bodies nobody took away. */
  readonly written = new Map<string, number>();
  readonly forgotten: string[] = [];
  n = 0;

  constructor(
    readonly db: LocalDatabase<Record<string, unknown>>,
    readonly limit: number,
  ) {}

  async take(step: Step): Promise<void> {
    if (step.kind === 'compact') {
      await this.db.compact();
      const kept = new Set(this.tree === undefined ? [] : leaves(this.tree).map(({ rev }) => rev));
      for (const rev of this.written.keys()) if (!kept.has(rev)) this.written.delete(rev);
    } else if (step.kind === 'edits') await this.#edits(step);
    else if (step.kind === 'replicate') await this.#replicate(step);
    else if (step.kind === 'foretold') await this.#foretold(step);
    else await this.#one(step);
    // What was put beyond the limit has lost its body, even if a path names it again.
    for (const rev of this.written.keys()) {
      if (this.tree !== undefined && hasRev(this.tree, rev)) continue;
      this.written.delete(rev);
      this.forgotten.push(rev);
    }
  }

  async #edits({ count, together }: Extract<Step, { kind: 'edits' }>): Promise<void> {
    for (let i = 0; i < count; i++) {
      const best = this.tree === undefined ? undefined : winner(this.tree);
      await this.#put(best === undefined || best.deleted ? undefined : best.rev, false, together);
    }
  }

  /** An edit of some leaf, a deletion of one, or an edit of a past revision: a conflict. */
  async #one({ kind, which }: Extract<Step, { kind: 'leaf' | 'delete' | 'stale' }>): Promise<void> {
    if (this.tree === undefined) return;
    const revs = leaves(this.tree).map(({ rev }) => rev);
    const past = [...this.written.keys()].filter((rev) => !revs.includes(rev));
    const from = kind === 'stale' ? past : revs;
    if (from.length > 0) await this.#put(from[which % from.length]!, kind === 'delete', false);
  }

  /** @param twice in one write with an edit of what it makes */
  async #put(parent: string | undefined, deleted: boolean, twice: boolean): Promise<void> {
    const doc = { _id: ID, n: ++this.n, ...(parent === undefined ? {} : { _rev: parent }) };
    const [first, second] = await this.db.bulkDocs([
      deleted ? { ...doc, _deleted: true } : doc,
      ...(twice ? [doc] : []),
    ]);
    if (second !== undefined) expect(second).toMatchObject({ status: 409 });
    const accepted = this.tree === undefined || this.#extended(parent) !== undefined;
    expect('ok' in first!).toBe(accepted);
    if ('ok' in first!) this.#grow(first.rev, this.#extended(parent), deleted);
  }

  #extended(parent: string | undefined): string | undefined {
    const all = this.tree === undefined ? [] : leaves(this.tree);
    if (parent === undefined) return all[0]?.deleted ? all[0].rev : undefined;
    return all.find(({ rev }) => rev === parent)?.rev;
  }

  #grow(rev: string, parent: string | undefined, deleted: boolean): void {
    const hashes = parent === undefined ? [hashOf(rev)] : [hashOf(rev), hashOf(parent)];
    this.tree = merge(this.tree, { generation: generationOf(rev), hashes, deleted }, this.limit).tree;
    this.written.set(rev, this.n);
  }

  /** A path that joins some known revision, or none. */
  async #replicate({ which, hashes }: Extract<Step, { kind: 'replicate' }>): Promise<void> {
    const known = this.tree === undefined ? [] : [...this.written.keys()];
    const joint = known.length === 0 || which % 4 === 0 ? undefined : known[which % known.length]!;
    const path = joint === undefined ? hashes : [...hashes, hashOf(joint)];
    const generation = (joint === undefined ? 0 : generationOf(joint)) + hashes.length;
    const rev = `${generation}-${path[0]}`;
    const doc = { _id: ID, _rev: rev, _revisions: { start: generation, ids: path }, n: ++this.n };
    await this.db.bulkDocs([doc], { new_edits: false });
    const merged = merge(this.tree, { generation, hashes: path, deleted: false }, this.limit);
    this.tree = merged.tree;
    if (merged.result.startsWith('new')) this.written.set(rev, this.n);
  }

  /** Another database makes edits, and then deletes the document. Its last two revisions come from there, and then the same edits are made. */
  async #foretold({ ahead, hash }: Extract<Step, { kind: 'foretold' }>): Promise<void> {
    if (this.tree === undefined) return;
    let { rev } = winner(this.tree);
    for (let i = 1; i <= ahead; i++) rev = nextRev(ID, rev, false, `{"n":${this.n + i}}`);
    const [generation, hashes] = [generationOf(rev) + 1, [hash, hashOf(rev)]];
    const _revisions = { start: generation, ids: hashes };
    await this.db.bulkDocs([{ _id: ID, _rev: `${generation}-${hash}`, _revisions, _deleted: true }], {
      new_edits: false,
    });
    this.tree = merge(this.tree, { generation, hashes, deleted: true }, this.limit).tree;
    await this.#edits({ kind: 'edits', count: ahead, together: false });
  }

  async check(store: Store<DatabaseTables>): Promise<void> {
    const [rows, bodies] = await store.read([
      { from: 'docs', keys: [ID], texts: ['tree', 'tip'] },
      { from: 'bodies', range: {} },
    ]);
    const row = rows[0];
    if (this.tree === undefined) return expect(row).toBe(undefined);
    // As stored and read again: the order of chains is no matter of what they say.
    const [tree, expected] = [treeOf(row!), this.tree].map((each) => unpackTree(packTree(each)));
    const chains = ({ chains }: RevTree): string[] => chains.map((chain) => JSON.stringify(chain)).sort();
    expect(chains(tree!)).toEqual(chains(expected!));
    expect(row!.rev).toBe(winner(this.tree).rev);
    const stale = bodies.filter(({ rev }) => !hasRev(this.tree!, rev));
    expect(stale.length).toBeLessThanOrEqual(this.limit < TIP_REVS_MAX ? 0 : TIP_REVS_MAX);
  }

  /** Each revision that was written is still what it was, or is not to be had. */
  async checkBodies(): Promise<void> {
    for (const [rev, n] of this.written) {
      expect(await this.db.get(ID, { rev })).toMatchObject({ _rev: rev, n });
    }
    for (const rev of this.forgotten.filter((each) => !hasRev(this.tree!, each)))
      await expect(this.db.get(ID, { rev })).rejects.toMatchObject({ status: 404 });
    const changes = await this.db.changes({ style: 'all_docs' });
    if (!('results' in changes)) throw new Error('cancelled');
    const revs = changes.results.flatMap((change) => change.changes.map(({ rev }) => rev)).sort();
    expect(revs).toEqual(
      this.tree === undefined
        ? []
        : leaves(this.tree)
            .map(({ rev }) => rev)
            .sort(),
    );
  }
}

const stores: readonly (readonly [string, () => Promise<Store<DatabaseTables>>])[] = [
  ['a naive store', async () => naiveStore<DatabaseTables>(schema, { replans: true })],
  ['the log engine', async () => openLogStore(await memory().open('tips'), schema)],
];

describe.each(stores)('a long history, on %s', (_name, newStore) => {
  it('is what merging each edit makes of it', async () => {
    const limits = fc.constantFrom(1, 2, 5, TIP_REVS_MAX - 1, TIP_REVS_MAX, TIP_REVS_MAX + 8, 1000);
    await fc.assert(
      fc.asyncProperty(limits, fc.array(step, { maxLength: 12 }), async (revs_limit, steps) => {
        const store = await newStore();
        const db = await LocalDatabase.open<Record<string, unknown>>(store, {
          name: 'tips',
          adapter: 'test',
          revs_limit,
        });
        const model = new Model(db, revs_limit);
        for (const each of steps) {
          await model.take(each);
          await model.check(store);
        }
        await model.checkBodies();
        await db.close();
      }),
      { numRuns: 60, examples: [[32, AS_LONG_AS_WHOLE]] },
    );
  });
});

it.each([
  ['of no limit', `:${'a'.repeat(32)}`],
  ['of limit 0', `0:${'a'.repeat(32)}`],
  ['without revisions', '1000:'],
  ['cut off', `1000:${'a'.repeat(31)}`],
  ['of hashes alone', 'a'.repeat(32)],
])('newest revisions %s are damaged, not a shorter history', (_how, tip) => {
  expect(() => treeOf({ id: ID, seq: 1, rev: `3-${'b'.repeat(32)}`, tip })).toThrow(/damaged/);
});

it('an edit that was made elsewhere before, of a branch that came without its beginning, joins that branch', async () => {
  for (const store of [
    await openLogStore<DatabaseTables>(await memory().open('joined'), schema),
    naiveStore<DatabaseTables>(schema, { replans: true }),
  ]) {
    const db = await LocalDatabase.open<Record<string, unknown>>(store, { name: 'joined', adapter: 'test' });
    const { rev } = await db.put({ _id: ID, n: 1 });
    // Elsewhere the same edit was made, and then the document was deleted; its first revision was forgotten there.
    const edited = nextRev(ID, rev, false, '{"n":2}');
    const _revisions = { start: 3, ids: ['f'.repeat(32), hashOf(edited)] };
    await db.put(
      { _id: ID, _rev: `3-${'f'.repeat(32)}`, _revisions, _deleted: true, why: 'done' },
      { new_edits: false },
    );
    expect(await db.get(ID)).toEqual({ _id: ID, _rev: rev, n: 1 });
    expect(await db.put({ _id: ID, _rev: rev, n: 2 })).toMatchObject({ rev: edited });
    await expect(db.get(ID)).rejects.toMatchObject({ status: 404, reason: 'deleted' });
    expect(await db.info()).toMatchObject({ doc_count: 0, doc_del_count: 1, update_seq: 3 });
    const tombstone = { _id: ID, _rev: `3-${'f'.repeat(32)}`, _deleted: true, why: 'done' };
    expect(await db.get(ID, { open_revs: 'all' })).toEqual([{ ok: tombstone }]);
    await db.close();
  }
});

it('a history with a tombstone, with branches, or made twice, gets newest revisions beside it too', async () => {
  const store = await openLogStore<DatabaseTables>(await memory().open('beside'), schema);
  const db = await LocalDatabase.open<Record<string, unknown>>(store, { name: 'beside', adapter: 'test' });
  const first = await db.put({ _id: ID });
  await db.put(
    {
      _id: ID,
      _rev: `2-${'0'.repeat(32)}`,
      _revisions: { start: 2, ids: ['0'.repeat(32), hashOf(first.rev)] },
    },
    { new_edits: false },
  );
  const second = await db.put({ _id: ID, _rev: `2-${'0'.repeat(32)}`, n: 1 });
  await db.put(
    {
      _id: ID,
      _rev: `2-${'1'.repeat(32)}`,
      _revisions: { start: 2, ids: ['1'.repeat(32), hashOf(first.rev)] },
    },
    { new_edits: false },
  );
  await db.put({ _id: ID, _rev: second.rev, n: 2 });
  const other = await db.put({ _id: 'b', _deleted: true });
  await db.put({ _id: 'b', _rev: other.rev });
  const third = await db.put({ _id: 'b', _rev: (await db.get('b'))._rev, n: 1 });
  await db.put({ _id: 'b', _rev: third.rev, n: 2 });
  // Of a document that was made here and elsewhere.
  const here = await db.put({ _id: 'c', n: 1 });
  await db.put({ _id: 'c', _rev: `1-${'0'.repeat(32)}` }, { new_edits: false });
  await db.put({ _id: 'c', _rev: here.rev, n: 2 });
  const [rows] = await store.read([{ from: 'docs', keys: [ID, 'b', 'c'], texts: ['tip'] }]);
  const lengths = [32, 64, 32].map((hashes) => '1000:'.length + hashes);
  expect(rows.map((row) => (row!.tip as string | undefined)?.length)).toEqual(lengths);
  await db.close();
});

it('under another limit newest revisions are not added to those before', async () => {
  const store = await openLogStore<DatabaseTables>(await memory().open('limits'), schema);
  const db = await LocalDatabase.open(store, { name: 'limits', adapter: 'test' });
  const revs: string[] = [];
  for (const limit of [1000, 100, 200]) {
    await db.setRevsLimit(limit);
    for (let i = 0; i < 3; i++) {
      const _rev = revs.at(-1);
      revs.push((await db.put({ _id: ID, ...(_rev && { _rev }) })).rev);
    }
  }
  const { _revisions } = await db.get(ID, { revs: true });
  expect(_revisions?.ids).toEqual(revs.map(hashOf).reverse());
  await db.close();
});
