/** Many documents at once: `_bulk_get`, as JSON and as multipart. */
import {
  type BulkGetOptions,
  type BulkGetRequest,
  type BulkGetResult,
  badRequest,
  bulkGetRefusal,
  type Database,
  type ExistingDoc,
  isDatabaseError,
  isLocalId,
  isObject,
  isRev,
  isTexts,
  type JsonSource,
  type OpenRevsRow,
  uuid,
} from '@settledb/core';
import { type OutgoingPart, writeMultipart } from './multipart';
import type { Answer } from './server-answer';
import { readObject, upTo } from './server-body';
import type { DatabaseContext } from './server-context';
import { rowsOf } from './server-docs';
import { toWireError } from './server-errors';
import { docPart, errorPart, rowJson, wantsMultipart } from './server-multipart';
import { type OpenDoc, openDoc, roomAhead, whileThere } from './server-opened';
import { portionsOf } from './server-portions';
import { type Element, gatheredResponse, listText, type Text } from './server-several';
import { respondWith, textStream, toStream } from './server-streams';
import { CACHING, JSON_TYPE, MAX_TOLD } from './wire';

/**
 * Documents read at a time by `_bulk_get`. One may be named as often as a request has room for, so they are never all held: with
 * documents of 8 MB, this many are 256 MB at the very most.
 */
const READ_AT_ONCE = 32;

/** What the parts may be called, the first where the client takes either. */
const MULTIPART = ['mixed', 'related'] as const;

export async function bulkGet(context: DatabaseContext): Promise<Answer> {
  const { database, query, request, server } = context;
  const { docs } = await readObject(request, upTo(server));
  if (!Array.isArray(docs)) throw badRequest("Missing JSON list of 'docs'.");
  const entries: readonly unknown[] = docs;
  const accepted = request.headers.get('accept') ?? '';
  const kind = MULTIPART.find((each) => accepted.includes('multipart/') && wantsMultipart(request, each));
  const multipart = kind !== undefined;
  const all = multipart || query.flag('attachments') === true;
  // A client that says what it has of a document asks for the rest of it.
  const attachments = all || entries.some(asksForData);
  const revs = query.flag('revs');
  const options = {
    // The ancestry tells which attachments the client has.
    revs: revs || attachments,
    latest: query.flag('latest'),
    att_encoding_info: multipart || query.flag('att_encoding_info'),
    signal: request.signal,
  };
  if (!attachments) return gatheredResponse(allText(resultTexts(database, entries, options)));
  async function* sources(): AsyncGenerator<Source, void, void> {
    for await (const portion of portionsOf(entries, READ_AT_ONCE)) {
      const some = portion.map(checkRequested);
      const results = await resultsOf(database, some, options);
      for (const [i, item] of some.entries()) {
        const attsSince =
          'id' in item && item.atts_since !== undefined ? new Set(item.atts_since) : undefined;
        const anew = async (): Promise<Result> => (await resultsOf(database, [item], options))[0]!;
        const stubs = !all && attsSince === undefined;
        yield { ...results[i]!, attsSince, stubs, dropRevisions: !revs, anew };
      }
    }
  }
  return multipart ? asMultipart(context, sources(), kind) : asJson(context, sources());
}

const asksForData = (item: unknown): boolean =>
  isObject(item) && Array.isArray(item.atts_since) && item.atts_since.length > 0;

/** The results of a request as JSON, without the data of attachments. */
async function* resultTexts(
  database: Database,
  entries: readonly unknown[],
  options: BulkGetOptions,
): AsyncGenerator<Element, void, void> {
  // Checked only here: a refusal is far longer than an entry may be, and a request has room for millions.
  for await (const portion of portionsOf(entries, READ_AT_ONCE))
    yield* await textsOfResults(database, portion.map(checkRequested), options);
}

