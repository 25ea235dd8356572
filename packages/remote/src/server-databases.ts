/** A database as a whole: made, described, compacted, destroyed. */
import { badRequest, notFound } from '@settledb/core';
import type { Context, DatabaseContext } from './server-context';
import { checkJsonType, failure, jsonResponse } from './server-http';
import { encodePart } from './wire';

/** ms a compaction is waited for. A longer one goes on, and `compact_running` says so. */
const COMPACT_WAIT_MS = 2_000;

export async function createDatabase({ server, segments, origin }: Context): Promise<Response> {
  const name = segments[0]!;
  if (!(await server.databases.create(name))) {
    throw failure(412, 'file_exists', 'The database could not be created, the file already exists.');
  }
  return jsonResponse(201, { ok: true }, { location: `${origin}/${encodePart(name)}` });
}

export async function destroyDatabase({ server, segments, query }: Context): Promise<Response> {
  if (query.text('rev') !== undefined) {
    throw badRequest(
      'You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a document instead?',
    );
  }
  if (!(await server.databases.destroy(segments[0]!))) throw notFound('Database does not exist.');
  return jsonResponse(200, { ok: true });
}

export async function databaseInfo({ database, name, server, request }: DatabaseContext): Promise<Response> {
  const info = await database.info({ signal: request.signal });
  return jsonResponse(200, {
    instance_start_time: '0',
    db_name: name,
    purge_seq: info.purge_seq ?? 0,
    update_seq: info.update_seq,
    sizes: { file: 0, external: 0, active: 0 },
    props: {},
    doc_del_count: info.doc_del_count ?? 0,
    doc_count: info.doc_count,
    disk_format_version: 1,
    compact_running: server.compactions.has(name),
    cluster: { q: 1, n: 1, w: 1, r: 1 },
  });
}

export async function compact({ database, name, server, request }: DatabaseContext): Promise<Response> {
  checkJsonType(request);
  const running = server.compactions.get(name) ?? startCompaction(name);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const enough = new Promise((resolve) => {
    timer = setTimeout(resolve, COMPACT_WAIT_MS);
  });
  await Promise.race([running, enough]).finally(() => clearTimeout(timer));
  return jsonResponse(202, { ok: true });

  function startCompaction(of: string): Promise<unknown> {
    const work = database.compact().finally(() => server.compactions.delete(of));
    server.compactions.set(of, work);
    // Whoever waits hears of a failure; when nobody does any more it must not become an unhandled one.
    work.catch(() => {});
    return work;
  }
}

/** Every answered write is as durable as it gets: nothing is left to do. */
export function ensureFullCommit({ request }: DatabaseContext): Response {
  checkJsonType(request);
  return jsonResponse(201, { ok: true, instance_start_time: '0' });
}

export async function revsLimit({ database }: DatabaseContext): Promise<Response> {
  const { revs_limit } = await database.info();
  return jsonResponse(200, typeof revs_limit === 'number' ? revs_limit : 1000);
}

export function security(): Response {
  return jsonResponse(200, { members: { roles: ['_admin'] }, admins: { roles: ['_admin'] } });
}
