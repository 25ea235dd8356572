/**
 * Random edits against a model: a Map of revisions with their parents, leaves and winners found by looking at all of them.
 * After every call the database must show what the model shows, keep its counters (I1), its seqs (I2), and exactly the
 * bodies that it promises (I4). A failure prints its seed.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Doc, LocalDatabase, type LocalOptions, schema } from '../../packages/core/src/index';
import type { DatabaseTables } from '../../packages/core/src/store/schema';
import type { Store } from '../../packages/core/src/store/store';
import { naiveStore } from '../support/naive-store';

interface ModelRev {
  readonly rev: string;
  readonly parent: string | undefined;
  readonly deleted: boolean;
  readonly n: number;
}
type ModelDoc = Map<string, ModelRev>;

const generation = (rev: string): number => Number(rev.split('-')[0]);

function leavesOf(doc: ModelDoc): ModelRev[] {
  const parents = new Set([...doc.values()].map((each) => each.parent));
  return [...doc.values()]
    .filter((each) => !parents.has(each.rev))
    .sort(
      (a, b) =>
        Number(a.deleted) - Number(b.deleted) ||
        generation(b.rev) - generation(a.rev) ||
        (a.rev.split('-')[1]! > b.rev.split('-')[1]! ? -1 : 1),
    );
}

/** What an edit names as its parent. */
type Named = 'nothing' | 'winner' | 'loser' | 'past' | 'unknown';
interface EditOp {
  readonly op: 'edit';
  readonly id: string;
  readonly named: Named;
  readonly deleted: boolean;
  readonly force: boolean;
  readonly n: number;
}
/** A chain of `length` revisions made elsewhere, on top of one of the document's revisions or of none. */
interface ReplicateOp {
  readonly op: 'replicate';
  readonly id: string;
  readonly on: number;
  readonly length: number;
  readonly hash: string;
  readonly deleted: boolean;
  readonly n: number;
}

