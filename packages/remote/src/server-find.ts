/**
 * Mango over HTTP: `_find` and `_explain`. The database decides what a selector means; the form of a request is CouchDB's, and
 * so is the effect of an index that cannot be used: a local `find` refuses it, CouchDB takes it for a hint.
 */
import { type FindRequest, isDatabaseError, withPatterns } from '@settledb/core';
import { failure, jsonResponse } from './server-answer';
import { readObject, upTo } from './server-body';
import type { DatabaseContext, DatabaseRoute } from './server-context';
import { queriesOf } from './server-queries';
import { takeSelector } from './server-selector';

/** All members that CouchDB takes; `partition` is missing, since no database here has partitions. */
const MEMBERS: ReadonlySet<string> = new Set([
  'selector',
  'use_index',
  'allow_fallback',
  'bookmark',
  'limit',
  'skip',
  'sort',
  'fields',
  'r',
  'conflicts',
  'stale',
  'update',
  'stable',
  'execution_stats',
]);

/** A database's error for an index that does not exist, or lacks documents. */
const isNoIndex = (error: unknown): boolean =>
  isDatabaseError(error) && error.status === 400 && /^(unknown_error|no_usable_index)$/.test(error.name);

export const find: DatabaseRoute = async (context) => {
  const asked = await readFind(context);
  const queries = await queriesOf(context);
  const ask = (request: FindRequest) => queries.find(request);
  const answer = await withFallback(asked, ask, (result) => {
    const warning = [notUsed(asked.use_index), ...(result.warning === undefined ? [] : [result.warning])];
    return { ...result, warning: warning.join('\n') };
  });
  return jsonResponse(200, answer);
};

export const explain: DatabaseRoute = async (context) => {
  const asked = await readFind(context);
  const queries = await queriesOf(context);
  const answer = await withFallback(asked, (request) => queries.explain(request));
  return jsonResponse(200, withPatterns(answer) as object);
};

interface Asked extends FindRequest {
  readonly allow_fallback?: boolean;
}

/** Checks the form; the database checks what the selector means. @throws bad_request, missing_required_key, invalid_key */
async function readFind(context: DatabaseContext): Promise<Asked> {
  const { request, server } = context;
  const body = await readObject(request, upTo(server));
  if (body.selector === undefined)
    throw failure(400, 'missing_required_key', 'Missing required key: selector');
  const unknown = Object.keys(body).find((name) => !MEMBERS.has(name));
  if (unknown !== undefined) throw failure(400, 'invalid_key', `Invalid key ${unknown} for this request.`);
  const how = takeSelector(context, body.selector);
  return { ...(body as unknown as Asked), ...how, signal: request.signal };
}

/** Asks again without the named index, if that cannot be used. @param mark says so in the answer */
async function withFallback<Result extends object>(
  { allow_fallback, ...request }: Asked,
  ask: (request: FindRequest) => Promise<Result>,
  mark: (result: Result) => Result = (result) => result,
): Promise<Result> {
  try {
    return await ask(request);
  } catch (error) {
    const { use_index, ...otherwise } = request;
    if (use_index === undefined || allow_fallback === false || !isNoIndex(error)) throw error;
    return mark(await ask(otherwise));
  }
}

/** The warning in CouchDB's words. */
function notUsed(index: FindRequest['use_index']): string {
  const [ddoc, name] = typeof index === 'string' ? index.replace(/^_design\//, '').split('/') : index!;
  const id = `_design/${ddoc!.replace(/^_design\//, '')}`;
  return name === undefined
    ? `${id} was not used because it does not contain a valid index for this query.`
    : `${id}, ${name} was not used because it is not a valid index for this query.`;
}