async function textsOfResults(
  database: Database,
  asked: readonly Asked[],
  options: BulkGetOptions,
): Promise<Element[]> {
  if (!hasJson(database)) return (await resultsOf(database, asked, options)).map(textOfResult);
  const known = await knownResults(database, asked, options);
  const found = await database.bulkGetJson({ ...options, docs: named(asked) });
  let next = 0;
  return known.map((result) => (result === undefined ? found[next++]! : textOfResult(result)));
}

function* textOfResult({ id, docs }: Result): Generator<string, void, void> {
  let before = `{"id":${JSON.stringify(id)},"docs":[`;
  for (const row of docs) {
    yield before + JSON.stringify(row);
    before = ',';
  }
  yield before === ',' ? ']}' : `${before}]}`;
}

/** All results, as the text of the answer. */
const allText = (results: AsyncIterable<Element>): Text => listText('{"results":[', results, ']}\n');

async function resultsOf(
  database: Database,
  asked: readonly Asked[],
  options: BulkGetOptions,
): Promise<Result[]> {
  const known = await knownResults(database, asked, options);
  const { results } = await database.bulkGet({ ...options, docs: named(asked) });
  let next = 0;
  return known.map((result) => result ?? withNamedRev(results[next++]!));
}

/** What is not asked of `bulkGet`: refusals, and all leaves of a document. For all others the number of answers is known. */
async function knownResults(
  database: Database,
  asked: readonly Asked[],
  options: BulkGetOptions,
): Promise<(Result | undefined)[]> {
  const known: (Result | undefined)[] = [];
  for (const item of asked) {
    if (!('id' in item)) known.push(item.refused);
    else known.push(isWhole(item) ? await leavesOf(database, item.id, options) : undefined);
  }
  return known;
}

/** The entries with a revision. Which attachments go along is decided where they are written. */
const named = (asked: readonly Asked[]): Requested[] =>
  asked.flatMap((item) => {
    if (!('id' in item) || isWhole(item)) return [];
    const { atts_since: _, ...entry } = item;
    return [entry];
  });

/**
 * Without a revision all leaves are meant, deleted ones too, as in CouchDB: programs that save a database ask this way, and would lose
 * what they do not get. (The method `bulkGet`, which answers the winner, is used for requests with a revision.)
 */
const isWhole = (item: Asked): boolean => 'id' in item && item.rev === undefined && !isLocalId(item.id);

/** All leaves, read from one state of the document. */
async function leavesOf(
  database: Database,
  id: string,
  { revs, att_encoding_info, signal }: BulkGetOptions,
): Promise<Result> {
  try {
    return {
      id,
      docs: leavesIn(await rowsOf(database, id, { open_revs: 'all', revs, att_encoding_info, signal })),
    };
  } catch (error) {
    if (!isDatabaseError(error) || (error.status !== 404 && error.status !== 400)) throw error;
    const { error: name, reason } = toWireError(error);
    return { id, docs: [{ error: { rev: 'undefined', reason, id, error: name } }] };
  }
}

function* leavesIn(rows: Iterable<OpenRevsRow>): Generator<Row<ExistingDoc>, void, void> {
  for (const row of rows) if ('ok' in row) yield row;
}

const hasJson = (database: Database): database is Database & JsonSource =>
  typeof (database as Partial<JsonSource>).bulkGetJson === 'function';

interface Source extends Result {
  readonly attsSince: ReadonlySet<string> | undefined;
  readonly stubs: boolean;
  readonly dropRevisions: boolean;
  /** The result as it is now. */
  readonly anew: () => Promise<Result>;
}

/** The results of one request, with their documents opened; asked again if they have disappeared since. */
function openRows(
  { database, request: { signal } }: DatabaseContext,
  { id, docs, anew, ...how }: Source,
  encoded: boolean,
): Promise<Row<OpenDoc>[]> {
  const open = async (found: Result): Promise<Row<OpenDoc>[]> => {
    const room = roomAhead();
    const opened: Row<OpenDoc>[] = [];
    for (const row of found.docs) {
      if ('error' in row) opened.push(row);
      else opened.push({ ok: await openDoc({ database, doc: row.ok, signal, ...how }, encoded, room) });
    }
    return opened;
  };
  return whileThere(anew, open, { id, docs });
}

