/** The queries of a remote database before it is known to exist: each waits until that is known. */
import type {
  CallOptions,
  CreateIndexRequest,
  CreateIndexResult,
  Explanation,
  FindRequest,
  FindResult,
  IndexFields,
  IndexList,
  MapFunction,
  Queries,
  ViewInfo,
  ViewOptions,
  ViewResult,
  ViewSource,
} from '@settledb/core';

type Answers<Content extends object> = Required<Queries<Content>>;
type Given = CallOptions | null | undefined;

/** Its subclasses say who answers once the database is known to exist. */
export abstract class LazyQueries<Content extends object> implements Answers<Content> {
  /** @param writes whether closing lets it finish, as it does writes of documents */
  protected abstract ask<T>(
    options: Given,
    work: (answers: Answers<Content>) => Promise<T>,
    writes?: boolean,
  ): Promise<T>;

  /** Rows of a stored view. @throws not_implemented for a function */
  query(view: string | MapFunction | ViewSource, options: ViewOptions = {}): Promise<ViewResult<Content>> {
    return this.ask(options, (answers) => answers.query(view, options));
  }

  queries(
    view: string,
    queries: readonly ViewOptions[],
    options: CallOptions = {},
  ): Promise<ViewResult<Content>[]> {
    return this.ask(options, (answers) => answers.queries(view, queries, options));
  }

  viewCleanup(options: CallOptions = {}): Promise<{ readonly ok: true }> {
    return this.ask(options, (answers) => answers.viewCleanup(options));
  }

  viewInfo(ddoc: string, options: CallOptions = {}): Promise<ViewInfo> {
    return this.ask(options, (answers) => answers.viewInfo(ddoc, options));
  }

  createIndex(
    request: CreateIndexRequest | IndexFields,
    options: CallOptions = {},
  ): Promise<CreateIndexResult> {
    return this.ask(options, (answers) => answers.createIndex(request, options), true);
  }

  getIndexes(options: CallOptions = {}): Promise<IndexList> {
    return this.ask(options, (answers) => answers.getIndexes(options));
  }

  deleteIndex(
    index: { readonly ddoc: string | null; readonly name: string; readonly type?: string },
    options: CallOptions = {},
  ): Promise<{ readonly ok: true }> {
    return this.ask(options, (answers) => answers.deleteIndex(index, options), true);
  }

  find(request: FindRequest): Promise<FindResult<Content>> {
    return this.ask(request, (answers) => answers.find(request));
  }

  explain(request: FindRequest): Promise<Explanation> {
    return this.ask(request, (answers) => answers.explain(request));
  }
}
