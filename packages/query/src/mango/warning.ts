/** The warning of a `find` that was slower than necessary. */

import type { Tally } from './batches';
import { conjunctionOf, fixedValue } from './constraint';
import { formulaOf } from './formula';
import { isFullScan, type Plan } from './planner';
import type { Find } from './request';

/** CouchDB's words, which tools search for. */
const NO_INDEX = 'No matching index found, create an index to optimize query time.';
const MANY_EXAMINED =
  'The number of documents examined is high in proportion to the number of results returned. Consider adding a more specific index to improve this.';
/** CouchDB's threshold for a high proportion. */
const HIGH_PROPORTION = 10;
/** Documents below which no proportion is worth a warning. */
const FEW = 25;

export function warningOf(asked: Find, plan: Plan, tally: Tally, returned: number): string | undefined {
  const warnings: string[] = [];
  if (isFullScan(plan)) warnings.push(NO_INDEX);
  if (plan.sorts) warnings.push(sortWarning(asked));
  const proportion = proportionWarning(tally.docs, returned);
  if (proportion !== undefined) warnings.push(proportion);
  return warnings.length === 0 ? undefined : warnings.join('\n');
}

export const proportionWarning = (examined: number, returned: number): string | undefined =>
  returned > 0 && examined > FEW && examined > returned * HIGH_PROPORTION ? MANY_EXAMINED : undefined;

/** Names the index that would help: fields held to one value first, then those of the sort. */
function sortWarning({ exact, sortFields, sort }: Find): string {
  const { fields } = conjunctionOf(formulaOf(exact));
  const fixed = [...fields.values()].filter((each) => fixedValue(each) !== undefined);
  const sorted = new Set(sort.map(({ path }) => JSON.stringify(path)));
  const names = fixed
    .filter(({ path }) => !sorted.has(JSON.stringify(path)))
    .map(({ path }) => path.map(escaped).join('.'));
  const index = JSON.stringify([...new Set([...names, ...sortFields.map(({ name }) => name)])]);
  return `Sorted in memory: an index on ${index} would have this order.`;
}

/** A name as part of a path. */
const escaped = (name: string): string => name.replaceAll(/[\\.]/g, '\\$&').replace(/^\$/, '\\$');
