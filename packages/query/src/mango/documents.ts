/**
 * The documents of a plan, in its order, a batch at a time, and a count of what was examined. Not yet tested with the selector.
 */
import type { Found, ReadOptions, Source, Tally } from './batches';
import { gathered } from './gathered';
import { indexed } from './indexed';
import type { Plan } from './planner';
import { scanned } from './scanned';

export function documentsOf(
  source: Source,
  plan: Plan,
  options: ReadOptions,
  tally: Tally,
): AsyncGenerator<readonly Found[]> {
  if (plan.kind === 'scan') return scanned(source, plan, options, tally);
  return plan.kind === 'index'
    ? indexed(source, plan, options, tally)
    : gathered(source, plan, options, tally);
}
