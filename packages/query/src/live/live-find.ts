/**
 * The results of a live `find`. While the last result is complete (fewer documents than its limit), changed documents are
 * tested and put in their place, and nothing else is read; a result that was cut at its limit is queried anew, but only if
 * something changed that is in it or could be.
 */
import { type ExistingDoc, type FindRequest, type FindResult, isDesignId } from '@settledb/core';
import type { Source } from '../mango/batches';
import { acceptorOf, findPage, readsConflicts } from '../mango/find';
import type { Standing } from '../mango/in-memory';
import type { IndexCatalog } from '../mango/indexes';
import { type AnswerOrder, answerOrder } from '../mango/order';
import { checkRequest, type Find } from '../mango/request';
import { warningOf } from '../mango/warning';
import type { Changed } from './hub';
import type { Evaluator } from './run';
import { isEqual, sameRows } from './same';

/** A document in the result. */
interface Item extends Standing {
  /** What is shown of it. */
  readonly shown: object;
}

/** The state behind the last result. */
interface Kept {
  readonly order: AnswerOrder;
  readonly accepted: ReturnType<typeof acceptorOf>;
  /** How documents are read for {@link accepted}. */
  readonly conflicts: boolean;
  readonly items: readonly Item[];
  /** The items are all documents that match. */
  readonly complete: boolean;
}

/** By id, documents that changed; `undefined` for one that is not, or no longer, part of the answer. */
type Accepted = ReadonlyMap<string, ExistingDoc<object> | undefined>;

export class LiveFind implements Evaluator<FindResult> {
  readonly #source: Source;
  readonly #catalog: IndexCatalog;
  readonly #request: FindRequest;
  #checked: Find | undefined;
  #kept: Kept | undefined;

  constructor(source: Source, catalog: IndexCatalog, request: FindRequest) {
    this.#source = source;
    this.#catalog = catalog;
    this.#request = request;
  }

  /** Checked when first needed, so that an invalid request is reported like any other failure. */
  get #asked(): Find {
    this.#checked ??= checkRequest(this.#request);
    return this.#checked;
  }

  async evaluate(changed: Changed | undefined, last: FindResult | undefined): Promise<FindResult> {
    const kept = this.#kept;
    const isNew = changed === undefined || kept === undefined || last === undefined || hasDesign(changed);
    if (isNew) return this.#ask(last);
    const { rows } = await this.#source.database.allDocs({
      keys: [...changed],
      include_docs: true,
      conflicts: kept.conflicts,
    });
    const docs: Accepted = new Map(
      rows.map((row) => [row.key, 'doc' in row && row.doc ? kept.accepted(row.doc) : undefined]),
    );
    if (!this.#concerns(kept, docs)) return last;
    return kept.complete ? this.#change(kept, docs, last) : this.#ask(last);
  }

  /** Whether one is in the result, or would be if nothing were cut off. What `skip` or a bookmark leaves out before is unknown. */
  #concerns(kept: Kept, docs: Accepted): boolean {
    const { skip, bookmark } = this.#asked;
    if (skip > 0 || bookmark !== undefined || kept.items.some(({ id }) => docs.has(id))) return true;
    return [...docs.values()].some((doc) => doc !== undefined);
  }

  async #ask(last: FindResult | undefined): Promise<FindResult> {
    const asked = this.#asked;
    const { plan, tally, docs } = await findPage(this.#source, asked, await this.#catalog.list());
    const order = answerOrder(asked, plan);
    const shown = sameRows(docs.map(asked.project), last?.docs, nameOf) as FindResult['docs'];
    this.#kept = {
      order,
      accepted: acceptorOf(asked, plan),
      conflicts: readsConflicts(asked, plan),
      items: docs.map((doc, at) => ({ ...order.standingOf(doc), shown: shown[at]! })), // one for each
      complete: asked.skip === 0 && asked.bookmark === undefined && docs.length < asked.limit,
    };
    return resultOf(shown, warningOf(asked, plan, tally, docs.length), last);
  }

  #change(kept: Kept, docs: Accepted, last: FindResult): FindResult {
    const { order } = kept;
    const { limit } = this.#asked;
    const before = new Map(kept.items.map((item) => [item.id, item]));
    const stays = kept.items.filter(({ id }) => !docs.has(id));
    const comes = [...docs.values()]
      .filter((doc) => doc !== undefined)
      .map((doc) => itemOf(doc, order, this.#asked, before.get(doc._id)))
      .sort(order.compare);
    const all = merged(stays, comes, order.compare);
    const items = all.slice(0, limit);
    this.#kept = { ...kept, items, complete: all.length < limit };
    const shown = items.map((item) => item.shown);
    const isSame = shown.length === last.docs.length && shown.every((doc, at) => doc === last.docs[at]);
    return resultOf(isSame ? last.docs : (shown as FindResult['docs']), last.warning, last);
  }
}

/** The last result, if this one is the same. */
function resultOf(
  docs: FindResult['docs'],
  warning: string | undefined,
  last: FindResult | undefined,
): FindResult {
  if (last !== undefined && docs === last.docs && warning === last.warning) return last;
  return { docs, ...(warning && { warning }) };
}

/** Tells shown documents apart, even if `fields` left no id. */
const nameOf = (shown: { readonly _id?: string }): string => shown._id ?? JSON.stringify(shown);

/** If so, indexes may have been added or removed. */
const hasDesign = (changed: Changed): boolean => [...changed].some(isDesignId);

function itemOf(
  doc: ExistingDoc<object>,
  order: AnswerOrder,
  { project }: Find,
  before: Item | undefined,
): Item {
  const shown = project(doc);
  const isSame = before !== undefined && isEqual(shown, before.shown);
  return { ...order.standingOf(doc), shown: isSame ? before.shown : shown };
}

/** Two sorted lists as one. */
function merged<T>(some: readonly T[], others: readonly T[], compare: (one: T, other: T) => number): T[] {
  const all: T[] = [];
  let at = 0;
  for (const other of others) {
    while (at < some.length && compare(some[at]!, other) < 0) all.push(some[at++]!);
    all.push(other);
  }
  return all.concat(some.slice(at));
}