/** A part for each revision; those with attachments are multipart themselves. */
async function asMultipart(
  context: DatabaseContext,
  sources: AsyncIterable<Source>,
  kind: string,
): Promise<Answer> {
  async function* parts(): AsyncGenerator<OutgoingPart, void, void> {
    for await (const source of sources) {
      for (const row of await openRows(context, source, true)) {
        if ('error' in row) yield errorPart(row);
        else {
          const { _id, _rev } = row.ok.doc;
          yield docPart(row.ok, { 'X-Doc-Id': headerText(_id), 'X-Rev-Id': headerText(_rev) });
        }
      }
    }
  }
  const boundary = uuid();
  const all = parts();
  const first = await all.next();
  async function* text(): AsyncGenerator<Uint8Array, void, void> {
    if (first.done !== true) yield* writeMultipart(headed(first.value, all), boundary);
  }
  return respondWith(200, { 'content-type': `multipart/${kind}; boundary="${boundary}"` }, toStream(text()));
}

async function* headed<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T, void, void> {
  yield first;
  yield* rest;
}

/** Ids may be any text of any length, which headers may not; readers take the id from the document. */
const headerText = (text: string): string => {
  const told = text.slice(0, MAX_TOLD);
  return /^[\x20-\x7e]*$/.test(told) ? told : encodeURIComponent(told.replace(/[\ud800-\udfff]/g, '?'));
};

const openedText = (id: unknown, rows: readonly Row<OpenDoc>[]): Text =>
  listText(`{"id":${JSON.stringify(id)},"docs":[`, rows.map(rowJson), ']}');

async function asJson(context: DatabaseContext, sources: AsyncIterable<Source>): Promise<Answer> {
  async function* results(): AsyncGenerator<Text, void, void> {
    for await (const source of sources) yield openedText(source.id, await openRows(context, source, false));
  }
  return respondWith(
    200,
    { 'content-type': JSON_TYPE, 'cache-control': CACHING },
    textStream(allText(results())),
  );
}

type Requested = BulkGetRequest['docs'][number];
type Asked = Requested | { readonly refused: Result };

/** A senseless entry gets an error in its place, as in CouchDB. */
function checkRequested(item: unknown): Asked {
  if (!isObject(item)) return refuse(null, null, 'document must be a JSON object');
  const { id, rev } = item;
  if (id === undefined) return refuse(null, null, 'document id missed');
  const illegal = bulkGetRefusal({ id });
  if (illegal !== undefined) return refuse(id, null, illegal.error.reason, 'illegal_docid');
  if (Object.hasOwn(item, 'rev') && !isRev(rev)) {
    return refuse(id, rev, 'Invalid rev format');
  }
  const { atts_since } = item;
  if (atts_since !== undefined && !(isTexts(atts_since) && atts_since.every(isRev)))
    return refuse(id, atts_since, 'att_since value must be array of revs.');
  return {
    id: id as string,
    ...(rev === undefined ? {} : { rev: rev as string }),
    // An empty list asks for nothing, as in CouchDB.
    ...(atts_since === undefined || atts_since.length === 0 ? {} : { atts_since }),
  };
}

/** A result as it is answered: invalid ids and revisions are given back as they came. */
interface Result {
  readonly id: unknown;
  readonly docs: Iterable<Row<ExistingDoc>>;
}

type Row<Content> = { readonly ok: Content } | { readonly error: object };

function refuse(
  id: unknown,
  rev: unknown,
  reason: string,
  error = 'bad_request',
): { readonly refused: Result } {
  return { refused: { id, docs: [{ error: { rev, reason, id, error } }] } };
}

/** CouchDB writes the text `undefined` where no revision was asked for. */
function withNamedRev({ id, docs }: BulkGetResult['results'][number]): Result {
  return {
    id,
    docs: docs.map((row) =>
      'ok' in row ? row : { error: { ...row.error, rev: row.error.rev ?? 'undefined' } },
    ),
  };
}
