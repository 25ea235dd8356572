/** Many documents at once: `_all_docs`, `_bulk_docs`, `_bulk_get`, `_revs_diff`, `_missing_revs`, `_purge`. */
import {
  type AllDocsOptions,
  type BulkDocsRow,
  type BulkGetRequest,
  type BulkGetResult,
  badRequest,
  type Database,
  type Doc,
  isDatabaseError,
  isRev,
  queryParseError,
  type Rev,
  uuid,
} from '@settledb/core';
import type { DatabaseContext } from './server-context';
import { checkDoc, checkRev } from './server-docs';
import { jsonResponse, type Query, readObject } from './server-http';
import { isObject, isTexts, toWireError } from './wire';

export async function allDocs(context: DatabaseContext): Promise<Response> {
  return answerAllDocs(context, {});
}

export async function postAllDocs(context: DatabaseContext): Promise<Response> {
  return answerAllDocs(context, await readObject(context.request, { limit: context.server.limits.request }));
}

async function answerAllDocs({ database, query, request }: DatabaseContext, body: Body): Promise<Response> {
  const { keys, ...options } = allDocsOptions(query, body);
  if (keys === undefined)
    return jsonResponse(200, await database.allDocs({ ...options, signal: request.signal }));
  // Keys that are no strings are keys nobody has, not mistakes.
  const texts = keys.map((key) => (typeof key === 'string' ? key : undefined));
  const known = texts.filter((key) => key !== undefined);
  const { skip = 0, limit = keys.length, descending, ...rest } = options;
  const answer = await database.allDocs({ ...rest, keys: known, signal: request.signal });
  let next = 0;
  const rows = texts.map((key, i) =>
    key === undefined ? { key: keys[i], error: 'not_found' } : answer.rows[next++],
  );
  if (descending === true) rows.reverse();
  return jsonResponse(200, { ...answer, offset: null, rows: rows.slice(skip, skip + limit) });
}

type Body = Record<string, unknown>;
type Asked = Omit<AllDocsOptions, 'keys'> & { keys?: unknown[] | undefined };

/** Options of the body win over those of the query. @throws query_parse_error, bad_request */
function allDocsOptions(query: Query, body: Body): Asked {
  const json = (...names: string[]): unknown => {
    for (const name of names) if (Object.hasOwn(body, name)) return body[name];
    for (const name of names) if (query.text(name) !== undefined) return query.json(name);
    return undefined;
  };
  const flag = (name: string): boolean | undefined =>
    strictFlag(name, Object.hasOwn(body, name) ? String(body[name]) : query.text(name));
  const count = (name: string): number | undefined => {
    if (!Object.hasOwn(body, name)) return query.count(name);
    const value = body[name];
    if (!Number.isSafeInteger(value) || (value as number) < 0) {
      throw queryParseError(`Invalid value for integer: ${JSON.stringify(value)}`);
    }
    return value as number;
  };
  const asked = {
    startkey: textKey(json('startkey', 'start_key')),
    endkey: textKey(json('endkey', 'end_key')),
    key: textKey(json('key')),
    keys: json('keys'),
  };
  if (asked.keys !== undefined && !Array.isArray(asked.keys)) {
    throw badRequest('`keys` body member must be an array.');
  }
  if (asked.keys !== undefined && (asked.key ?? asked.startkey ?? asked.endkey) !== undefined) {
    throw queryParseError('`keys` is incompatible with `key`, `start_key` and `end_key`');
  }
  return {
    ...asked,
    keys: asked.keys as unknown[] | undefined,
    include_docs: flag('include_docs'),
    conflicts: flag('conflicts'),
    inclusive_end: flag('inclusive_end'),
    descending: flag('descending'),
    update_seq: flag('update_seq'),
    limit: count('limit'),
    skip: count('skip'),
  };
}

function strictFlag(name: string, value: string | undefined): boolean | undefined {
  if (value === undefined) return undefined;
  if (value !== 'true' && value !== 'false') {
    throw queryParseError(`Invalid boolean parameter for \`${name}\`: ${JSON.stringify(value)}`);
  }
  return value === 'true';
}

/** Ids are strings: a bound of another type is refused rather than guessed at. */
function textKey(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw queryParseError('Keys of _all_docs are strings');
  return value;
}

