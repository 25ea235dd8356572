/** Writes down in a database that it has a snapshot: see `snapshot-sessions.ts` of core. */
import {
  type CallOptions,
  type Database,
  isDatabaseError,
  SNAPSHOT_ID,
  type SnapshotSession,
  withSession,
} from '@settledb/core';
import { putLocal } from './put-local';

/** A caller that may not write it can make, or load, the snapshot all the same: a replication then compares everything once. */
export async function remember(
  db: Pick<Database, 'get' | 'put'>,
  session: SnapshotSession,
  options: CallOptions,
): Promise<void> {
  const time = new Date().toISOString();
  try {
    await putLocal(db, SNAPSHOT_ID, (there) => withSession(there, { ...session, time }), options);
  } catch (error) {
    if (!isDatabaseError(error) || (error.status !== 401 && error.status !== 403)) throw error;
  }
}
