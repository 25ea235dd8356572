/**
 * Views and Mango of a remote database. The server judges what is asked, and whether it may be; its errors are passed on.
 * This side only checks what cannot be sent (functions), and the form of the answer.
 */
import {
  badRequest,
  type CallOptions,
  type CreateIndexRequest,
  type CreateIndexResult,
  checkDocIds,
  checkedNumber,
  checkedReduce,
  checkedUpdate,
  checkQueries,
  designName,
  type Explanation,
  type FindRequest,
  type FindResult,
  type IndexFields,
  type IndexList,
  isDatabaseError,
  isDescending,
  isObject,
  type MapFunction,
  normalizeKey,
  notImplemented,
  type Queries,
  show,
  type ViewInfo,
  type ViewKey,
  type ViewOptions,
  type ViewResult,
  type ViewRow,
  type ViewSource,
  viewName,
  withPatterns,
  writtenJson,
} from '@settledb/core';
import { type Call, flag, formatQuery } from './client-call';
import { checkObject, checkOk, readSeq } from './client-check';
import { badResponse } from './client-error';
import type { Http } from './client-http';
import { MAX_QUERY_LENGTH } from './client-read';
import { receiveDoc } from './client-receive';
import { encodePart, isDotId } from './wire';

/** Its subclass says who answers once the database is known to exist. */
export abstract class RemoteQueries<Content extends object> implements Required<Queries<Content>> {
  /** @param writes whether closing lets it finish, as it does writes of documents */
  protected abstract ask<T>(
    options: CallOptions | null | undefined,
    work: (http: Http) => Promise<T>,
    writes?: boolean,
  ): Promise<T>;

  /** Rows of a stored view. @throws not_implemented for a function: CouchDB has had no temporary views since 2.0 */
  query(view: string | MapFunction | ViewSource, options: ViewOptions = {}): Promise<ViewResult<Content>> {
    return this.ask(options, (http) => queryOne(http, view, options ?? {}));
  }

  queries(
    view: string,
    queries: readonly ViewOptions[],
    options: CallOptions = {},
  ): Promise<ViewResult<Content>[]> {
    return this.ask(options, async (http) => {
      const { signal } = options;
      if (typeof view !== 'string') throw badRequest('A query needs the name of a view');
      const { path, design } = placeOf(view);
      checkQueries(queries);
      const body = { queries: queries.map(queryBody) };
      const call: Call = { method: 'POST', path: `${path}/queries`, design, body, signal };
      const answer = await http.json(call).catch((error: unknown) => {
        // No such view, a wrong query, or a server without this request (PouchDB's): asking one by one tells which.
        if (isDatabaseError(error) && [400, 404, 405, 501].includes(error.status)) return undefined;
        throw error;
      });
      if (answer === undefined) return queryEach<Content>(http, view, queries, signal);
      const { results } = checkObject(answer, 'the answer');
      if (!Array.isArray(results) || results.length !== queries.length)
        throw badResponse('it lacks the result of a query');
      return results.map((result: unknown, i) => received(http, result, queries[i]!));
    });
  }

  viewCleanup(options: CallOptions = {}): Promise<{ readonly ok: true }> {
    return this.ask(options, async (http) => {
      const call: Call = { method: 'POST', path: '/_view_cleanup', body: {}, signal: options.signal };
      return checkOk(await http.json(call), 'the cleanup');
    });
  }

  viewInfo(ddoc: string, options: CallOptions = {}): Promise<ViewInfo> {
    return this.ask(options, async (http) => {
      const { path, design } = placeOfDesign(designName(ddoc));
      const call: Call = { method: 'GET', path: `${path}/_info`, design, signal: options.signal };
      const answer = checkObject(await http.json(call), 'the information');
      if (!isObject(answer.view_index)) throw badResponse('the information lacks view_index');
      return answer as unknown as ViewInfo;
    });
  }

  createIndex(
    request: CreateIndexRequest | IndexFields,
    options: CallOptions = {},
  ): Promise<CreateIndexResult> {
    const create = async (http: Http): Promise<CreateIndexResult> => {
      if (!isObject(request)) throw badRequest('You must provide an index to create');
      const index = indexBody(request);
      if (isObject(index.index)) checkSaid(index.index);
      const body = bodyOf(index);
      const call: Call = { method: 'POST', path: '/_index', body, signal: options.signal };
      const { result, id, name } = checkObject(await http.json(call), 'the answer');
      if ((result !== 'created' && result !== 'exists') || typeof name !== 'string')
        throw badResponse('it does not say that the index is there');
      // PouchDB's server leaves the id out if the index existed already.
      return { result, id: String(id ?? ''), name };
    };
    return this.ask(options, create, true);
  }

