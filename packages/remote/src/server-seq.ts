/**
 * Positions on the wire are texts, as CouchDB's are since its second version; there are clients that read nothing else, and others that
 * take a 0 for none. Digits alone: `since` takes them back as they are.
 */
import type { Seq } from '@settledb/core';

/** Null is the place of a change in between, where not all are told (`seq_interval`). */
export const seqText = (seq: Seq | null): string | null => (seq === null ? null : String(seq));

/** An answer that may have been asked for its position. */
export function withSeqText<Result extends object>(answer: Result): Result {
  const { update_seq } = answer as { readonly update_seq?: Seq };
  return update_seq === undefined ? answer : { ...answer, update_seq: String(update_seq) };
}
