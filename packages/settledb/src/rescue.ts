/**
 * Copies a database of which parts are lost, as it is seen through one directory after another (`salvage.ts` of the file adapter).
 * The first gives all that can be read through it; the next only what is lacking.
 */
import type { DamagedPart, SalvagedJournal } from '@settledb/adapter-file';
import {
  bestBytes,
  type DatabaseTables,
  type DocRow,
  isLocalRev,
  isRev,
  LocalDatabase,
  leaves,
  localWrites,
  type Store,
  schema,
  TREE_TEXTS,
  treeOf,
} from '@settledb/core';
import { listed, openLogStore, type PageKind, rebuilt } from '@settledb/engine';
import type { LostRange, LostRevision, Recovered, RecoverOptions, RecoverTarget } from './recover';
import { blanked, isWithin, type Lack } from './rescue-lacks';
import { type Leaf, RescuedLeaves } from './rescued-leaves';
import { RescuedLocals } from './rescued-locals';

/** Documents read at a time. */
const BATCH = 200;
/** The number of the order `seq` of documents. */
const BY_SEQ = 1 + Object.keys(schema.docs.orders).indexOf('seq');

/** The tables of documents, as their pages tell. */
const KINDS: readonly PageKind[] = [
  {
    table: 'docs',
    isOf: ({ id, seq, rev }) => typeof id === 'string' && Number.isSafeInteger(seq) && isRev(rev),
    isNewer: (row, than) => (row.seq as number) > (than.seq as number),
  },
  {
    table: 'bodies',
    isOf: ({ id, rev, deleted }) => typeof id === 'string' && isRev(rev) && (deleted ?? true) === true,
  },
  {
    table: 'blobs',
    isOf: ({ blob, place, size }) =>
      String(blob).startsWith('md5-') && typeof place === 'string' && Number.isSafeInteger(size),
  },
  {
    table: 'local',
    isOf: ({ id, rev }) => typeof id === 'string' && isLocalRev(rev),
    isNewer: (row, than) => localWrites(row.rev as string) > localWrites(than.rev as string),
  },
];

interface Listed {
  readonly seq: number;
  readonly id: string;
  readonly lack: Lack;
}

export class Rescue {
  readonly #to: RecoverTarget;
  readonly #options: RecoverOptions;
  readonly #leaves: RescuedLeaves;
  readonly #locals: RescuedLocals;
  #lacks: Lack[] | undefined;
  /** Ids accounted for so far that lie where others are lacking: copied, or known to be lost. */
  readonly #found = new Set<string>();
  readonly #lost = new Map<string, LostRevision>();
  #docs = 0;
  /** Whether no directory was left. */
  #isRebuilt = false;
  #commits = 0;

  constructor(to: RecoverTarget, options: RecoverOptions) {
    this.#to = to;
    this.#options = options;
    this.#leaves = new RescuedLeaves(to, options.signal);
    this.#locals = new RescuedLocals(to, options.signal);
  }

  /** Whether nothing is lacking that another directory could have. */
  get isDone(): boolean {
    const isWhole = this.#lost.size === 0 && this.#lacks?.every(({ docs }) => docs === 0) === true;
    return isWhole && this.#locals.isDone;
  }

  /** As {@link through}, by a directory that is made of the pages there are. */
  async throughPages(view: SalvagedJournal): Promise<void> {
    this.#isRebuilt = this.#lacks === undefined;
    const { manifest, pages } = await rebuilt(view, schema, KINDS);
    view.adopt(manifest, pages);
    await this.through(view);
  }

  /** @throws DatabaseError `corrupt` if the directory contradicts itself */
  async through(view: SalvagedJournal): Promise<void> {
    const lost = await blanked(view);
    const store = await openLogStore<DatabaseTables>(view, schema, { checkpoint: false });
    const source = await LocalDatabase.open(store, { name: '', adapter: 'file', bytes: bestBytes() });
    try {
      await this.#take(view, source, lost.docs);
      await this.#locals.take(source, lost.local);
    } finally {
      await source.close();
    }
  }

