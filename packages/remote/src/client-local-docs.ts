/**
 * How a page reads a `_local` document: by `_local_docs`, which answers 200 also when there is none. A GET would be a 404,
 * and a browser writes each of those to the console, which a person takes for a fault.
 */
import { type ExistingDoc, isDatabaseError, isLocalId, notFound } from '@settledb/core';
import { checkDoc, unexpected } from './client-check';
import type { Http } from './client-http';
import { isObject } from './wire';

/** Servers that do not know the request, or let only some ask it. */
const REFUSALS: readonly number[] = [400, 401, 403, 404, 405, 415, 501];

const hasConsole = 'document' in globalThis || 'WorkerGlobalScope' in globalThis;

export class LocalDocs {
  #works = hasConsole;

  /** Whether `read` is the way for this id. */
  takes(id: string): boolean {
    return this.#works && isLocalId(id);
  }

  /** @returns undefined when the server does not offer it: ask in the other way, now and later @throws not_found */
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
    if (!isObject(row)) throw unexpected('_local_docs has no row');
    if (row.error === 'not_found') throw notFound('missing', id);
    return checkDoc<Content>(row.doc, id);
  }
}
