/** Mango over a database and its indexes: the part of `Queries` that is about selectors. */
import {
  askedNow,
  type CallOptions,
  type CreateIndexRequest,
  type CreateIndexResult,
  type Database,
  type Explanation,
  type FindRequest,
  type FindResult,
  type IndexFields,
  type IndexList,
  isDatabaseError,
  isPromise,
  isQuotaExceeded,
  type Queries,
} from '@settledb/core';
import type { IndexReader } from '../index-reader';
import { FindsAtOnce, type LocalIndexes } from './at-once';
import type { Source } from './batches';
import { allDocsIndex, describe } from './describe';
import { explain } from './explain';
import { find } from './find';
import {
  checkIndexRequest,
  createIndex,
  type Documents,
  deleteIndex,
  IndexCatalog,
  type MadeIndex,
} from './indexes';
import { definitionOf } from './mango-index';
import { checkRequest } from './request';

/** A local database lets a call of several steps finish that began before it was closed. */
interface Served extends Database {
  inSteps?<T>(work: (documents: Documents) => Promise<T>): Promise<T>;
}

export class Mango<Content extends object = object>
  implements Pick<Queries<Content>, 'createIndex' | 'getIndexes' | 'deleteIndex' | 'find' | 'explain'>
{
  readonly source: Source;
  readonly catalog: IndexCatalog;
  readonly #database: Served;
  readonly #atOnce: FindsAtOnce | undefined;

  constructor(database: Served, reader: IndexReader | (IndexReader & LocalIndexes)) {
    this.#database = database;
    this.source = { database, reader };
    this.catalog = new IndexCatalog(database);
    if ('lookNow' in reader) this.#atOnce = new FindsAtOnce(reader, this.catalog);
  }

  /** Resolves when the index is built. If there is no room for it, it is removed again, as far as there is room for that. */
  async createIndex(
    request: CreateIndexRequest | IndexFields,
    options: CallOptions = {},
  ): Promise<CreateIndexResult> {
    const index = checkIndexRequest(request);
    const made = await this.#inSteps((documents) => createIndex(documents, index, options));
    const { isNewDesign: _, ...result } = made;
    try {
      await this.#build(result, options);
    } catch (error) {
      // It is written: the next program that opens the database and queries the index builds it.
      if (isDatabaseError(error) && error.name === 'closed') return result;
      if (isQuotaExceeded(error)) await this.#undo(made).catch(() => {}); // The caller gets the error for which it is undone.
      throw error;
    }
    return result;
  }

  /** Removes only what the call made: an existing index, or design document, is not its own. */
  async #undo({ result, id, name, isNewDesign }: MadeIndex): Promise<void> {
    if (result === 'created')
      await this.#inSteps((documents) =>
        deleteIndex(documents, { ddoc: id, name }, { keepsDesign: !isNewDesign }),
      );
  }

  async #build({ id, name }: CreateIndexResult, options: CallOptions): Promise<void> {
    const made = (await this.catalog.list(options)).find((each) => each.ddoc === id && each.name === name);
    if (made !== undefined)
      await this.source.reader.read(definitionOf(made), [NO_ROWS], { ...options, limit: 1 });
  }

  async getIndexes(options: CallOptions = {}): Promise<IndexList> {
    const indexes = [allDocsIndex(), ...(await this.catalog.list(options)).map(describe)];
    return { total_rows: indexes.length, indexes };
  }

  deleteIndex(
    index: { readonly ddoc: string | null; readonly name: string; readonly type?: string | undefined },
    options: CallOptions = {},
  ): Promise<{ ok: true }> {
    return this.#inSteps((documents) => deleteIndex(documents, index, options));
  }

  #inSteps<T>(work: (documents: Documents) => Promise<T>): Promise<T> {
    return this.#database.inSteps?.(work) ?? work(this.#database);
  }

  find(request: FindRequest): Promise<FindResult<Content>> {
    // Not async: most finds are answered at once, and one promise each is enough.
    try {
      const found = this.#atOnce?.find(request);
      if (found === undefined) return this.#find(request);
      if (!isPromise(found)) return Promise.resolve(found as FindResult<Content>);
      const asked = askedNow(request);
      return found.then((late) => (late as FindResult<Content> | undefined) ?? this.#find(asked));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #find(request: FindRequest): Promise<FindResult<Content>> {
    const asked = checkRequest(request);
    const indexes = await this.catalog.list(request);
    return (await find(this.source, asked, indexes)) as FindResult<Content>;
  }

  async explain(request: FindRequest): Promise<Explanation> {
    const asked = checkRequest(request);
    return explain(this.#database.name, asked, await this.catalog.list(request));
  }
}

/** A range that costs nothing to read. */
const NO_ROWS = { to: { key: null, inclusive: false } };
