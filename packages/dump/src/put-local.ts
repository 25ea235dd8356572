/** Writes a `_local` document over the one that is there, which others may write at the same moment. */
import {
  type CallOptions,
  type Database,
  type Doc,
  type ExistingDoc,
  isDatabaseError,
  unlessMissing,
} from '@settledb/core';

/** As often as replications try with theirs. */
const TRIES = 20;

/**
 * @param contentOf what to write, from what is there; undefined: that stays
 * @param most tries; one for content that can be read only once
 */
export async function putLocal(
  db: Pick<Database, 'get' | 'put'>,
  id: string,
  contentOf: (there: ExistingDoc | undefined) => object | undefined,
  { signal }: CallOptions,
  most = TRIES,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const there: ExistingDoc | undefined = await db.get(id, { signal }).catch(unlessMissing);
    const content = contentOf(there);
    if (content === undefined) return;
    try {
      await db.put({ ...content, _id: id, ...(there && { _rev: there._rev }) } as Doc, { signal });
      return;
    } catch (error) {
      if (!isConflict(error) || tries === most) throw error;
    }
  }
}

export const isConflict = (error: unknown): boolean => isDatabaseError(error) && error.status === 409;
