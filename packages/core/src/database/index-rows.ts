/**
 * What must be deleted when rows of an index change: the stored reductions of the runs that they lie in. Also removes a purged
 * document from the indexes, since no change tells of a purge.
 */
import { type Key, sortKey, under, upperBound } from '../store/keys';
import type { DatabaseTables, IndexEntry, ReductionRow, ViewStateRow } from '../store/schema';
import type { RangeQuery, Write } from '../store/store';

/** A position in an index, whether or not there is a row. */
export type IndexPlace = Pick<IndexEntry, 'tag' | 'key' | 'id' | 'n'>;

/** The key of the row, or the run, at a place. */
export const placeKey = ({ tag, key, id, n }: IndexPlace): readonly [string, string, string, number] => [
  tag,
  key,
  id,
  n,
];

/** For up to this many places the run of each is looked up singly; for more, all runs of the index are read. */
const PLACES_SINGLY_MAX = 32;

/** The queries whose answers {@link runsAt} needs. */
export function runQueries(places: readonly IndexPlace[]): RangeQuery<'reductions'>[] {
  const from = 'reductions';
  if (places.length <= PLACES_SINGLY_MAX)
    return places.map((place) => {
      return { from, range: { gte: [place.tag], lte: placeKey(place) }, reverse: true, limit: 1 } as const;
    });
  const tags = [...new Set(places.map(({ tag }) => tag))];
  return tags.map((tag) => ({ from, range: under(tag) }) as const);
}

/** Keys of the runs in which the places lie. @param found the answers to {@link runQueries} */
export function runsAt(places: readonly IndexPlace[], found: readonly (readonly ReductionRow[])[]): Key[] {
  const runs = new Map(found.flat().map((run) => [placeText(run), run]));
  const starts = [...runs.keys()].sort();
  const touched = new Set<ReductionRow>();
  for (const place of places) {
    const at = placeText(place);
    const run = runs.get(starts[upperBound(starts, at) - 1] ?? '');
    if (run !== undefined && at < (sortKey([run.tag, run.end_key, run.end_id, run.end_n]) as string))
      touched.add(run);
  }
  return [...touched].map(placeKey);
}

const placeText = (place: IndexPlace): string => sortKey(placeKey(place)) as string;

/** Removes the rows of one document from all indexes. @param runs keys of the reductions that they were part of */
export function withoutRows(
  rows: readonly IndexEntry[],
  runs: readonly Key[],
  views: readonly ViewStateRow[],
): Write<DatabaseTables>[] {
  if (rows.length === 0) return [];
  const counts = new Map<string, number>();
  for (const { tag } of rows) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  const changed = views
    .filter(({ tag }) => counts.has(tag))
    .map((view) => ({ ...view, rows: view.rows - counts.get(view.tag)!, version: view.version + 1 }));
  return [
    { into: 'index', delete: rows.map(placeKey) },
    { into: 'reductions', delete: runs },
    { into: 'views', put: changed },
  ];
}
