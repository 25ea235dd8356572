/** Documents found by any of several indexes, in the order of their ids. */
import type { IndexRange, IndexReader } from '../index-reader';
import type { Access } from './access';
import type { Found, ReadOptions, Source, Tally } from './batches';
import { byIds } from './by-ids';
import { behind, RANGES_PER_READ } from './indexed';
import { ALL } from './interval';
import { definitionOf } from './mango-index';
import type { GatherPlan } from './planner';
import { scanned } from './scanned';

/** Rows of a range read at a time if only their ids are kept. */
const ROWS_PER_READ = 5_000;
/**
 * Most ids that are gathered, about 50 bytes each. If there are more, the query leaves out so little that all documents are
 * read instead: the same answer in the same order.
 */
const MAX_GATHERED = 500_000;

export async function* gathered(
  source: Source,
  plan: GatherPlan,
  options: ReadOptions,
  tally: Tally,
): AsyncGenerator<readonly Found[]> {
  const ids = new Set(plan.ids);
  for (const access of plan.accesses) await gather(source.reader, access, options, tally, ids);
  if (ids.size > MAX_GATHERED) {
    yield* scanned(source, { ids: ALL, descending: plan.descending }, options, tally);
    return;
  }
  const { after } = options;
  const sign = plan.descending ? -1 : 1;
  const sorted = [...ids].sort((one, other) => (one < other ? -sign : sign));
  const rest = after && sorted.filter((id) => (plan.descending ? id < after.id : id > after.id));
  yield* byIds(source.database, rest ?? sorted, { ...options, after: undefined }, tally);
}

async function gather(
  reader: IndexReader,
  { index, ranges }: Access,
  { signal, update = true }: ReadOptions,
  tally: Tally,
  into: Set<string>,
): Promise<void> {
  const definition = definitionOf(index);
  for (let rest = ranges; rest.length > 0 && into.size <= MAX_GATHERED; ) {
    const asked = rest.slice(0, RANGES_PER_READ);
    const answers = await reader.read(definition, asked, { limit: ROWS_PER_READ, update, signal });
    tally.seqs.add(answers[0]!.update_seq);
    const more: IndexRange[] = [];
    answers.forEach(({ rows }, at) => {
      tally.keys += rows.length;
      for (const { id } of rows) into.add(id);
      if (rows.length >= ROWS_PER_READ) more.push(...behind([asked[at]!], rows.at(-1)!, false));
    });
    rest = [...more, ...rest.slice(asked.length)];
  }
}
