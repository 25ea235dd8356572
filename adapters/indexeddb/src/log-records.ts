/** Commits as records of the log, whole or in pieces. */
import type { Commit } from '@settledb/engine';
import { type Cut, fitting, isCut, isShort, joined } from './pieces';
import type { LogRecord } from './schema';

/** What a commit is in the log. */
export interface Stored {
  readonly record: LogRecord | (Pick<LogRecord, 'n' | 'by'> & Cut);
  readonly pieces: readonly string[];
}

/** @param by names the call that writes it */
export function stored({ n, head, tail }: Commit, by: string): Stored {
  if (isShort({ length: head.length + tail.length })) return { record: { n, head, tail, by }, pieces: [] };
  const { length } = head;
  const pieces = fitting(head + tail);
  const [only] = pieces as [string];
  if (pieces.length > 1) return { record: { n, by, cut: [length, tail.length] }, pieces };
  return { record: { n, head: only.slice(0, length), tail: only.slice(length), by }, pieces: [] };
}

/**
 * Makes records whole again: those of commits after `known`. Damage to an earlier one is found when its tail is loaded.
 *
 * @param values of a range of the log, each record with its pieces behind it
 * @throws DatabaseError `corrupt` if pieces are missing; records are not checked
 */
export function whole(values: readonly unknown[], known: number): unknown[] {
  const records: unknown[] = [];
  for (let at = 0; at < values.length; ) {
    const record = values[at++];
    const from = at;
    while (typeof values[at] === 'string') at++;
    // One without its number is kept, and then found to be damaged.
    if (numberOf(record) <= known) continue;
    records.push(isCut(record) ? withTexts(record, values.slice(from, at)) : record);
  }
  return records;
}

/** NaN if it has none. */
const numberOf = (record: unknown): number =>
  (record as Partial<LogRecord> | null | undefined)?.n ?? Number.NaN;

function withTexts(record: Cut, pieces: readonly unknown[]): unknown {
  const { n, by } = record as unknown as LogRecord;
  const [head, tail] = joined(record, pieces, `The log record of commit ${n}`);
  return { n, head, tail, by };
}
