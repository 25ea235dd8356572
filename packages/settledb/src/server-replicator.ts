/** `_replicate` of a server: between its own databases and those of the hosts it was given. */
import { setTimeout } from 'node:timers/promises';
import { type Database, DatabaseError, forbidden, notFound, uuid } from '@settledb/core';
import {
  isDatabaseName,
  RemoteError,
  type ReplicateRequest,
  type Replicator,
  remote,
  type Task,
  useDatabase,
} from '@settledb/remote';
import { type ReplicateOptions, replicate } from '@settledb/replication';

/** Redirects followed for one request: as many as the fetch standard allows. */
const MAX_REDIRECTS = 20;
/** ms after which a replication that goes on asks anew for a database here that failed. */
const REOPEN_MS = 250;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Headers that describe a body, and the expected answer: all that another host gets. Others may hold credentials. */
const HEADERS_FOR_ANYONE: readonly string[] = ['accept', 'content-type', 'content-encoding'];

/** @param hosts `name` or `name:port`; `*` for any. @param given `fetch` in place of the platform's */
export function serverReplicator(hosts: readonly string[], given?: typeof globalThis.fetch): Replicator {
  const fetch = hosts.includes('*') ? given : fetchWithin(hosts, given);
  /** Undefined for one that goes on, if a database here was closed under it. */
  const once = async (...[request, task, databases]: Parameters<Replicator>): Promise<Result | undefined> => {
    const letGo: (() => unknown)[] = [];
    const here: { readonly name: string; readonly database: Database }[] = [];
    const open = async (
      name: string,
      headers: Readonly<Record<string, string>>,
      create: boolean,
    ): Promise<Database> => {
      if (!/^https?:\/\//i.test(name)) return openHere(name, create);
      checkHost(name, hosts);
      const database = remote(name, { headers, skip_setup: !create, ...(fetch && { fetch }) });
      letGo.push(() => database.close());
      return database;
    };
    const openHere = async (name: string, create: boolean): Promise<Database> => {
      if (!isDatabaseName(name)) throw notFound(`could not open ${name}`);
      if (create) await databases.create(name);
      const used = await useDatabase(databases, name);
      if (used === undefined) throw missing(name);
      letGo.push(() => used.release());
      here.push({ name, database: used.database });
      return used.database;
    };
    const reopen = (error: unknown): void => {
      if (isOwn(error, 'io')) for (const { name, database } of here) databases.drop?.(name, database);
    };
    try {
      const source = await open(request.source, request.sourceHeaders, false);
      const target = await open(request.target, request.targetHeaders, request.create_target);
      // If a database is missing, the client should hear that, not how the replication failed.
      const { signal } = task.cancel;
      await Promise.all([check(source, signal), check(target, signal)]);
      return await run(source, target, request, task, reopen).catch((error: unknown) => {
        if (request.continuous && isOwn(error, 'closed')) return undefined;
        throw error;
      });
    } finally {
      for (const end of letGo) await end();
    }
  };
  return async (request, task, databases) => {
    const { signal } = task.cancel;
    for (let asked = request; ; ) {
      try {
        const result = await once(asked, task, databases);
        if (result !== undefined) return result;
        // A target that was deleted is not made again.
        asked = { ...request, create_target: false };
      } catch (error) {
        if (!request.continuous || signal.aborted || !isOwn(error, 'io')) throw error;
      }
      await setTimeout(REOPEN_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  };
}

/** Whether it is of a database here. */
const isOwn = (error: unknown, name: 'io' | 'closed'): boolean =>
  error instanceof DatabaseError && !(error instanceof RemoteError) && error.name === name;

type Result = Readonly<Record<string, unknown>>;

function checkHost(url: string, hosts: readonly string[]): void {
  const { host, hostname } = new URL(url);
  if (hosts.includes('*') || hosts.includes(host) || hosts.includes(hostname)) return;
  throw forbidden(
    `This server was not told that it may replicate with ${host}: see its option \`replicate\``,
  );
}

/**
 * A `fetch` that follows redirects only to these hosts: a permitted one must not lead to others. The method is kept, except
 * after 303. A request with a stream is not redirected at all.
 */
function fetchWithin(hosts: readonly string[], given?: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const fetch = given ?? globalThis.fetch;
    if (init.redirect === 'error') return fetch(input, init);
    let url = String(input);
    let asked: RequestInit = { ...init, redirect: 'manual' };
    for (let redirects = 0; ; redirects++) {
      const response = await fetch(url, asked);
      const location = response.headers.get('location');
      if (!REDIRECTS.has(response.status) || location === null) return response;
      response.body?.cancel().catch(() => {});
      if (redirects === MAX_REDIRECTS)
        throw new TypeError(`More than ${MAX_REDIRECTS} redirects from ${url}`);
      const next = new URL(location, url);
      if (!/^https?:$/.test(next.protocol)) throw new TypeError(`Redirected to ${next.protocol}`);
      checkHost(next.href, hosts);
      if (!isSameServer(new URL(url), next)) asked = { ...asked, headers: headersForAnyone(asked.headers) };
      if (response.status === 303) asked = { ...asked, method: 'GET', body: null };
      url = next.href;
    }
  };
}

/** Not from https to http, where everybody on the way could read the credentials. */
const isSameServer = (from: URL, to: URL): boolean =>
  from.host === to.host && (from.protocol === to.protocol || to.protocol === 'https:');

function headersForAnyone(headers: HeadersInit | undefined): HeadersInit {
  return [...new Headers(headers)].filter(([name]) => HEADERS_FOR_ANYONE.includes(name)) as [
    string,
    string,
  ][];
}

const missing = (name: string): DatabaseError =>
  new DatabaseError({ status: 404, name: 'db_not_found', reason: `could not open ${name}` });

async function check(database: Database, signal: AbortSignal): Promise<void> {
  try {
    await database.info({ signal });
  } catch (error) {
    if (error instanceof DatabaseError && error.status === 404) throw missing(database.name);
    throw error;
  }
}

async function run(
  source: Database,
  target: Database,
  { continuous, doc_ids, selector, filter, query_params, since_seq, winning_revs_only }: ReplicateRequest,
  task: Task,
  failed: (error: unknown) => void,
): Promise<Record<string, unknown>> {
  const options: ReplicateOptions = {
    live: continuous,
    retry: continuous,
    doc_ids,
    selector,
    filter,
    query_params,
    winning_revs_only,
    signal: task.cancel.signal,
    ...(since_seq === undefined ? {} : { since: since_seq }),
  };
  const replication = replicate(source, target, options);
  replication.on('change', ({ docs_read, docs_written, doc_write_failures, last_seq }) => {
    task.updatedAt = Date.now();
    task.progress = { docs_read, docs_written, doc_write_failures, through_seq: String(last_seq) };
  });
  // One that goes on asks again, but not anew for its databases.
  replication.on('paused', failed);
  const { start_time, end_time, docs_read, docs_written, doc_write_failures, last_seq } = await replication;
  const session_id = uuid();
  const lastSeq = String(last_seq);
  const session = {
    session_id,
    start_time: new Date(start_time).toUTCString(),
    end_time: new Date(end_time ?? Date.now()).toUTCString(),
    start_last_seq: since_seq ?? 0,
    end_last_seq: lastSeq,
    recorded_seq: lastSeq,
    missing_checked: docs_read,
    missing_found: docs_read,
    docs_read,
    docs_written,
    doc_write_failures,
  };
  return {
    ...(docs_read === 0 ? { no_changes: true } : {}),
    session_id,
    source_last_seq: lastSeq,
    replication_id_version: 4,
    history: [session],
  };
}
