/**
 * `POST _local_docs` with `keys`: several `_local` documents by name, missing ones as rows. Pages read their checkpoints this way,
 * because a browser writes every 404 to the console. A listing without keys is not offered.
 */
import { badRequest, type ExistingDoc, isDatabaseError, isLocalId } from '@settledb/core';
import { type Answer, jsonResponse } from './server-answer';
import { readObject } from './server-body';
import type { DatabaseContext } from './server-context';
import { isTexts } from './wire';

/** Keys in one request; a replication asks for one. */
const MAX_KEYS = 1_000;

export async function localDocs({ database, query, request, server }: DatabaseContext): Promise<Answer> {
  const { keys, ...body } = await readObject(request, { limit: server.limits.request });
  if (!isTexts(keys) || keys.length > MAX_KEYS) {
    throw badRequest(`\`keys\` must be a list of at most ${MAX_KEYS} ids`);
  }
  const withDocs = body.include_docs === true || query.text('include_docs') === 'true';
  const rows: unknown[] = [];
  for (const key of keys) {
    const doc = isLocalId(key) ? await find(key) : undefined;
    if (doc === undefined) rows.push({ key, error: 'not_found' });
    else rows.push({ id: key, key, value: { rev: doc._rev }, ...(withDocs ? { doc } : {}) });
  }
  return jsonResponse(200, { total_rows: null, offset: null, rows });

  async function find(id: string): Promise<ExistingDoc | undefined> {
    try {
      return await database.get(id);
    } catch (error) {
      if (isDatabaseError(error) && error.status === 404) return undefined;
      throw error;
    }
  }
}
