/**
 * A dump as static files, from which an empty database is filled before its first replication: chunks of gzipped lines, named by
 * their hash so that caches may keep them for ever, and a manifest that names them. The sums of the dump continue from
 * chunk to chunk, so chunks of two snapshots are never mixed.
 */
import {
  badRequest,
  checkResponse,
  type Database,
  DatabaseError,
  isObject,
  leaveUnread,
  Md5,
  type Seq,
  untilAborted,
  uuid,
} from '@settledb/core';
import { checkFunction, checkProgress, checkUrl } from './check';
import { type DumpOptions, parts, type Source } from './dump';
import { damaged, hex } from './format';
import { ahead, linesOf, piecesIn, textOf, whileReading } from './lines';
import { remember } from './remember';
import { SectionLoader } from './sections';
import { type Counts, type LoadOptions, type Target, Writer } from './writer';

export interface Manifest {
  readonly settledb: 'snapshot';
  readonly version: 1;
  /** `id()` of the database that the snapshot was made of, as it answered then; the name of a remote database is something else. */
  readonly source: string;
  /** Where a replication from that database will go on. */
  readonly seq: Seq;
  readonly docs: number;
  readonly chunks: readonly { readonly name: string; readonly length: number }[];
}

/** Takes a file, to write it where a static server finds it. */
export type Sink = (name: string, bytes: Uint8Array) => void | Promise<void>;

export type SnapshotOptions = Pick<DumpOptions, 'signal' | 'on_progress'>;

/** Characters of a chunk: some 1 MB gzipped, which is worth a request, and is in memory twice. */
const CHUNK_LENGTH = 4 * 1024 * 1024;
const CHUNK_NAME = /^[0-9a-f]{32}\.ndjson\.gz$/;

/** What a snapshot is made of. It is remembered there, so that a replication from it goes on where the snapshot ends. */
type SnapshotSource = Source & Pick<Database, 'put'>;

/** Writes a database as a snapshot; `manifest.json` last, so that it never names what is not there. */
export async function writeSnapshot(
  source: SnapshotSource,
  sink: Sink,
  options: SnapshotOptions = {},
): Promise<Manifest> {
  checkFunction('sink', sink);
  checkProgress(options);
  const session = uuid();
  const { update_seq } = await source.info({ signal: options.signal });
  // Before the first line names the session, and with a position that is not after the snapshot's.
  await remember(source, { session_id: session, seq: update_seq }, options);
  const lines = parts(source, { ...options, local: false, session });
  const write = (name: string, bytes: Uint8Array): Promise<void> =>
    untilAborted(Promise.resolve(sink(name, bytes)), options.signal);
  const chunks: { name: string; length: number }[] = [];
  let text = '';
  const flush = async (): Promise<void> => {
    const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    const name = `${hex(new Md5().update(bytes).digest())}.ndjson.gz`;
    await write(name, bytes);
    chunks.push({ name, length: bytes.length });
    text = '';
  };
  try {
    for (;;) {
      options.signal?.throwIfAborted();
      const { done, value } = await lines.next();
      if (!done) text += value;
      if (done ? text !== '' : text.length >= CHUNK_LENGTH) await flush();
      if (!done) continue;
      const { uuid: source, seq, docs } = value;
      const manifest: Manifest = { settledb: 'snapshot', version: 1, source, seq, docs, chunks };
      await write('manifest.json', new TextEncoder().encode(JSON.stringify(manifest)));
      return manifest;
    }
  } finally {
    // Where it failed: its feed, and the content that it was reading.
    lines.return(undefined as never).catch(() => {});
  }
}

export interface LoadSnapshotOptions extends LoadOptions {
  /** Default: the platform's. */
  readonly fetch?: typeof fetch | undefined;
}

export interface SnapshotResult extends Counts {
  readonly ok: boolean;
  readonly source: string;
  /** Where a replication from that database will go on by itself. */
  readonly seq: Seq;
}

