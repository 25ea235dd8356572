/**
 * How a page reads a `_local` document: by `_local_docs`, which answers 200 even if there is none. A GET would answer 404,
 * and a browser writes each 404 to the console, where people take it for a fault.
 */
import { type ExistingDoc, isDatabaseError, isLocalId, isObject, notFound } from '@settledb/core';
import { checkDoc } from './client-check';
import { badResponse } from './client-error';
import type { Http } from './client-http';

/** Answers of servers that do not know the request, or allow it only to some. */
const REFUSALS: readonly number[] = [400, 401, 403, 404, 405, 415, 501];

const hasConsole = 'document' in globalThis || 'WorkerGlobalScope' in globalThis;

export class LocalDocs {
  #works = hasConsole;

  /** Whether this id is to be read by `read`. */
  takes(id: string): boolean {
    return this.#works && isLocalId(id);
  }

  /** @returns undefined if the server does not offer this: the document is then read by GET, now and later @throws not_found */
  async read<Content extends object>(
    http: Http,
    id: string,
    signal: AbortSignal | undefined,
  ): Promise<ExistingDoc<Content> | undefined> {
    const query = { include_docs: true };
    let answer: unknown;
    try {
      answer = await http.json({
        method: 'POST',
        path: '/_local_docs',
        query,
        body: { keys: [id] },
        signal,
        docId: id,
      });
    } catch (error) {
      if (!isDatabaseError(error) || !REFUSALS.includes(error.status)) throw error;
      this.#works = false;
      return undefined;
    }
    const row = isObject(answer) && Array.isArray(answer.rows) ? (answer.rows as unknown[])[0] : undefined;
    if (!isObject(row)) throw badResponse('_local_docs has no row');
    if (row.error === 'not_found') throw notFound('missing', id);
    return checkDoc<Content>(row.doc, id);
  }
}
