/** Storing the states of stretches of an index, for as long as nothing in them changes. */
import {
  type DatabaseTables,
  type Loose,
  placeKey,
  type ReductionRow,
  type Store,
  sortKey,
  type ViewStateRow,
} from '@settledb/core';
import type { Place, Stretch } from './groups';
import { isJson } from './plain';
import { isFailed } from './reducers';

/** A shorter stretch is not worth a row, unless it closes a gap between stored ones. */
const ROWS_MIN = 64;
/** Stretches stored at a time: some ms of work. The next answer stores more. */
const STORED_MAX = 2_000;
/**
 * Most reduces whose states one run keeps. Each text that a reduce of a map ever had would else leave a state in every run, for as long
 * as its rows stay, and each answer would parse them all: hardly a map has more at a time.
 */
const STATES_MAX = 32;

/**
 * @param state of the index when the stretches were reduced: if it has changed since, nothing is stored
 * @returns whether any was
 */
export async function storeStretches(
  store: Store<DatabaseTables>,
  state: ViewStateRow,
  reducer: string,
  stretches: readonly Stretch[],
): Promise<boolean> {
  const worth = stretches
    .filter((each) => (each.rows >= ROWS_MIN || each.fitting) && isStorable(each.state))
    .slice(0, STORED_MAX);
  const [first] = worth;
  const last = worth.at(-1);
  if (first === undefined || last === undefined) return false;
  const { tag } = state;
  const begin = placeKey({ ...first.first, tag });
  const before = { gte: [tag], lt: begin };
  const span = { gte: begin, lt: placeKey({ ...last.end, tag }) };
  return store.write(
    [
      { from: 'views', keys: [state.view] },
      // It may reach into the first stretch.
      { from: 'reductions', range: before, reverse: true, limit: 1, texts: true },
      { from: 'reductions', range: span, texts: true },
    ],
    ([[view], earlier, runs]) => {
      if (view?.tag !== tag || view.version !== state.version) return { writes: [], value: false };
      const present = [...earlier, ...runs].map((row) => ({
        row,
        from: placeText(row),
        to: placeText(endOf(row)),
      }));
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
        value: put.length > 0,
      };
    },
  );
}

/** Whether it is neither the state of a function that threw, nor one that holds a Date or an infinite sum. */
const isStorable = (state: Loose): boolean => !isFailed(state) && isJson(state);

/**
 * The names under which states are stored: the number of the code that made them, then a reducer's id. States of earlier code
 * are ignored: before the second, a query with a `limit` of groups stored what it had read of a run as all of it.
 */
const GENERATION = '2 ';

/** The states of a stored run, by reducer. */
export function statesOf({ values }: ReductionRow): Map<string, Loose> {
  const stored = Object.entries(JSON.parse(values as string));
  const current = stored.filter(([name]) => name.startsWith(GENERATION));
  return new Map(current.map(([name, state]) => [name.slice(GENERATION.length), state]));
}

const valuesOf = (states: ReadonlyMap<string, Loose>): string =>
  JSON.stringify(Object.fromEntries([...states].map(([id, state]) => [GENERATION + id, state])));

/** The row of a stretch: a new one, or that of the same run with one more state. None if it overlaps another run. */
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
    return { ...other.row, values: valuesOf(withState(statesOf(other.row), reducer, stretch.state)) };
  }
  const { key, id, n } = stretch.first;
  const { end, last } = stretch;
  const values = valuesOf(new Map([[reducer, stretch.state]]));
  return { tag, key, id, n, end_key: end.key, end_id: end.id, end_n: end.n, last, values };
}

/** With `state` as the last one. The oldest go if there are too many. */
function withState(states: Map<string, Loose>, reducer: string, state: Loose): ReadonlyMap<string, Loose> {
  states.delete(reducer);
  states.set(reducer, state);
  for (const oldest of states.keys()) {
    if (states.size <= STATES_MAX) break;
    states.delete(oldest);
  }
  return states;
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
const placeText = ({ key, id, n }: Place): string => sortKey([key, id, n]) as string;
