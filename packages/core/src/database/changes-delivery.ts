/** Makes changes of rows and hands them on. Rows are made in a plain loop: no promise per row where nobody iterates. */
import { joinDoc } from '../model/document';
import { leaves } from '../model/tree';
import type { Change, ExistingDoc } from '../model/types';
import { nextTask } from '../store/next-task';
import { type DocRow, storedBody } from '../store/schema';
import type { FillOptions } from './attachment-fill';
import type { ChangesSource } from './changes';
import type { Plan } from './changes-plan';
import { loadAttachments } from './code';
import type { FeedController } from './feed-controller';
import { losersOf, treeOf } from './tip';

/** ms of filtering at a time: a selector may have thousands of conditions, and memory answers many reads within one task. */
const FILTER_MS = 10;

/** What a feed delivers, up to its limit. */
export class Delivery {
  readonly #source: ChangesSource;
  readonly #plan: Plan;
  readonly #controller: FeedController<Change>;
  readonly results: Change[] = [];
  /** Ids delivered already: a feed that reads backwards meets a document edited meanwhile again, at its new seq. */
  readonly #ids: Set<string> | undefined;
  #left: number;
  #lastSeq = 0;
  /** When others last had their turn. */
  #began = performance.now();

  constructor(source: ChangesSource, plan: Plan, controller: FeedController<Change>) {
    this.#source = source;
    this.#plan = plan;
    this.#controller = controller;
    this.#left = plan.limit;
    this.#ids = plan.descending ? new Set() : undefined;
  }

  /** Whether as many changes as the limit allows have been delivered. */
  get full(): boolean {
    return this.#left === 0;
  }

  /** Of the last change delivered; 0 before the first. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  async deliver(rows: readonly DocRow[]): Promise<void> {
    const plan = this.#plan;
    const controller = this.#controller;
    if (plan.plain && !controller.heard && rows.length < this.#left) return this.#deliverAll(rows);
    for (const row of rows) {
      if (this.#ids?.has(row.id)) continue;
      if (plan.filter.acceptDoc !== undefined && performance.now() - this.#began >= FILTER_MS) {
        await this.#giveTurn();
        if (controller.cancelled) return;
      }
      const change = toChange(plan, row);
      if (change === undefined) continue;
      if (plan.fill !== undefined && !(await this.#fill(change, plan.fill))) continue;
      this.#ids?.add(row.id);
      if (plan.keepResults) this.results.push(change);
      this.#lastSeq = row.seq;
      this.#left--;
      const wait = controller.heard ? controller.push(change) : undefined;
      if (wait !== undefined) await wait;
      if (this.#left === 0 || controller.cancelled) return;
    }
  }

  async #giveTurn(): Promise<void> {
    await nextTask();
    this.#began = performance.now();
  }

  /** Apart from the loop above, which asks much of each row: most feeds are read once in a page, before the engine has optimised it. */
  #deliverAll(rows: readonly DocRow[]): void {
    const { results } = this;
    if (this.#plan.keepResults) for (let i = 0; i < rows.length; i++) results.push(plainChange(rows[i]!));
    this.#lastSeq = rows.at(-1)?.seq ?? this.#lastSeq;
    this.#left -= rows.length;
  }

  /** @returns false when the document was changed or purged since: if it still exists it comes at its new seq */
  async #fill({ id, seq, doc }: Change, options: FillOptions): Promise<boolean> {
    const { fill, unswept } = await loadAttachments();
    const { store, bytes } = this.#source;
    let isFirst = true;
    return unswept(async () => {
      const [[row]] = isFirst ? [[undefined]] : await store.read([{ from: 'docs', keys: [id] }]);
      if (!isFirst && row?.seq !== seq) return false;
      isFirst = false;
      await fill({ store, bytes }, doc ? [doc] : [], options);
      return true;
    });
  }

  /** The seq that is reached. @param looked that up to which everything was looked at, unless the limit ended it before */
  reached(looked: number): number {
    return this.full ? this.#lastSeq : looked;
  }
}

/** The row's change, or `undefined` where the filter does not want it. */
function toChange(plan: Plan, row: DocRow): Change | undefined {
  const { filter, includeDocs, allLeaves } = plan;
  let doc: ExistingDoc<Record<string, unknown>> | undefined;
  if (includeDocs || filter.acceptDoc !== undefined) {
    doc = readDoc(row, includeDocs && plan.conflicts);
    if (filter.acceptDoc !== undefined && !filter.acceptDoc(doc)) return undefined;
  }
  const change = plainChange(row);
  if (allLeaves && row.tree !== undefined) change.changes = leaves(treeOf(row)).map(({ rev }) => ({ rev }));
  if (includeDocs && doc !== undefined) change.doc = doc;
  return change;
}

type Made = { -readonly [K in keyof Change]: Change[K] };

function plainChange({ id, seq, rev, deleted }: DocRow): Made {
  const changes = [{ rev }]; // not within the next literal: V8 makes that slowly until it has optimised the code
  const change: Made = { id, seq, changes };
  if (deleted) change.deleted = true;
  return change;
}

function readDoc(row: DocRow, withConflicts: boolean): ExistingDoc<Record<string, unknown>> {
  const losers = withConflicts && losersOf(row);
  const meta = losers ? { _conflicts: losers } : undefined;
  return joinDoc(row.id, row.rev, row.deleted === true, storedBody(row), meta);
}
