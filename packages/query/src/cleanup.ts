/**
 * Dropping indexes that nothing defines any more. Which these are is decided in the commit that drops them, from the design
 * documents at that moment. Their rows are removed afterwards, in slices; a row `dropped:…` stays until all are gone, so that the next
 * cleanup can go on if this one is interrupted.
 */
import {
  type CallOptions,
  type DatabaseTables,
  type DocRow,
  DROPPED,
  type ExistingDoc,
  joinDoc,
  type Key,
  type Loose,
  placeKey,
  type Range,
  type Store,
  storedBody,
  under,
  type ViewStateRow,
  type WriteOptions,
} from '@settledb/core';
import { viewIds } from './definitions';
import { DESIGN_IDS } from './design';
import { definitionOf, indexesOf } from './mango/mango-index';
import { Slices } from './slices';

/** Rows removed in one commit: some 5 ms of work. */
const SLICE_ROWS = 1_000;

/** @param registered ids of indexes that the program defines */
export async function dropUnused(
  store: Store<DatabaseTables>,
  registered: ReadonlySet<string>,
  { signal }: CallOptions,
): Promise<void> {
  const options: WriteOptions = { signal, makesRoom: 'later' };
  const dropped = await store.write(
    [
      { from: 'docs', range: DESIGN_IDS, texts: ['body'] },
      { from: 'views', range: { gte: '' } },
    ],
    ([docs, views]) => {
      const used = new Set([...registered, ...docs.flatMap(definedBy)]);
      const marked = views.filter(({ view }) => view.startsWith(DROPPED));
      const unused = views.filter(({ view }) => !view.startsWith(DROPPED) && !used.has(view));
      const marks = unused.map((view): ViewStateRow => ({ ...view, view: DROPPED + view.tag }));
      return {
        writes: [
          { into: 'views', delete: unused.map(({ view }) => view) },
          { into: 'views', put: marks },
        ],
        value: [...marked, ...marks],
      };
    },
    options,
  );
  for (const mark of dropped) await removeRows(store, mark, options);
}

function definedBy(row: DocRow): string[] {
  return row.deleted ? [] : definedIn(joinDoc(row.id, row.rev, false, storedBody(row)));
}

/** The ids of the indexes that a design document defines, whatever is in it. */
export const definedIn = (ddoc: ExistingDoc<Record<string, Loose>>): string[] => [
  ...viewIds(ddoc),
  ...indexesOf(ddoc).map((index) => definitionOf(index).id),
];

/**
 * Each slice begins behind the one before: of what was removed, the store remembers much until its next checkpoint, and would walk past
 * it each time. What an update that was under way put before that is found by one more slice from the beginning.
 */
async function removeRows(
  store: Store<DatabaseTables>,
  { view, tag }: ViewStateRow,
  options: WriteOptions,
): Promise<void> {
  const slices = new Slices();
  const all: Range = under(tag);
  let [index, reductions] = [all, all];
  for (let isDone = false; !isDone; ) {
    const isWhole = index === all && reductions === all;
    const [lastRow, lastRun, isEnd] = await store.write(
      [
        { from: 'index', range: index, limit: SLICE_ROWS },
        { from: 'reductions', range: reductions, limit: SLICE_ROWS },
      ],
      ([rows, runs]) => {
        const [removed, combined] = [rows.map(placeKey), runs.map(placeKey)];
        const isEnd = rows.length < SLICE_ROWS && runs.length < SLICE_ROWS;
        return {
          writes: [
            { into: 'index', delete: removed },
            { into: 'reductions', delete: combined },
            { into: 'views', delete: isEnd && isWhole ? [view] : [] },
          ],
          value: [removed.at(-1), combined.at(-1), isEnd] as const,
        };
      },
      options,
    );
    isDone = isEnd && isWhole;
    index = isEnd ? all : behind(index, lastRow);
    reductions = isEnd ? all : behind(reductions, lastRun);
    await slices.next();
  }
}

/** What of `range` comes after `last`, if there is one. */
const behind = (range: Range, last: Key | undefined): Range =>
  last === undefined ? range : { gt: last, lte: range.lte! };