  getIndexes(options: CallOptions = {}): Promise<IndexList> {
    return this.ask(options, async (http) => {
      const answer = await http.json({ method: 'GET', path: '/_index', signal: options.signal });
      const { total_rows, indexes } = checkObject(answer, 'the list of indexes');
      if (!Array.isArray(indexes)) throw badResponse('indexes are no list');
      return { total_rows: Number(total_rows ?? indexes.length), indexes };
    });
  }

  deleteIndex(
    index: { readonly ddoc: string | null; readonly name: string; readonly type?: string | undefined },
    options: CallOptions = {},
  ): Promise<{ readonly ok: true }> {
    const remove = async (http: Http): Promise<{ readonly ok: true }> => {
      if (!isObject(index)) throw badRequest('You must provide an index to delete');
      const { ddoc, type = 'json', name } = index;
      if (!ddoc) throw badRequest('You must supply an index.ddoc when deleting');
      if (!name) throw badRequest('You must supply an index.name when deleting');
      // In one segment and with its prefix, because PouchDB's server finds nothing otherwise.
      const design = `_design/${designName(String(ddoc))}`;
      const path = `/_index/${[design, type, name].map(String).map(segment).join('/')}`;
      const { signal } = options;
      return checkOk(await http.json({ method: 'DELETE', path, design, signal }), 'the deletion');
    };
    return this.ask(options, remove, true);
  }

  find(request: FindRequest): Promise<FindResult<Content>> {
    return this.ask(request, async (http) => {
      const answer = checkObject(await findBy(http, '/_find', request), 'the answer');
      if (!Array.isArray(answer.docs) || !answer.docs.every(isObject))
        throw badResponse('it has no list of documents');
      return answer as unknown as FindResult<Content>;
    });
  }

  explain(request: FindRequest): Promise<Explanation> {
    return this.ask(request, async (http) => {
      const answer = checkObject(await findBy(http, '/_explain', request), 'the explanation');
      if (!isObject(answer.index)) throw badResponse('the explanation names no index');
      return answer as unknown as Explanation;
    });
  }
}

async function queryEach<Content extends object>(
  http: Http,
  view: string,
  queries: readonly ViewOptions[],
  signal: AbortSignal | undefined,
): Promise<ViewResult<Content>[]> {
  const results: ViewResult<Content>[] = [];
  // Of none it is only asked whether there is such a view.
  if (queries.length === 0) await queryOne(http, view, { limit: 0, signal });
  for (const query of queries) results.push(await queryOne<Content>(http, view, { ...query, signal }));
  return results;
}

async function queryOne<Content extends object>(
  http: Http,
  view: string | MapFunction | ViewSource,
  options: ViewOptions,
): Promise<ViewResult<Content>> {
  return received(http, await http.json(viewCall(placeOf(view), options)), options);
}

function received<Content extends object>(
  { bytes }: Http,
  answer: unknown,
  options: ViewOptions,
): ViewResult<Content> {
  const checked = checkObject(answer, 'the answer');
  const { rows } = checked;
  if (!Array.isArray(rows) || !rows.every((row) => isObject(row) && 'key' in row))
    throw badResponse('it has no rows of a view');
  readSeq(checked, 'update_seq');
  if (!options.include_docs || !options.attachments) return answer as ViewResult<Content>;
  const receive = (row: ViewRow<Content>): ViewRow<Content> =>
    row.doc ? { ...row, doc: receiveDoc(row.doc, options, bytes) } : row;
  return { ...(answer as ViewResult<Content>), rows: rows.map(receive) };
}

async function findBy(http: Http, path: string, request: FindRequest): Promise<unknown> {
  try {
    return await http.json(findCall(path, request));
  } catch (error) {
    // With the name in `error` too, because PouchDB's users look for these two there.
    if (isDatabaseError(error) && INDEX_ERRORS.includes(error.name))
      Object.assign(error, { error: error.name });
    throw error;
  }
}

const INDEX_ERRORS: readonly string[] = ['unknown_error', 'no_usable_index'];

/** One segment of a path. @throws bad_request for `.` and `..`, which `URL` takes for steps */
function segment(text: string): string {
  if (isDotId(text)) throw badRequest(`No URL can name ${JSON.stringify(text)}`);
  return encodePart(text);
}

/** `'ddoc/view'`; `'name'` for `'name/name'`. */
function placeOf(view: string | MapFunction | ViewSource): Place {
  if (typeof view !== 'string') {
    if (!isFunction(view) && !(isObject(view) && isFunction(view.map)))
      throw badRequest('A query needs a map function, or the name of a view');
    throw notImplemented(
      'A remote database answers only views of its design documents: store the function in one, or replicate and ask here',
    );
  }
  const { ddoc, view: name } = viewName(view);
  const { path, design } = placeOfDesign(ddoc);
  return { path: `${path}/_view/${segment(name)}`, design };
}

