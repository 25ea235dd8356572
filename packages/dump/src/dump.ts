/**
 * Writes a database as a dump: every leaf of every document with its ancestry, in the order of changes, and its attachments.
 *
 * Uses the verbs of `Database`, so that a remote database is dumped like a local one. Writes go on meanwhile: a document
 * changed during the dump comes again at the end, as it is then, or comes only there.
 */
import {
  bestBytes,
  type CallOptions,
  closed,
  type Database,
  DatabaseError,
  type ExistingDoc,
  either,
  isMissing,
  notImplemented,
  piecesOf,
  ReadSize,
  type Seq,
  STUB_AT_HAND,
  streamOf,
  through,
  unlessMissing,
} from '@settledb/core';
import { checkProgress } from './check';
import {
  type AnyDoc,
  Chain,
  contentKey,
  DATA_BYTES,
  FORMAT,
  type Header,
  isOwnLocal,
  type Line,
  SECTION_DOCS,
  SECTION_LENGTH,
  textOfLine,
  VERSION,
} from './format';

/** What is dumped: the verbs used. */
export type Source = Pick<Database, 'id' | 'info' | 'changes' | 'bulkGet' | 'openAttachment' | 'get'> & {
  /** Needed for the option `local`. */
  localDocs?(options: CallOptions): Promise<ExistingDoc[]>;
};

/** Where a handle has its database, which lists `_local` documents if the handle does not. */
interface Behind {
  run<T>(work: (database: Database) => Promise<T>, signal?: AbortSignal | undefined): Promise<T>;
}

export interface DumpProgress {
  /** Revisions dumped so far. */
  readonly docs: number;
  /** Bytes of attachments. */
  readonly content_length: number;
  /** How far the dump is in the changes. */
  readonly seq: Seq;
}

export interface DumpOptions extends CallOptions {
  /**
   * Include `_local` documents, for the program's own: a load leaves out the checkpoints of replications. For local databases only.
   * Default false.
   */
  readonly local?: boolean | undefined;
  /** `false`: plain NDJSON. Default true. */
  readonly gzip?: boolean | undefined;
  /** Called after each section. What it throws ends the dump. */
  readonly on_progress?: ((progress: DumpProgress) => void) | undefined;
}

/** What a dump tells when it is complete. */
interface Dumped {
  readonly uuid: string;
  readonly seq: Seq;
  readonly docs: number;
}

/** Most revisions read at a time; fewer if they are long, as the bodies of one batch are in memory together. */
const BATCH_MAX = 250;
/** Changes in one request to a remote database: the whole feed must not be made, sent and held at once. */
const PAGE = 1_000;
/** Feeds read one after the other: each has what was written during the one before. The last one is requested in one go. */
const PASSES_MAX = 10;
const ALL = Number.MAX_SAFE_INTEGER;
/** Attempts to dump a document whose content disappears while it is read: each failure means that it was edited, and compacted. */
const TRIES_MAX = 10;
/** Digests remembered as written. Beyond this number, content may come twice, which only costs room. */
const KNOWN_LIMIT = 100_000;

interface Stubs {
  readonly [name: string]: { readonly digest: string };
}

/** A dump that is being made. */
interface Dumping {
  readonly source: Source;
  readonly writer: Sections;
  readonly signal: AbortSignal | undefined;
}

/** The dump as text, in parts of whole lines. @throws what the database fails with; corrupt for damaged content */
export async function* parts(
  source: Source,
  options: DumpOptions & { readonly session?: string },
  behind?: Behind,
): AsyncGenerator<string, Dumped> {
  const { signal, session } = options;
  const [uuid, info] = await Promise.all([source.id({ signal }), source.info({ signal })]);
  // Read first: later changes are in the feed after this position.
  const { update_seq: seq, doc_count } = info;
  const writer = new Sections();
  const dumping = { source, writer, signal };
  const header: Header = { settledb: FORMAT, version: VERSION, uuid, seq, doc_count };
  writer.add(session === undefined ? header : { ...header, session });
  let at: Seq = 0;
  const report = (): void =>
    options.on_progress?.({ docs: writer.docs, content_length: writer.contentLength, seq: at });
  const size = new ReadSize(BATCH_MAX);
  for await (const { docs, last } of leaves(source, size, signal)) {
    const before = writer.length;
    for (const doc of docs) {
      const content = writer.unknown(doc);
      if (content.length > 0) yield* withContent(dumping, doc, content);
      else writer.add({ doc });
      if (content.length === 0 && !writer.full) continue;
      if (writer.pending) yield writer.close();
      report();
    }
    at = last;
    size.sawLength(docs.length, writer.length - before);
  }
  if (options.local) yield* localParts(dumping, behind);
  writer.add({ end: true, docs: writer.docs, seq });
  yield writer.close();
  report();
  return { uuid, seq, docs: writer.docs };
}

