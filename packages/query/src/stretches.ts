/** Storing the states of stretches of an index, for as long as nothing in them changes. */
import {
  type DatabaseTables,
  type Loose,
  type ReductionRow,
  type Store,
  sortKey,
  type ViewStateRow,
} from '@settledb/core';
import type { Place, Stretch } from './groups';
import { isFailed } from './reducers';

/** A shorter stretch is not worth a row, unless it closes a gap between stored ones. */
const ROWS_MIN = 64;
/** Stretches stored by one answer: some ms of work. The next one stores more. */
const STORED_MAX = 2_000;

/** @param state of the index when the stretches were reduced: if it is another by now, nothing is stored */
export async function storeStretches(
  store: Store<DatabaseTables>,
  state: ViewStateRow,
  reducer: string,
  stretches: readonly Stretch[],
): Promise<void> {
  const worth = stretches
    .filter((each) => (each.rows >= ROWS_MIN || each.fitting) && isStorable(each.state))
    .slice(0, STORED_MAX);
  const [first] = worth;
  const last = worth.at(-1);
  if (first === undefined || last === undefined) return;
  const { tag } = state;
  const span = { gte: [tag], lt: keyOf(tag, last.end) };
  await store.write(
    [
      { from: 'views', keys: [state.view] },
      { from: 'reductions', range: span, texts: true },
    ],
    ([[view], runs]) => {
      if (view?.tag !== tag || view.version !== state.version) return { writes: [], value: undefined };
      const present = runs.map((row) => ({ row, from: placeText(row), to: placeText(endOf(row)) }));
      const put = worth.flatMap((each) => rowOf(tag, reducer, each, present) ?? []);
      const marked: ViewStateRow[] = view.reduced ? [] : [{ ...view, reduced: true }];
      return {
        writes:
          put.length === 0
            ? []
            : [
                { into: 'reductions', put },
                { into: 'views', put: marked },
              ],
        value: undefined,
      };
    },
  );
}

/** What is JSON and comes back the same: not the state of a function that threw, or one that holds a Date or an infinite sum. */
const isStorable = (state: Loose): boolean => !isFailed(state) && isJson(state);

function isJson(value: Loose): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null)
    return value === null || typeof value === 'string' || typeof value === 'boolean';
  // By `some`, holes would pass.
  if (Array.isArray(value)) return !value.includes(undefined) && value.every(isJson);
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(value));
  return isPlain && Object.values(value).every(isJson);
}

/** The row of a stretch: a new one, or that of the same run with one more state. None where it overlaps another run. */
function rowOf(
  tag: string,
  reducer: string,
  stretch: Stretch,
  present: readonly Run[],
): ReductionRow | undefined {
  const from = placeText(stretch.first);
  const to = placeText(stretch.end);
  const other = firstEndingAfter(present, from);
  if (other !== undefined && other.from < to) {
    if (other.from !== from || other.to !== to) return undefined;
    const states = new Map(Object.entries(JSON.parse(other.row.values as string))).set(
      reducer,
      stretch.state,
    );
    return { ...other.row, values: JSON.stringify(Object.fromEntries(states)) };
  }
  const { key, id, n } = stretch.first;
  const { end, last } = stretch;
  const values = JSON.stringify({ [reducer]: stretch.state });
  return { tag, key, id, n, end_key: end.key, end_id: end.id, end_n: end.n, last, values };
}

interface Run {
  readonly row: ReductionRow;
  readonly from: string;
  readonly to: string;
}

/** Runs are in order and do not overlap. */
function firstEndingAfter(runs: readonly Run[], place: string): Run | undefined {
  let low = 0;
  let high = runs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((runs[middle] as Run).to <= place) low = middle + 1;
    else high = middle;
  }
  return runs[low];
}

const endOf = (run: ReductionRow): Place => ({ key: run.end_key, id: run.end_id, n: run.end_n });
const keyOf = (tag: string, { key, id, n }: Place) => [tag, key, id, n];
const placeText = ({ key, id, n }: Place): string => sortKey([key, id, n]) as string;
