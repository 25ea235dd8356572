/** Brings what can still be read of a damaged folder into another database. */
import { type DamagedPart, type Salvage, salvage } from '@settledb/adapter-file';
import { badRequest, type CallOptions, checkSignal, DatabaseError, type DatabaseInfo } from '@settledb/core';
import { checkProgress } from '@settledb/dump';
import { Rescue } from './rescue';
import type { SettleDB } from './settledb';

/** Directories that are looked through, the newest first: each has a checkpoint's commits more to read. */
const VIEWS_MAX = 8;

export const NOT_EMPTY = 'The database to write to is not empty';

/** Where it is brought: an empty database. */
export type RecoverTarget = Pick<SettleDB, 'bulkDocs' | 'info'>;

export interface RecoverProgress {
  /** Documents so far, tombstones too. */
  readonly docs: number;
  /** Revisions written so far: leaves, each with its ancestry. */
  readonly revisions: number;
}

export interface RecoverOptions extends CallOptions {
  /** Called after each batch. What it throws ends the call. */
  readonly on_progress?: ((progress: RecoverProgress) => void) | undefined;
}

/** A leaf that cannot be read, or that the other database refuses. */
export interface LostRevision {
  readonly id: string;
  /** Absent: the document's row is lost, so its leaves are not known, or its revision tree, so that only the winner is. */
  readonly rev?: string;
  readonly reason: string;
  /** The document, if only attachments of it are lost. It was not written: with other content it would be another revision. */
  readonly doc?: { readonly [field: string]: unknown };
  /** Those attachments. */
  readonly attachments?: readonly string[];
}

/** Ids among which documents are lost that are not known by name. */
export interface LostRange {
  /** The first id; absent: from the lowest on. */
  readonly from?: string;
  /** The id before which it ends; absent: up to the highest. */
  readonly to?: string;
  /** How many, at most. */
  readonly docs: number;
}

export interface Recovered extends RecoverProgress {
  /** Whether nothing is lost, as far as can be known: a damaged end (`damage`) may have been a write, or no more than a part of one. */
  readonly ok: boolean;
  readonly lost: {
    readonly revisions: readonly LostRevision[];
    readonly ranges: readonly LostRange[];
    /**
     * Commits that cannot be read; an end that is missing counts as one. Documents that they changed are as they were before, and those
     * that they made are not there.
     */
    readonly commits: number;
    /** The lists of pages: what lay on pages that are lost too is not known. */
    readonly directory: boolean;
  };
  /** The parts of the log that are not what was written there. */
  readonly damage: readonly DamagedPart[];
}

/**
 * Reads the database in the folder `from`, which is refused as `corrupt`, or is not, and writes all that is sound to `to`: every leaf
 * with its ancestry and its attachments, design documents and tombstones too. What cannot be read is listed. Nothing in the
 * folder is changed, and nothing that is written differs from what the database held: a document of which anything is lost
 * is listed, and not written in part.
 *
 * `_local` documents are copied too, their revisions counted anew, but for those about the database itself. Such are checkpoints of
 * replications: so replications of `to` begin anew, and bring what is lost here, if their peer has it. Memory: a batch of documents, some
 * 100 bytes for each block and commit of the log, and if an older directory is asked, the commits since, without their texts.
 *
 * @param from path of the folder, which nobody may have open
 * @param to a database without documents; it keeps as much of each history as its `revs_limit` lets it
 * @throws DatabaseError `not_found` without a log in the folder; `locked`; `corrupt` if nothing of the log is sound; `io` if a newer version
 *   wrote it; `bad_request` if `to` is not empty; what writing to `to` fails with
 */
export async function recover(
  from: string,
  to: RecoverTarget,
  options: RecoverOptions = {},
): Promise<Recovered> {
  if (typeof from !== 'string') throw new TypeError('recover takes the path of a folder, and a database');
  if (typeof to?.bulkDocs !== 'function')
    throw new TypeError('recover takes a database to write to: recover(path, new SettleDB(…))');
  const checked = checkedOptions(options);
  const salvaged = await salvage(from, checked.signal);
  try {
    if (hasDocuments(await to.info())) throw badRequest(NOT_EMPTY);
    return await rescueTo(salvaged, to, checked);
  } finally {
    await salvaged.close();
  }
}

/** Whether it has any, or tombstones. */
export const hasDocuments = ({ doc_count, doc_del_count = 0 }: DatabaseInfo): boolean =>
  doc_count + doc_del_count > 0;

/** `null` is none. @throws TypeError; the reason of a signal that is aborted */
export function checkedOptions(given: RecoverOptions | null): RecoverOptions {
  const options = given ?? {};
  checkSignal(options);
  checkProgress(options);
  options.signal?.throwIfAborted();
  return options;
}

/** Writes what there is to a database that is empty. */
export async function rescueTo(
  salvaged: Salvage,
  to: RecoverTarget,
  options: RecoverOptions,
): Promise<Recovered> {
  const rescue = new Rescue(to, options);
  let views = 0;
  for (const view of salvaged.views()) {
    if (views++ === VIEWS_MAX || rescue.isDone) break;
    // A directory that contradicts itself is passed over, as one that cannot be read.
    await rescue.through(view).catch(unlessCorrupt);
  }
  if (!rescue.isDone) await rescue.throughPages(salvaged.bare()).catch(unlessCorrupt);
  return rescue.result(salvaged.damage);
}

/** @throws what it is given, if it is anything else */
export function unlessCorrupt(error: unknown): void {
  if (!(error instanceof DatabaseError) || error.name !== 'corrupt') throw error;
}
