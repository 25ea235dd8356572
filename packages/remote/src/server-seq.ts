/**
 * On the wire, positions are texts, as in CouchDB since its second version; some clients read nothing else, and others take
 * a 0 for none. They are digits only: `since` accepts them as they are.
 */
import type { Seq } from '@settledb/core';

/** With `seq_interval`, not every change has its position: null stands for those without. */
export const seqText = (seq: Seq | null): string | null => (seq === null ? null : String(seq));

/** For an answer that has a position if it was asked for. */
export function withSeqText<Result extends object>(answer: Result): Result {
  const { update_seq } = answer as { readonly update_seq?: Seq };
  return update_seq === undefined ? answer : { ...answer, update_seq: String(update_seq) };
}