/** The section being written. */
class Sections {
  docs = 0;
  /** Characters of all documents so far. */
  length = 0;
  contentLength = 0;
  readonly #chain = new Chain();
  readonly #known = new Set<string>();
  #lines: string[] = [];
  #length = 0;

  add(line: Line): void {
    const text = textOfLine(line);
    this.#lines.push(text);
    this.#length += text.length;
    if (!('doc' in line)) return;
    this.docs++;
    this.length += text.length;
  }

  get pending(): boolean {
    return this.#lines.length > 0;
  }

  get full(): boolean {
    return this.#lines.length >= SECTION_DOCS || this.#length >= SECTION_LENGTH;
  }

  /** Ends the section: its last lines, with the sum. */
  close(): string {
    const text = this.flush();
    return `${text}${JSON.stringify({ sum: this.#chain.sum() })}\n`;
  }

  /** The lines so far, in the middle of a section. */
  flush(): string {
    const text = this.#lines.join('');
    this.#chain.add(text);
    this.#lines = [];
    this.#length = 0;
    return text;
  }

  /** Attachments whose content was not written yet; from now on it counts as written. */
  unknown(doc: AnyDoc): string[] {
    const stubs = (doc._attachments ?? {}) as Stubs;
    const names = Object.keys(stubs).filter((name) => !this.#known.has(contentKey(stubs[name])));
    for (const name of names) this.#know(contentKey(stubs[name]));
    return names;
  }

  /** Called if the content is incomplete: it then counts as not written. */
  forget(doc: AnyDoc, names: readonly string[]): void {
    const stubs = doc._attachments as Stubs;
    for (const name of names) this.#known.delete(contentKey(stubs[name]));
  }

  #know(key: string): void {
    if (this.#known.size >= KNOWN_LIMIT) this.#known.delete(this.#known.values().next().value!);
    this.#known.add(key);
  }
}

/**
 * Every leaf of every document, in batches. A document that is edited before its place in the feed is read moves beyond the
 * feed's end: so another feed follows where that one ended, until one was read in one go.
 */
async function* leaves(
  source: Source,
  size: ReadSize,
  signal: AbortSignal | undefined,
): AsyncGenerator<{ docs: AnyDoc[]; last: Seq }> {
  let since: Seq = 0;
  for (let pass = 1; ; pass++) {
    let rows = 0;
    let wanted: { id: string; rev: string }[] = [];
    const batch_size = pass < PASSES_MAX ? PAGE : ALL;
    const feed = source.changes({ style: 'all_docs', return_docs: false, batch_size, since, signal });
    for await (const { id, seq, changes } of feed) {
      rows++;
      wanted.push(...changes.map(({ rev }) => ({ id, rev })));
      since = seq ?? since;
      if (wanted.length < size.next) continue;
      yield { docs: await read(source, wanted, signal), last: since };
      wanted = [];
    }
    signal?.throwIfAborted();
    const ended = await feed;
    // The database was closed or destroyed meanwhile: the dump is incomplete.
    if ('status' in ended) throw closed();
    if (wanted.length > 0) yield { docs: await read(source, wanted, signal), last: since };
    if (rows < batch_size) return;
    since = ended.last_seq;
  }
}

async function read(
  source: Source,
  wanted: readonly { id: string; rev: string }[],
  signal: AbortSignal | undefined,
): Promise<AnyDoc[]> {
  // If a revision was edited meanwhile, the leaf of its branch is answered.
  const request = { docs: wanted, revs: true, latest: true, att_encoding_info: true, signal };
  const { results } = await source.bulkGet(request);
  const docs: AnyDoc[] = [];
  const lost = new Set<string>();
  for (const { id, docs: rows } of results)
    for (const row of rows) {
      if ('ok' in row) docs.push(row.ok as AnyDoc);
      else if (row.error.error === 'not_found') lost.add(id);
      else throw failed(row.error);
    }
  if (lost.size === 0) return docs;
  const whole = docs.filter(({ _id }) => !lost.has(_id));
  for (const id of lost) whole.push(...(await leavesOf(source, id, signal)));
  return whole;
}

/**
 * All leaves of a document of which a revision is not found: it was purged, or edited so often that its tree no longer has that one.
 * One request tells, which no edit can come between.
 */
async function leavesOf(source: Source, id: string, signal: AbortSignal | undefined): Promise<AnyDoc[]> {
  const options = { open_revs: 'all', revs: true, att_encoding_info: true, signal } as const;
  const rows = (await source.get(id, options).catch(unlessMissing)) ?? [];
  return rows.flatMap((row) => ('ok' in row ? [row.ok as AnyDoc] : []));
}

const failed = ({ id, error, reason }: { id: string; error: string; reason: string }): DatabaseError =>
  new DatabaseError({ status: 500, name: error, reason, docId: id });

/** A document and its content. If that disappears before its end is read, the document is called gone, and what it became follows. */
async function* withContent(
  dumping: Dumping,
  doc: AnyDoc,
  content: readonly string[],
  tries = 1,
): AsyncGenerator<string> {
  const { source, writer, signal } = dumping;
  if (writer.pending) yield writer.close();
  writer.add({ doc, content });
  yield writer.close();
  try {
    for (const name of content) yield* contentOf(dumping, doc, name);
    return;
  } catch (error) {
    if (!isMissing(error) || tries === TRIES_MAX) throw error;
  }
  writer.add({ gone: true });
  yield writer.close();
  writer.forget(doc, content);
  // A revision may have become several leaves.
  for (const next of await read(source, [{ id: doc._id, rev: doc._rev }], signal)) {
    const names = writer.unknown(next);
    if (names.length > 0) yield* withContent(dumping, next, names, tries + 1);
    else writer.add({ doc: next });
  }
}

async function* contentOf(
  { source, writer, signal }: Dumping,
  doc: AnyDoc,
  name: string,
): AsyncGenerator<string> {
  const stub = (doc._attachments as Stubs)[name]!;
  const options = { rev: doc._rev, encoded: true, signal, [STUB_AT_HAND]: stub };
  const opened = await source.openAttachment(doc._id, name, options);
  if (opened.digest !== stub.digest) {
    opened.stream.cancel().catch(() => {});
    throw new DatabaseError({
      status: 500,
      name: 'content_md5_mismatch',
      reason: `Attachment ${name} of ${doc._id} is not the one its document names`,
      docId: doc._id,
    });
  }
  for await (const piece of piecesOf(opened.stream, signal) as AsyncIterable<Uint8Array>) {
    writer.contentLength += piece.length;
    for (let at = 0; at < piece.length; at += DATA_BYTES)
      writer.add({ data: bestBytes().toBase64([piece.slice(at, at + DATA_BYTES)]) });
    yield writer.flush();
  }
  yield writer.close();
}

async function* localParts(
  { source, writer, signal }: Dumping,
  behind: Behind | undefined,
): AsyncGenerator<string> {
  const list = async (of: Pick<Source, 'id' | 'localDocs'>): Promise<readonly ExistingDoc[]> => {
    if (of.localDocs !== undefined) return of.localDocs({ signal });
    throw notImplemented('This database does not list its _local documents');
  };
  for (const { _id } of await (behind?.run(list, signal) ?? list(source))) {
    if (isOwnLocal(_id)) continue;
    const local = await source.get(_id, { attachments: true, signal }).catch(unlessMissing);
    if (local === undefined) continue; // It was removed after it was listed.
    writer.add({ local: local as AnyDoc });
    if (writer.full) yield writer.close();
  }
}

/**
 * The whole database as a stream of bytes: NDJSON, gzipped. The database is read as the stream is, in bounded memory; the stream fails
 * with what the database fails with, and with the reason of `signal`. Whoever leaves it ends what it waits for.
 */
export function dump(source: Source, options: DumpOptions = {}, behind?: Behind): ReadableStream<Uint8Array> {
  checkProgress(options);
  const leaving = new AbortController();
  const plain = bytesOf(source, options, behind, leaving.signal);
  const bytes = options.gzip === false ? plain : through(new CompressionStream('gzip'), plain);
  return streamOf(bytes, (reason) => {
    leaving.abort(reason);
    return bytes.return();
  });
}

async function* bytesOf(
  source: Source,
  options: DumpOptions,
  behind: Behind | undefined,
  leaving: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  const { signal, leave } = either(options.signal, leaving);
  try {
    for await (const text of parts(source, { ...options, signal }, behind)) {
      signal.throwIfAborted();
      if (text !== '') yield encoder.encode(text);
    }
    signal.throwIfAborted();
  } finally {
    leave();
  }
}
