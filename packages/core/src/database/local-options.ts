/** What a local database is opened with. */
import { badRequest } from '../model';
import type { Durability } from '../store/store';
import type { Bytes } from './bytes';
import type { Evaluate } from './functions';
import { show } from './show';

export interface LocalOptions {
  readonly name: string;
  /** What `db.adapter` and `info().adapter` say. */
  readonly adapter: string;
  /** Most generations kept on a branch; older revisions are forgotten. Default 1,000, at least 1. */
  readonly revs_limit?: number | undefined;
  /** Every write drops the bodies of the revisions it supersedes. Default false. */
  readonly auto_compaction?: boolean | undefined;
  /** Equal edits give equal revisions, in every database. Default true; `false` gives random ones. */
  readonly deterministic_revs?: boolean | undefined;
  /** When a write is acknowledged. Default: the store's. */
  readonly durability?: Durability | undefined;
  /** Bytes in the platform's forms. Default: by what every platform has, with Blobs for `binary`. */
  readonly bytes?: Bytes | undefined;
  /** Makes functions of the text in design documents; default: evaluates it. */
  readonly evaluate?: Evaluate | undefined;
  /** Takes the storage away after the store was closed. Without it there is no `destroy`. */
  readonly onDestroy?: (() => Promise<void>) | undefined;
}

/** CouchDB's default: enough for replicas that were long apart, little enough to send along. */
export const REVS_LIMIT = 1_000;

/** @throws DatabaseError 400 for options out of range */
export function checkLocalOptions(options: Omit<LocalOptions, 'name' | 'adapter'>): void {
  const { revs_limit = REVS_LIMIT, durability = 'relaxed', evaluate } = options;
  checkRevsLimit(revs_limit);
  for (const name of ['auto_compaction', 'deterministic_revs'] as const) {
    const value: unknown = options[name] ?? undefined;
    if (value !== undefined && typeof value !== 'boolean')
      throw badRequest(`${name} must be true or false, not ${show(value)}`);
  }
  if (evaluate != null && typeof evaluate !== 'function')
    throw badRequest('evaluate must be a function: that of settledb/eval');
  // A misspelt value would promise less than was asked for.
  if (durability !== 'relaxed' && durability !== 'strict')
    throw badRequest(`durability must be 'relaxed' or 'strict', not ${show(durability)}`);
}

/** @throws DatabaseError 400 */
export function checkRevsLimit(limit: number): void {
  if (!Number.isSafeInteger(limit) || limit < 1) throw badRequest('revs_limit must be a whole number from 1');
}