  async result(damage: readonly DamagedPart[]): Promise<Recovered> {
    const { doc_count, doc_del_count = 0 } = await this.#to.info();
    const revisions = [...this.#lost.values(), ...this.#locals.lost];
    const lacks = [...(this.#lacks ?? []), ...this.#locals.lacks];
    const ranges = lacks.filter(({ docs }) => docs > 0).map(rangeOf);
    const [commits, directory] = [this.#commits, this.#isRebuilt];
    const ok = revisions.length + ranges.length + commits === 0 && !directory;
    const lost = { revisions, ranges, commits, directory };
    return { ok, docs: doc_count + doc_del_count, revisions: this.#leaves.written, lost, damage };
  }

  async #take(view: SalvagedJournal, source: LocalDatabase, lost: Lack[]): Promise<void> {
    const lacks = this.#lacks;
    if (lacks === undefined) {
      await this.#range(source, { from: undefined, to: undefined, docs: 0 }, lost);
      this.#lacks = lost;
    } else {
      // With a document of which nothing was known come its leaves, which may be listed too.
      for (const known of [...this.#lost.values()])
        if (this.#lost.has(keyOf(known))) await this.#again(source, known);
      for (const lack of lacks) if (lack.docs > 0) await this.#range(source, lack, lacks);
    }
    await this.#name(view, source.store, lacks === undefined);
    this.#commits = Math.max(this.#commits, view.lostCommits);
  }

  /** Rows that are lost have names in the order by seq, which lies on pages of its own. */
  async #name(view: SalvagedJournal, store: Store<DatabaseTables>, isFirst: boolean): Promise<void> {
    const lacks = this.#lacks!.filter(({ docs }) => docs > 0);
    if (lacks.length === 0) return;
    const listedThere: Listed[] = [];
    for await (const [seq, id] of listed(view, schema, 'docs', BY_SEQ)) {
      const lack = lacks.find((each) => isWithin(id as string, each));
      if (lack !== undefined) listedThere.push({ seq: seq as number, id: id as string, lack });
    }
    for (let at = 0; at < listedThere.length; at += BATCH) {
      const some = listedThere.slice(at, at + BATCH);
      const counts = await store.read(
        some.map(({ seq }) => ({ from: 'docs', by: 'seq', count: { gte: seq, lte: seq } }) as const),
      );
      for (const [i, { id, lack }] of some.entries()) {
        const isChanged = counts[i] === 0; // a later commit wrote it again, or purged it
        if (lack.docs === 0 || (isChanged ? !isFirst : this.#found.has(id))) continue;
        lack.docs--;
        if (isChanged) continue;
        this.#found.add(id);
        this.#lost.set(keyOf({ id }), { id, reason: 'its row is damaged' });
      }
    }
  }

  /** Copies the documents of a range that were not found before. */
  async #range(source: LocalDatabase, range: Lack, lacks: readonly Lack[]): Promise<void> {
    const { from, to } = range;
    const upper = to === undefined ? {} : { lt: to };
    for (let lower: object = from === undefined ? {} : { gte: from }; ; ) {
      this.#options.signal?.throwIfAborted();
      const [rows] = await source.store.read([
        { from: 'docs', range: { ...lower, ...upper }, limit: BATCH, texts: false },
      ]);
      const fresh = rows.filter(({ id }) => !this.#found.has(id));
      for (const { id } of fresh) if (lacks.some((lack) => isWithin(id, lack))) this.#found.add(id);
      await this.#copy(source, fresh);
      if (this.#lacks !== undefined) range.docs = Math.max(0, range.docs - fresh.length);
      if (rows.length < BATCH) return;
      lower = { gt: rows.at(-1)!.id };
    }
  }

  async #again(source: LocalDatabase, known: LostRevision): Promise<void> {
    const { id, rev } = known;
    const [[row]] = await source.store.read([{ from: 'docs', keys: [id], texts: false }]);
    if (row === undefined) return;
    const wanted = (await leavesOf(source.store, [row])).filter(
      (leaf) => rev === undefined || leaf.rev === rev,
    );
    if (wanted.length === 0) return;
    this.#lost.delete(keyOf(known));
    await this.#write(source, wanted);
  }

  async #copy(source: LocalDatabase, rows: readonly DocRow[]): Promise<void> {
    if (rows.length === 0) return;
    await this.#write(source, await leavesOf(source.store, rows));
    this.#docs += rows.length;
    this.#options.on_progress?.({ docs: this.#docs, revisions: this.#leaves.written });
  }

  async #write(source: LocalDatabase, wanted: readonly Leaf[]): Promise<void> {
    const lost = await this.#leaves.copy(source, wanted);
    for (const leaf of wanted) this.#lost.delete(keyOf(leaf));
    for (const each of lost) this.#lost.set(keyOf(each), each);
  }
}

const rangeOf = ({ from, to, docs }: Lack): LostRange => ({
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to }),
  docs,
});

const keyOf = ({ id, rev }: Pick<LostRevision, 'id' | 'rev'>): string => JSON.stringify([id, rev]);

/** The leaves of documents; where a tree cannot be read, the winner alone. */
async function leavesOf(store: Store<DatabaseTables>, rows: readonly DocRow[]): Promise<Leaf[]> {
  const keys = rows.map(({ id }) => id);
  try {
    const [whole] = await store.read([{ from: 'docs', keys, texts: TREE_TEXTS }]);
    return whole.flatMap((row) => leaves(treeOf(row!)).map(({ rev }) => ({ id: row!.id, rev })));
  } catch (error) {
    if (rows.length === 1) return [{ id: rows[0]!.id, rev: rows[0]!.rev, alone: error }];
    const each: Leaf[] = [];
    for (const row of rows) each.push(...(await leavesOf(store, [row])));
    return each;
  }
}
