/** Positions in the changes of a database. */
import type { Seq } from './types';

export const isSeq = (value: unknown): value is Seq => typeof value === 'string' || typeof value === 'number';

/** Whether `seq` surely comes before `other`: positions of clusters are texts, which cannot be compared. */
export const isBefore = (seq: Seq | undefined, other: Seq | undefined): boolean =>
  typeof seq === 'number' && typeof other === 'number' && seq < other;
