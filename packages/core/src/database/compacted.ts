/**
 * Up to which seq past bodies were dropped: the local document `_local/compaction`, `{ last_seq }`, which other versions and PouchDB
 * keep as well.
 */
import { nextLocalRev } from '../model/revision';
import type { LocalRow } from '../store/schema';

/** Key of `_local/compaction`. */
export const COMPACTED = 'compaction';

function contentOf(row: LocalRow | undefined): Record<string, unknown> {
  return row === undefined ? {} : JSON.parse(row.body as string);
}

/** @param row of {@link COMPACTED}, with its texts */
export function compactedSeq(row: LocalRow | undefined): number {
  const { last_seq: seq } = contentOf(row);
  return typeof seq === 'number' && seq >= 0 ? seq : 0;
}

/** The row that records `seq`. */
export function compactedRow(before: LocalRow | undefined, seq: number): LocalRow {
  const body = JSON.stringify({ ...contentOf(before), last_seq: seq });
  return { id: COMPACTED, rev: nextLocalRev(before?.rev), body };
}
