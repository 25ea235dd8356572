/** Databases while they are used: whoever keeps them may close one that nobody uses (`Databases.use`). */
import type { Database } from '@settledb/core';
import { type Answer, TextAnswer } from './server-answer';
import type { Databases, UsedDatabase } from './server-context';
import { watched } from './server-streams';

/** Undefined where there is none. */
export function useDatabase(databases: Databases, name: string): Promise<UsedDatabase | undefined> {
  return databases.use?.(name) ?? openDatabase(databases, name);
}

/** Who keeps databases without `use` keeps them open. */
async function openDatabase(databases: Databases, name: string): Promise<UsedDatabase | undefined> {
  const database = await databases.open(name);
  return database && { database, release() {} };
}

/** What `work` makes of the database, which stays open meanwhile; undefined where there is none. */
export async function withDatabase<T>(
  databases: Databases,
  name: string,
  work: (database: Database) => Promise<T>,
): Promise<T | undefined> {
  const used = await useDatabase(databases, name);
  if (used === undefined) return undefined;
  try {
    return await work(used.database);
  } catch (error) {
    dropLost(databases, name, used.database, error);
    throw error;
  } finally {
    used.release();
  }
}

/** Errors of databases that were dropped for them: who asked on behalf of another database sees them too, and that one is well. */
const told = new WeakSet<Error>();

/** After an error that says that the database was closed under us, or poisoned by a failed write: nothing this handle does will work again. */
export function dropLost(databases: Databases, name: string, database: Database, error: unknown): void {
  if (!(error instanceof Error) || (error.name !== 'closed' && error.name !== 'io') || told.has(error))
    return;
  told.add(error);
  databases.drop?.(name, database);
}

/** Calls `release` when nothing more is read of a database for this answer: at once, or when its stream ends, breaks or is left. */
export function releasedAfter(answer: Answer, release: () => void): Answer {
  if (answer instanceof TextAnswer || answer.body === null) {
    release();
    return answer;
  }
  const { status, headers, body } = answer;
  return new Response(watched(body, release), { status, headers });
}
