/** Databases while they are used: one that nobody uses may be closed (`Databases.use`). */
import type { Database } from '@settledb/core';
import { type Answer, TextAnswer } from './server-answer';
import type { Databases, UsedDatabase } from './server-context';
import { watched } from './server-streams';

/** Undefined if there is none. */
export function useDatabase(databases: Databases, name: string): Promise<UsedDatabase | undefined> {
  return databases.use?.(name) ?? openDatabase(databases, name);
}

/** A `Databases` without `use` keeps its databases open. */
async function openDatabase(databases: Databases, name: string): Promise<UsedDatabase | undefined> {
  const database = await databases.open(name);
  return database && { database, release() {} };
}

/** The result of `work` with the database, which stays open meanwhile; undefined if there is none. */
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

/** Errors of databases that were dropped for them: a request for another database may see one too, though its own database is well. */
const told = new WeakSet<Error>();

/** Called after an error that says that the database was closed under us, or broken by a failed write: its handle is of no more use. */
export function dropLost(databases: Databases, name: string, database: Database, error: unknown): void {
  if (!(error instanceof Error) || (error.name !== 'closed' && error.name !== 'io') || told.has(error))
    return;
  told.add(error);
  databases.drop?.(name, database);
}

/** Calls `release` when this answer needs no more of the database: at once, or when its stream ends, breaks or is left. */
export function releasedAfter(answer: Answer, release: () => void): Answer {
  if (answer instanceof TextAnswer || answer.body === null) {
    release();
    return answer;
  }
  const { status, headers, body } = answer;
  return new Response(watched({ reader: body.getReader() }, release), { status, headers });
}
