/**
 * One write of many edits: reads what the plan needs, and reads again until the plan has all of it.
 *
 * Nearly every write can name beforehand what it reads: rows, trees and counters, never body text. The exception is a
 * document whose winner is deleted while another leaf is alive: that leaf's body moves from `bodies` to `docs`. (And a past revision
 * that comes after its children: is its body there?) The plan then writes nothing and says of which documents it needs all bodies, and
 * {@link writeEdits} plans again with those.
 */
import { under } from '../store/keys';
import type { BodyRow, DatabaseTables } from '../store/schema';
import type { Durability, FoundAll, Plan, Query, Store } from '../store/store';
import { loadAttachments } from './code';
import { COMPACTED } from './compacted';
import type { FoldRules } from './doc-fold';
import { type Batch, batchOf } from './edit-batch';
import { type Edit, makesRoom } from './edits';
import { INFO_QUERY, infoOf } from './info';
import { type Decision, type Outcome, planEdits } from './plan-edits';
import { TREE_TEXTS } from './tip';

const NONE: readonly never[] = [];

/**
 * As {@link writeEdits}, but at once, where the store can do that and only rows and counters need to be read.
 *
 * @returns undefined when nothing was written
 */
export function writeEditsNow(
  store: Store<DatabaseTables>,
  edits: readonly Edit[],
  rules: FoldRules,
  durability: Durability | undefined,
): readonly Outcome[] | undefined {
  if (store.writeNow === undefined || rules.autoCompaction) return undefined;
  for (let i = 0; i < edits.length; i++) if (edits[i]!.attachments !== undefined) return undefined;
  const batch = batchOf(edits);
  // Not destructured in the parameter list: until V8 has optimised that, it walks an iterator.
  const plan = (found: FoundFirst): Plan<DatabaseTables, Decision> => {
    const info = infoOf(found[0]);
    return planEdits(
      batch,
      { info, docs: found[1], locals: found[2], bodies: undefined, attachments: undefined },
      rules,
    );
  };
  const decided = store.writeNow(firstQueries(batch, takesTrees(edits)), plan, durability)?.value;
  if (decided === undefined || decided.lacksTrees || decided.lacking.length > 0) return undefined;
  return decided.outcomes;
}

/**
 * Writes `edits` in one commit; edits of one document in their order.
 *
 * @returns one outcome per edit. Conflicts are outcomes: they do not disturb other edits
 */
export async function writeEdits(
  store: Store<DatabaseTables>,
  edits: readonly Edit[],
  rules: FoldRules,
  durability: Durability | undefined,
): Promise<readonly Outcome[]> {
  const batch = batchOf(edits);
  let whole: readonly string[] = rules.autoCompaction ? batch.ids : NONE;
  const needed = rules.autoCompaction || edits.some((edit) => edit.attachments !== undefined);
  const attaching = needed ? await loadAttachments() : undefined;
  const attached = attaching?.attachmentQueries(edits, rules.autoCompaction ? batch.ids : NONE);
  let trees = needed || takesTrees(edits);
  // One more round at most for trees and per document that lacks its bodies; more than two rounds only if other writers interfere.
  for (;;) {
    const asked = whole;
    const decided = store.write(
      queriesOf(batch, trees, asked, attached),
      ([info, docs, locals, [compacted], ...rest]) => {
        const bodies = rest as BodyRow[][];
        const byId = asked.length === 0 ? undefined : new Map(asked.map((id, i) => [id, bodies[i]!]));
        const answers = rest.slice(asked.length);
        const attachments = attaching && attached && new attaching.AttachmentsFound(answers);
        const found = { info: infoOf(info), docs, locals, compacted, bodies: byId, attachments };
        return planEdits(batch, found, rules);
      },
      { durability, makesRoom: makesRoom(edits) ? 'later' : undefined },
    );
    const decision = await (attaching === undefined
      ? decided
      : decided.catch((error) => attaching.gone(store, edits, error)));
    if (decision === undefined) continue;
    const { outcomes, lacking, lacksTrees, content } = decision;
    if (lacksTrees) trees = true;
    else if (lacking.length > 0) whole = [...new Set([...whole, ...lacking])];
    else {
      if (content !== undefined) await attaching?.settle(store, edits, content, durability);
      return outcomes;
    }
  }
}

/** Edits made here that delete nothing hardly ever need the tree ({@link tipAfter}). */
const takesTrees = (edits: readonly Edit[]): boolean =>
  edits.some((edit) => edit.kind === 'replicated' || (edit.kind === 'new' && edit.deleted));

const TIP = ['tip'];

function firstQueries({ ids, locals }: Batch, trees: boolean) {
  return [
    INFO_QUERY,
    { from: 'docs', keys: ids, texts: trees ? TREE_TEXTS : TIP },
    { from: 'local', keys: locals },
  ] as const;
}

type FoundFirst = FoundAll<DatabaseTables, ReturnType<typeof firstQueries>>;

function queriesOf(
  batch: Batch,
  trees: boolean,
  whole: readonly string[],
  attached: readonly Query<DatabaseTables>[] | undefined,
) {
  return [
    ...firstQueries(batch, trees),
    { from: 'local', keys: whole.length === 0 ? NONE : [COMPACTED], texts: true },
    ...whole.map((id) => ({ from: 'bodies' as const, range: under(id) })),
    ...(attached ?? NONE),
  ] as const;
}
