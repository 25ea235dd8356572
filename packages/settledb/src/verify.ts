/** Reads all of a database in a folder, to know that it is sound before it is needed: of a backup, or of a disk that is not trusted. */
import { type DamagedPart, type Salvage, salvage } from '@settledb/adapter-file';
import { type DatabaseTables, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { contradictionsIn } from './contradictions';
import {
  checkedOptions,
  type Recovered,
  type RecoverOptions,
  type RecoverTarget,
  rescueTo,
  unlessCorrupt,
} from './recover';

export interface Verified {
  /**
   * Nothing is damaged, lost or contradictory. An end that was never finished (`damage`, `isLast`) is no fault: the next opening cuts
   * it off.
   */
  readonly ok: boolean;
  /** Documents that can be read, tombstones too. */
  readonly docs: number;
  /** Their leaves that can be read whole, each with its ancestry and its attachments. */
  readonly revisions: number;
  /** What `recover` could not bring into another database. */
  readonly lost: Recovered['lost'];
  /** The parts of the log that are not what was written there. */
  readonly damage: readonly DamagedPart[];
  /** What does not fit together although every byte is sound, in words; a hundred at most. Not looked for in a log with damage. */
  readonly contradictions: readonly string[];
}

/**
 * Reads the database in `folder`: every byte of its log, every leaf with its attachments, `_local` documents, counters, orders, revision
 * trees, references to attachments, and rows of indexes (against the documents there are, not against what they would be mapped to).
 * Nothing in the folder is changed.
 *
 * @param folder path of the folder, which nobody may have open
 * @throws DatabaseError `not_found` without a log in the folder; `locked`; `corrupt` if nothing of the log is sound; `io` if a newer version
 *   wrote it
 */
export async function verify(folder: string, options: RecoverOptions = {}): Promise<Verified> {
  if (typeof folder !== 'string') throw new TypeError('verify takes the path of a folder');
  const checked = checkedOptions(options);
  const salvaged = await salvage(folder, checked.signal);
  try {
    let docs = 0;
    const on_progress: RecoverOptions['on_progress'] = (progress) => {
      docs = progress.docs;
      checked.on_progress?.(progress);
    };
    const { ok, revisions, lost, damage } = await rescueTo(salvaged, NOWHERE, { ...checked, on_progress });
    const isWhole = damage.every(({ isLast }) => isLast);
    const contradictions = isWhole ? await contradictionsOf(salvaged, checked) : [];
    return {
      ok: ok && isWhole && contradictions.length === 0,
      docs,
      revisions,
      lost,
      damage,
      contradictions,
    };
  } finally {
    await salvaged.close();
  }
}

/** Takes everything and keeps nothing. */
const NOWHERE: RecoverTarget = {
  info: async () => ({ doc_count: 0 }) as never,
  async bulkDocs(input) {
    for (const { _attachments = {} } of input as Iterable<{ _attachments?: object }>)
      for (const { data } of Object.values(_attachments))
        if (data instanceof ReadableStream) await data.cancel();
    return [] as never;
  },
};

async function contradictionsOf(salvaged: Salvage, options: RecoverOptions): Promise<string[]> {
  for (const view of salvaged.views()) {
    const store = await openLogStore<DatabaseTables>(view, schema, { checkpoint: false });
    try {
      return await contradictionsIn(store, options);
    } catch (error) {
      unlessCorrupt(error);
      return [(error as Error).message];
    } finally {
      await store.close();
    }
  }
  return [];
}