export async function bulkDocs({ database, request, server }: DatabaseContext): Promise<Response> {
  const body = await readObject(request, { limit: server.limits.request });
  if (body.docs === undefined) throw badRequest('POST body must include `docs` parameter.');
  if (!Array.isArray(body.docs)) throw badRequest('`docs` parameter must be an array.');
  if (body.new_edits !== undefined && typeof body.new_edits !== 'boolean') {
    throw badRequest('`new_edits` parameter must be a boolean.');
  }
  const new_edits = body.new_edits !== false;
  const docs = body.docs.map((item): Doc => {
    const doc = checkDoc(item);
    return (new_edits && doc._id === undefined ? { ...doc, _id: uuid() } : doc) as Doc;
  });
  const rows = await database.bulkDocs(docs, { new_edits, signal: request.signal });
  return jsonResponse(201, rows.map(toWireRow));
}

function toWireRow(row: BulkDocsRow): unknown {
  if (!('error' in row)) return row;
  const { error, reason } = toWireError(row);
  return { id: row.id, error, reason };
}

export async function bulkGet(context: DatabaseContext): Promise<Response> {
  const { database, query, request, server } = context;
  const { docs } = await readObject(request, { limit: server.limits.request });
  if (!Array.isArray(docs)) throw badRequest("Missing JSON list of 'docs'.");
  const asked = docs.map(checkRequested);
  const good = asked.filter((item) => 'id' in item);
  const answer = await database.bulkGet({
    docs: good,
    revs: query.flag('revs'),
    latest: query.flag('latest'),
    signal: request.signal,
  });
  let next = 0;
  const results = asked.map((item) => ('id' in item ? withNamedRev(answer.results[next++]!) : item.refused));
  return jsonResponse(200, { results });
}

type Requested = BulkGetRequest['docs'][number];

/** An entry that makes no sense is answered with an error in its place, as CouchDB does. */
function checkRequested(item: unknown): Requested | { readonly refused: unknown } {
  if (!isObject(item)) return refuse(null, null, 'document must be a JSON object');
  const { id, rev } = item;
  if (id === undefined) return refuse(null, null, 'document id missed');
  if (typeof id !== 'string' || id === '')
    return refuse(id, null, 'Document id must be a string, and not empty');
  if (Object.hasOwn(item, 'rev') && !isRev(rev)) {
    return refuse(id, rev, 'Invalid rev format');
  }
  return { id, ...(rev === undefined ? {} : { rev: rev as string }) };
}

function refuse(id: unknown, rev: unknown, reason: string): { readonly refused: unknown } {
  return { refused: { id, docs: [{ error: { rev, reason, id, error: 'bad_request' } }] } };
}

/** CouchDB writes the text `undefined` where no revision was asked for. */
function withNamedRev({ id, docs }: BulkGetResult['results'][number]): unknown {
  return {
    id,
    docs: docs.map((row) =>
      'ok' in row ? row : { error: { ...row.error, rev: row.error.rev ?? 'undefined' } },
    ),
  };
}

export async function revsDiff(context: DatabaseContext): Promise<Response> {
  return jsonResponse(200, await findMissing(context));
}

export async function missingRevs(context: DatabaseContext): Promise<Response> {
  const found = Object.entries(await findMissing(context)).map(([id, { missing }]) => [id, missing]);
  return jsonResponse(200, { missing_revs: Object.fromEntries(found) });
}

async function findMissing({ database, request, server }: DatabaseContext): ReturnType<Database['revsDiff']> {
  const body = await readObject(request, { limit: server.limits.request });
  return database.revsDiff(checkRevLists(body), { signal: request.signal });
}

/** `{ id: [rev, …] }`. @throws bad_request */
function checkRevLists(body: Body): Record<string, Rev[]> {
  for (const revs of Object.values(body)) {
    if (!isTexts(revs)) throw badRequest('Invalid list of revisions');
    for (const rev of revs) checkRev(rev);
  }
  return body as Record<string, Rev[]>;
}

export async function purge({ database, request, server }: DatabaseContext): Promise<Response> {
  const body = checkRevLists(await readObject(request, { limit: server.limits.request }));
  const purged: [string, Rev[]][] = [];
  for (const [id, revs] of Object.entries(body)) {
    const gone: Rev[] = [];
    for (const rev of revs) if (await purgeOne(database, id, rev)) gone.push(rev);
    purged.push([id, gone]);
  }
  return jsonResponse(201, { purge_seq: null, purged: Object.fromEntries(purged) });
}

/** False for a revision that is no leaf: there is nothing to forget then, which is no error here. */
async function purgeOne(database: Database, id: string, rev: Rev): Promise<boolean> {
  try {
    await database.purge(id, rev);
    return true;
  } catch (error) {
    if (isDatabaseError(error) && [400, 404, 409].includes(error.status)) return false;
    throw error;
  }
}