const ids = fc.constantFrom('a', 'constructor');
const editOp: fc.Arbitrary<EditOp> = fc.record({
  op: fc.constant('edit' as const),
  id: ids,
  named: fc.constantFrom<Named>('nothing', 'winner', 'winner', 'loser', 'past', 'unknown'),
  deleted: fc.oneof(
    { weight: 2, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
  force: fc.boolean(),
  n: fc.nat(9),
});
const replicateOp: fc.Arbitrary<ReplicateOp> = fc.record({
  op: fc.constant('replicate' as const),
  id: ids,
  on: fc.nat(20),
  length: fc.integer({ min: 1, max: 3 }),
  hash: fc.constantFrom('a', 'b', 'c'),
  deleted: fc.boolean(),
  n: fc.nat(9),
});
const batch = fc.oneof(
  fc.array(editOp, { minLength: 1, maxLength: 5 }),
  fc.array(replicateOp, { minLength: 1, maxLength: 5 }),
);

class Harness {
  readonly docs = new Map<string, ModelDoc>();
  seq = 0;
  constructor(
    readonly db: LocalDatabase,
    readonly store: Store<DatabaseTables>,
    readonly auto: boolean,
  ) {}

  static async open(options: Partial<LocalOptions> = {}): Promise<Harness> {
    const store = naiveStore<DatabaseTables>(schema, { replans: true });
    const db = await LocalDatabase.open(store, { name: 'x', adapter: 'naive', ...options });
    return new Harness(db, store, options.auto_compaction === true);
  }

  async edits(ops: readonly EditOp[], force: boolean): Promise<void> {
    const made = ops.map((op) => ({ op, parent: this.named(op) }));
    const docs = made.map(
      ({ op, parent }): Doc => ({
        _id: op.id,
        ...(parent === undefined ? {} : { _rev: parent }),
        ...(op.deleted ? { _deleted: true } : {}),
        ...(op.n === 0 ? {} : { n: op.n }),
      }),
    );
    const rows = await this.db.bulkDocs(docs, { force });
    expect(rows).toHaveLength(ops.length);
    for (const [i, { op, parent }] of made.entries()) {
      const row = rows[i]!;
      const extended = this.accepts(op, parent, force);
      if (extended === false)
        expect(row).toMatchObject({ id: op.id, error: true, name: 'conflict', status: 409 });
      else {
        expect(row).toMatchObject({ ok: true, id: op.id });
        const rev = (row as { rev: string }).rev;
        expect(generation(rev)).toBe(extended === undefined ? 1 : generation(extended) + 1);
        expect(this.doc(op.id).has(rev)).toBe(false);
        // Forced onto one that is not known: of that nothing but the name is.
        if (extended !== undefined && !this.doc(op.id).has(extended))
          this.doc(op.id).set(extended, { rev: extended, parent: undefined, deleted: false, n: -1 });
        this.add(op.id, { rev, parent: extended, deleted: op.deleted, n: op.n });
      }
    }
  }

  async replicated(ops: readonly ReplicateOp[]): Promise<void> {
    const docs = ops.map((op) => {
      const doc = this.doc(op.id);
      const base = [...doc.keys()][op.on]; // often none: a chain of its own
      const path = base === undefined ? [] : this.path(doc, base);
      // A hash names its whole path, as hashes do. The same ones come up again: known revisions, longer and new branches.
      const all = [...path];
      for (let i = 0; i < op.length; i++) {
        const [parent] = all;
        const hash = (parent?.split('-')[1] ?? '') + op.hash;
        all.unshift(`${parent === undefined ? 1 : generation(parent) + 1}-${hash}`);
      }
      return { op, all };
    });
    const answer = await this.db.bulkDocs(
      docs.map(({ op, all }) => ({
        _id: op.id,
        _rev: all[0]!,
        _revisions: { start: generation(all[0]!), ids: all.map((rev) => rev.split('-')[1]!) },
        ...(op.deleted ? { _deleted: true } : {}),
        ...(op.n === 0 ? {} : { n: op.n }),
      })),
      { new_edits: false },
    );
    expect(answer).toEqual([]);
    for (const { op, all } of docs) {
      const doc = this.doc(op.id);
      const known = doc.get(all[0]!);
      if (known !== undefined) {
        // Known by name only, as an ancestor: now it has a body.
        if (known.n < 0) doc.set(known.rev, { ...known, deleted: op.deleted, n: op.n });
        continue;
      }
      for (const [i, rev] of all.entries()) {
        if (doc.has(rev)) continue;
        const tip = i === 0;
        doc.set(rev, { rev, parent: all[i + 1], deleted: tip && op.deleted, n: tip ? op.n : -1 });
      }
      this.seq += 1;
    }
  }

  /** Everything the database shows, against the model. */
  async check(compacted: boolean): Promise<void> {
    const shown = [...this.docs].filter(([, doc]) => doc.size > 0);
    const live = shown.filter(([, doc]) => !leavesOf(doc)[0]!.deleted).length;
    expect(await this.db.info()).toMatchObject({
      doc_count: live,
      doc_del_count: shown.length - live,
      update_seq: this.seq,
    });
    for (const [id, doc] of shown) await this.checkDoc(id, doc, compacted);
    const [rows] = await this.store.read([{ from: 'docs', range: {} }]);
    expect(rows.map((row) => row.id).sort()).toEqual(shown.map(([id]) => id).sort());
    expect(new Set(rows.map((row) => row.seq)).size).toBe(rows.length);
    for (const row of rows) expect(row.seq).toBeLessThanOrEqual(this.seq);
  }

  private async checkDoc(id: string, doc: ModelDoc, compacted: boolean): Promise<void> {
    const leaves = leavesOf(doc);
    const open = await this.db.get(id, { open_revs: 'all', revs: true });
    expect(open).toEqual(
      leaves.map((leaf) => ({
        ok: {
          _id: id,
          _rev: leaf.rev,
          ...(leaf.deleted ? { _deleted: true } : {}),
          ...(leaf.n === 0 ? {} : { n: leaf.n }),
          _revisions: {
            start: generation(leaf.rev),
            ids: this.path(doc, leaf.rev).map((rev) => rev.split('-')[1]),
          },
        },
      })),
    );
    const [bodies] = await this.store.read([{ from: 'bodies', range: { gte: [id], lte: [id, []] } }]);
    const kept = bodies.map((row) => row.rev);
    expect(kept).not.toContain(leaves[0]!.rev);
    for (const rev of kept) expect(doc.has(rev)).toBe(true);
    // Without compaction every body that was ever stored is readable.
    const written = [...doc.values()].filter((each) => each.n >= 0 && each.rev !== leaves[0]!.rev);
    if (!this.auto && !compacted) expect(kept.sort()).toEqual(written.map((each) => each.rev).sort());
    if (this.auto)
      expect(kept.sort()).toEqual(
        leaves
          .slice(1)
          .map((leaf) => leaf.rev)
          .sort(),
      );
  }

  private doc(id: string): ModelDoc {
    let doc = this.docs.get(id);
    if (doc === undefined) {
      doc = new Map();
      this.docs.set(id, doc);
    }
    return doc;
  }

  private path(doc: ModelDoc, rev: string): string[] {
    const path = [rev];
    for (let at = doc.get(rev)?.parent; at !== undefined; at = doc.get(at)?.parent) path.push(at);
    return path;
  }

  private named(op: EditOp): string | undefined {
    const doc = this.doc(op.id);
    const leaves = leavesOf(doc);
    if (op.named === 'winner') return leaves[0]?.rev;
    if (op.named === 'loser') return leaves.at(-1)?.rev;
    if (op.named === 'past') return [...doc.keys()][0];
    return op.named === 'unknown' ? '1-unknown' : undefined;
  }

  /** The revision extended, `undefined` for a document that is new, `false` for a conflict. */
  private accepts(op: EditOp, parent: string | undefined, force: boolean): string | undefined | false {
    const doc = this.doc(op.id);
    if (force && parent !== undefined) return parent;
    if (doc.size === 0) return parent === undefined ? undefined : false;
    const leaves = leavesOf(doc);
    if (parent === undefined) return leaves[0]!.deleted && !op.deleted ? leaves[0]!.rev : false;
    return leaves.some((leaf) => leaf.rev === parent) ? parent : false;
  }

  private add(id: string, rev: ModelRev): void {
    this.doc(id).set(rev.rev, rev);
    this.seq += 1;
  }
}

describe.each([{ auto_compaction: false }, { auto_compaction: true }])('random edits, %o', (options) => {
  it('show what a model shows, and keep counters, seqs and bodies (I1, I2, I4)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { maxLength: 12 }), fc.boolean(), async (batches, compacts) => {
        const harness = await Harness.open(options);
        for (const ops of batches) {
          if (ops[0]!.op === 'edit') await harness.edits(ops as EditOp[], ops[0]!.force);
          else await harness.replicated(ops as ReplicateOp[]);
          if (compacts) await harness.db.compact();
          await harness.check(compacts);
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe('new_edits: false', () => {
  it('gives the same counts, winners and leaves in any order of arrival, one by one or together', async () => {
    const chain = fc.record({
      length: fc.integer({ min: 1, max: 4 }),
      hashes: fc.array(fc.constantFrom('a', 'b'), { minLength: 4, maxLength: 4 }),
      deleted: fc.boolean(),
    });
    const paths = fc.array(chain, { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(paths, fc.infiniteStream(fc.nat()), fc.boolean(), async (made, randoms, together) => {
        const docs = new Map<string, Doc>();
        for (const { length, hashes, deleted } of made) {
          // Each hash names its whole path, as a hash does: equal revisions have equal ancestors and content.
          const path = Array.from({ length }, (_, i) => hashes.slice(0, i + 1).join('')).reverse();
          const rev = `${length}-${path[0]}`;
          if (docs.has(rev)) continue;
          docs.set(rev, { _id: 'x', _rev: rev, _deleted: deleted, _revisions: { start: length, ids: path } });
        }
        const shuffled = [...docs.values()]
          .map((doc) => ({ doc, at: randoms.next().value as number }))
          .sort((a, b) => a.at - b.at)
          .map(({ doc }) => doc);
        const [one, other] = [await Harness.open(), await Harness.open()];
        await one.db.bulkDocs([...docs.values()], { new_edits: false });
        if (together) await other.db.bulkDocs(shuffled, { new_edits: false });
        else for (const doc of shuffled) await other.db.put(doc, { new_edits: false });
        const show = async ({ db }: Harness) => {
          const { update_seq: _, ...info } = await db.info();
          return { info, leaves: await db.get('x', { open_revs: 'all', revs: true }) };
        };
        expect(await show(other)).toEqual(await show(one));
      }),
      { numRuns: 150 },
    );
  });
});
