/** Writes down in a database that it has a snapshot: see `snapshot-sessions.ts` of core. */
import {
  type CallOptions,
  type Database,
  type Doc,
  isDatabaseError,
  SNAPSHOT_ID,
  type SnapshotSession,
  withSession,
} from '@settledb/core';
import { unlessMissing } from './missing';

/** Others may write the document at the same moment. */
const TRIES = 20;

/** A caller that may not write it can make, or load, the snapshot all the same: a replication then compares everything once. */
export async function remember(
  db: Pick<Database, 'get' | 'put'>,
  session: SnapshotSession,
  { signal }: CallOptions,
): Promise<void> {
  const time = new Date().toISOString();
  for (let tries = 1; ; tries++) {
    try {
      const there = await db.get(SNAPSHOT_ID, { signal }).catch(unlessMissing);
      const rev = there === undefined ? {} : { _rev: there._rev };
      const doc = { _id: SNAPSHOT_ID, ...rev, ...withSession(there, { ...session, time }) };
      await db.put(doc as Doc, { signal });
      return;
    } catch (error) {
      if (!isDatabaseError(error)) throw error;
      if (error.status === 401 || error.status === 403) return;
      if (error.status !== 409 || tries === TRIES) throw error;
    }
  }
}