/** A function, or the text of one. */
const isFunction = (given: unknown): boolean => typeof given === 'function' || typeof given === 'string';

/** The path that is asked, below the database, and its design document. */
type Place = Required<Pick<Call, 'path' | 'design'>>;

const placeOfDesign = (name: string): Place => ({
  path: `/_design/${segment(name)}`,
  design: `_design/${name}`,
});

type Values = Record<string, unknown>;

/** The keys as a view has them: what JSON would leave out, like a function, is null there too, and not no key. @throws bad_request */
function keysOf(options: ViewOptions): Values {
  const { key, keys, startkey = options.start_key, endkey = options.end_key } = options;
  return {
    key: sentKey(key),
    // In a list each is null by itself.
    keys: Array.isArray(keys) ? keys : sentKey(keys as ViewKey),
    startkey: sentKey(startkey),
    endkey: sentKey(endkey),
  };
}

const sentKey = (key: ViewKey): ViewKey => (key === undefined ? undefined : normalizeKey(key));

/** All other options. Defaults are left out. @throws query_parse_error */
function flagsOf(options: ViewOptions): Record<string, string | number | boolean | undefined> {
  const { include_docs, group_level, limit, skip, inclusive_end, stale, update } = options;
  checkedUpdate(options);
  checkDocIds(options);
  const withAttachments = flag(include_docs && options.attachments);
  return {
    include_docs: flag(include_docs),
    conflicts: flag(include_docs && options.conflicts),
    attachments: withAttachments,
    att_encoding_info: withAttachments,
    startkey_docid: options.startkey_docid ?? undefined,
    endkey_docid: options.endkey_docid ?? undefined,
    inclusive_end: inclusive_end === false || (inclusive_end as unknown) === 'false' ? false : undefined,
    descending: flag(isDescending(options)),
    limit: numberOf('limit', limit),
    skip: numberOf('skip', skip),
    reduce: checkedReduce(options),
    group: flag(options.group),
    group_level: numberOf('group_level', group_level),
    stale: stale ?? undefined,
    update: update === true ? undefined : (update ?? undefined),
    update_seq: flag(options.update_seq),
  };
}

/** A text that is a number becomes one: in a body CouchDB takes no other. The server judges other texts. @throws query_parse_error */
const numberOf = (name: string, given: number | string | null | undefined): number | string | undefined =>
  typeof given === 'string' && !/^\d+$/.test(given) ? given : checkedNumber(name, given);

function viewCall(place: Place, options: ViewOptions): Call {
  const flags = flagsOf(options);
  const { keys, ...bounds } = keysOf(options);
  const { signal } = options;
  const texts = Object.entries(bounds).map(([name, value]) => [name, JSON.stringify(value)]);
  const query = { ...flags, ...Object.fromEntries(texts) };
  if (keys === undefined && formatQuery(query).length <= MAX_QUERY_LENGTH)
    return { method: 'GET', ...place, query, signal };
  return { method: 'POST', ...place, query: flags, body: { ...bounds, keys }, signal };
}

/** @throws bad_request for what is no JSON: patterns are looked for at any depth, and a cycle has none */
function bodyOf(body: object): unknown {
  checkSaid(body);
  return withPatterns(body);
}

/**
 * An option that JSON leaves out, or has no value for, would be none to the server: it would answer as if nothing had been asked.
 * @throws bad_request
 */
function checkSaid(options: object): void {
  for (const [name, value] of Object.entries(options))
    if (value != null && (writtenJson(value) ?? 'null') === 'null')
      throw badRequest(`Cannot be written as JSON: ${name} is ${show(value)}`);
}

const queryBody = (options: ViewOptions): Values => ({ ...flagsOf(options), ...keysOf(options) });

/** CouchDB's form, of either: name, ddoc and type beside the index. */
function indexBody(request: Values): Values {
  const { index = request.fields === undefined ? undefined : request } = request;
  if (!isObject(index)) return request;
  const { name, ddoc, type, ...fields } = index;
  return {
    // The server refuses what does not belong in a request.
    ...(index === request ? {} : request),
    index: fields,
    name: request.name ?? name,
    ddoc: request.ddoc ?? ddoc,
    type: request.type ?? type ?? 'json',
  };
}

function findCall(path: string, request: FindRequest): Call {
  if (!isObject(request)) throw badRequest('You must provide search parameters to find()');
  checkedUpdate({ update: request.update });
  const { signal, ...body } = request as FindRequest;
  return { method: 'POST', path, body: bodyOf(body), signal };
}
