/**
 * `_replicate` and `_active_tasks`. The replicator is passed in: this package knows no replication, and a server that
 * fetches whatever URL it is told would be a way into the network around it. So this is offered only where one was passed.
 */
import {
  badRequest,
  hash128,
  isObject,
  isTexts,
  notFound,
  notImplemented,
  untilAborted,
} from '@settledb/core';
import { nameOf } from './client-name';
import { requireServerAdmin } from './server-access';
import { type Answer, closing, jsonResponse, unavailable } from './server-answer';
import { readObject } from './server-body';
import type { Context, Databases } from './server-context';
import { log } from './server-hooks';

/** A request to `_replicate`, checked. `source` and `target` are URLs or names of databases here. */
export interface ReplicateRequest {
  readonly source: string;
  readonly target: string;
  readonly sourceHeaders: Readonly<Record<string, string>>;
  readonly targetHeaders: Readonly<Record<string, string>>;
  readonly continuous: boolean;
  readonly create_target: boolean;
  readonly doc_ids?: readonly string[] | undefined;
  readonly selector?: object | undefined;
  readonly filter?: string | undefined;
  readonly query_params?: Record<string, unknown> | undefined;
  readonly since_seq?: number | string | undefined;
  readonly winning_revs_only?: true | undefined;
}

/** @throws DatabaseError, which the client gets as the answer */
export type Replicator = (
  request: ReplicateRequest,
  task: Task,
  databases: Databases,
) => Promise<Readonly<Record<string, unknown>>>;

/** Work that is under way. */
export interface Task {
  readonly type: 'replication' | 'database_compaction';
  /** What the work is about; plain data, without credentials. */
  readonly about: Readonly<Record<string, unknown>>;
  readonly startedAt: number;
  updatedAt: number;
  /** Numbers for whoever watches. */
  progress: Readonly<Record<string, unknown>>;
  readonly cancel: AbortController;
}

/** Tasks at a time: each holds connections and memory. */
const MAX_TASKS = 100;

export async function replicate(context: Context): Promise<Answer> {
  requireServerAdmin(context);
  const { request, server } = context;
  const body = await readObject(request, { limit: server.limits.document });
  const running = (id: string): Task | undefined =>
    [...server.tasks].find(({ about, cancel }) => about.replication_id === id && !cancel.signal.aborted);
  if (body.cancel === true) {
    const { replication_id } = body;
    const id = typeof replication_id === 'string' ? replication_id : idOf(checkReplicate(body));
    const found = running(id);
    if (found === undefined) throw notFound('missing');
    found.cancel.abort(unavailable('The replication was cancelled'));
    return jsonResponse(200, { ok: true, _local_id: id });
  }
  const asked = checkReplicate(body);
  const id = idOf(asked);
  // A client that asks again, as after its own restart, must not start a second one.
  if (asked.continuous && running(id) !== undefined) return jsonResponse(202, { ok: true, _local_id: id });
  return run(context, asked, id);
}

async function run({ request, server, user }: Context, asked: ReplicateRequest, id: string): Promise<Answer> {
  if (server.replicator === undefined)
    throw notImplemented('This server was not told to replicate: see its option `replicate`');
  if (server.isClosing) throw closing();
  // A client that has left does not want it any more.
  if (!asked.continuous) request.signal.throwIfAborted();
  if (server.tasks.size >= MAX_TASKS) throw unavailable('Too many tasks are under way');
  const task: Task = {
    type: 'replication',
    about: {
      replication_id: id,
      source: nameOf(asked.source),
      target: nameOf(asked.target),
      continuous: asked.continuous,
      doc_ids: asked.doc_ids ?? null,
      user: user.name,
    },
    startedAt: Date.now(),
    updatedAt: Date.now(),
    progress: {},
    cancel: new AbortController(),
  };
  server.tasks.add(task);
  const { replicator, databases } = server;
  // It may throw at once.
  const work = (async () => replicator(asked, task, databases))().finally(() => server.tasks.delete(task));
  if (!asked.continuous) {
    request.signal.addEventListener('abort', () => task.cancel.abort(), { once: true });
    // What was cancelled may end in good order, but is not complete.
    return jsonResponse(200, { ok: true, ...(await untilAborted(work, task.cancel.signal)) });
  }
  work.catch((error: unknown) => {
    if (!task.cancel.signal.aborted) log(server.logger, `The continuous replication ${id} ended`, error);
  });
  return jsonResponse(202, { ok: true, _local_id: id });
}