/**
 * Loads a snapshot. Again after a failure: what is there is not written again.
 *
 * @param url of the manifest
 * @throws corrupt as `load` does; 503 `unreachable`; the status of an answer that is none, as `not_found` or `snapshot_failed`
 */
export async function loadSnapshot(
  target: Target,
  url: string | URL,
  options: LoadSnapshotOptions = {},
): Promise<SnapshotResult> {
  checkProgress(options);
  if (options.fetch != null) checkFunction('fetch', options.fetch);
  // Called as a plain function: browsers' fetch refuses another `this`.
  const get = options.fetch ?? ((input: RequestInfo | URL, init?: RequestInit) => fetch(input, init));
  const base = checkUrl(url);
  return whileReading(options.signal, async (signal) => {
    const response = await asked(get, base, signal, 'no-cache');
    const manifest = checkManifest(await jsonOf(response, base, signal));
    const writer = await Writer.on(target, options);
    const text = textOfChunks(manifest, base, (file) => asked(get, file, signal), signal);
    const { uuid, seq, session } = await new SectionLoader(linesOf(ahead(text)), writer).load();
    if (uuid !== manifest.source || seq !== manifest.seq)
      throw damaged('its manifest is of another snapshot');
    const { counts } = writer;
    const ok = counts.doc_write_failures === 0;
    // Only a database that has the whole snapshot may say so.
    if (ok && session !== undefined)
      await remember(target, { session_id: session, seq: await writer.onlyThese() }, options);
    return { ok, source: uuid, seq, ...counts };
  });
}

async function* textOfChunks(
  { chunks }: Manifest,
  base: URL,
  open: (url: URL) => Promise<Response>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  for (const { name } of chunks) {
    const url = new URL(name, base);
    const { body } = await open(url);
    if (body !== null) yield* textOf(arriving(body, url, signal), signal);
  }
}

/** The bytes of an answer. @throws unreachable if they break off */
async function* arriving(
  body: ReadableStream<Uint8Array>,
  url: URL,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const pieces = piecesIn(body, signal) as AsyncIterable<Uint8Array>;
  try {
    yield* pieces;
  } catch (cause) {
    throw unreachable(url, cause, signal);
  }
}

/** Undefined for what is no JSON. @throws unreachable if the answer breaks off */
async function jsonOf(response: Response, url: URL, signal: AbortSignal): Promise<unknown> {
  try {
    return await untilAborted(response.json(), signal);
  } catch (cause) {
    if (isObject(cause) && cause.name === 'SyntaxError') return undefined;
    throw unreachable(url, cause, signal);
  }
}

/** Ends with the signal, also if a fetch that is given does not heed it. */
async function asked(
  get: typeof fetch,
  url: URL,
  signal: AbortSignal,
  cache: RequestCache = 'default',
): Promise<Response> {
  let response: Response;
  try {
    response = await untilAborted(Promise.resolve(get(url, { cache, signal })), signal);
  } catch (cause) {
    throw unreachable(url, cause, signal);
  }
  checkResponse(response);
  if (response.ok) return response;
  leaveUnread(response.body);
  throw new DatabaseError({
    status: response.status,
    name: response.status === 404 ? 'not_found' : 'snapshot_failed',
    reason: `${String(url)} was answered by ${response.status}`,
  });
}

/** @throws the signal's reason, if that is why */
function unreachable(url: URL, cause: unknown, signal: AbortSignal): DatabaseError {
  signal.throwIfAborted();
  const reason = `${String(url)} could not be reached`;
  return new DatabaseError({ status: 503, name: 'unreachable', reason, cause });
}

function checkManifest(value: unknown): Manifest {
  if (
    !isObject(value) ||
    value.settledb !== 'snapshot' ||
    value.version !== 1 ||
    !Array.isArray(value.chunks)
  )
    throw badRequest('This is no manifest of a snapshot, or one of another version');
  // Names from outside must not lead to other places.
  if (!value.chunks.every((chunk) => isObject(chunk) && CHUNK_NAME.test(String(chunk.name))))
    throw badRequest('The manifest names something that is not a chunk');
  return value as unknown as Manifest;
}