/** An id made of what is replicated where: the same for the same request, whoever makes it and with whatever password. */
function idOf({ sourceHeaders: _, targetHeaders: __, source, target, ...rest }: ReplicateRequest): string {
  const what = { ...rest, source: nameOf(source), target: nameOf(target) };
  return hash128(0, 0, 0, 0, JSON.stringify(what));
}

/** @throws bad_request */
function checkReplicate(body: Record<string, unknown>): ReplicateRequest {
  const source = endpoint('source', body.source);
  const target = endpoint('target', body.target);
  const { doc_ids, selector, filter, query_params, since_seq } = body;
  if ([doc_ids, filter, selector].filter((each) => each !== undefined).length > 1)
    throw badRequest('`doc_ids`,`filter`,`selector` are mutually exclusive');
  if (doc_ids !== undefined && !isTexts(doc_ids)) throw badRequest('parameter `doc_ids` must be an array');
  if (selector !== undefined && !isObject(selector))
    throw badRequest('parameter `selector` must be a JSON object');
  if (filter !== undefined && typeof filter !== 'string')
    throw badRequest('parameter `filter` must be a string');
  if (query_params !== undefined && !isObject(query_params))
    throw badRequest('parameter `query_params` must be a JSON object');
  if (since_seq !== undefined && typeof since_seq !== 'string' && typeof since_seq !== 'number')
    throw badRequest('parameter `since_seq` must be a sequence');
  return {
    source: source.url,
    target: target.url,
    sourceHeaders: source.headers,
    targetHeaders: target.headers,
    continuous: body.continuous === true,
    create_target: body.create_target === true,
    doc_ids,
    selector,
    filter,
    query_params,
    since_seq,
    ...(body.winning_revs_only === true ? { winning_revs_only: true } : {}),
  };
}

/** A name, a URL, or `{ url, headers, auth }`. */
function endpoint(what: string, value: unknown): { url: string; headers: Readonly<Record<string, string>> } {
  if (typeof value === 'string' && isNameOrUrl(value)) return { url: value, headers: {} };
  if (!isObject(value) || typeof value.url !== 'string' || !isNameOrUrl(value.url))
    throw badRequest(`\`${what}\` must be a database's name or URL`);
  const headers: Record<string, string> = {};
  for (const [name, text] of Object.entries(isObject(value.headers) ? value.headers : {})) {
    if (typeof text === 'string') headers[name.toLowerCase()] = text;
  }
  const basic = isObject(value.auth) && isObject(value.auth.basic) ? value.auth.basic : undefined;
  if (basic !== undefined && typeof basic.username === 'string' && typeof basic.password === 'string') {
    if (!isUrl(value.url)) throw badRequest(`\`${what}\` has a password, but is no URL`);
    const url = new URL(value.url);
    url.username = encodeURIComponent(basic.username);
    url.password = encodeURIComponent(basic.password);
    return { url: url.href, headers };
  }
  return { url: value.url, headers };
}

const isUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text);
const isNameOrUrl = (text: string): boolean => text !== '' && (isUrl(text) || !/^https?:/i.test(text));

export function activeTasks(context: Context): Answer {
  requireServerAdmin(context);
  const list = [...context.server.tasks].map(({ type, about, startedAt, updatedAt, progress }) => ({
    type,
    ...about,
    ...progress,
    started_on: Math.floor(startedAt / 1000),
    updated_on: Math.floor(updatedAt / 1000),
  }));
  return jsonResponse(200, list);
}
