/** Loads a dump, of whichever kind, into a database. */
import { badRequest, isObject, leaveUnread, type Seq } from '@settledb/core';
import { checkProgress } from './check';
import { checkBeginning, loadJson, loadPouchDump } from './foreign';
import { FORMAT, truncated } from './format';
import { after, ahead, type Input, linesOf, textOf, whileReading } from './lines';
import { checkVersion, SectionLoader } from './sections';
import { type Counts, type LoadOptions, type Target, Writer } from './writer';

export interface LoadResult extends Counts {
  /** Whether every document was accepted. */
  readonly ok: boolean;
  readonly format: 'settledb' | 'pouchdb' | 'couchdb';
  /** The uuid of the database that was dumped, if the dump says it. */
  readonly uuid?: string;
  /** Up to where the dump has that database, if the dump says it: a replication from the database may go on there. */
  readonly seq?: Seq;
}

/**
 * Loads a dump: one of ours, of CouchDB (`_all_docs?include_docs=true`, `_bulk_docs`) or of pouchdb-dump; gzipped or not. What the
 * database has already is not written again, so that loading once more goes on where it was broken off.
 *
 * @throws corrupt for input that is damaged or cut off: what was loaded before is valid; bad_request for what is no dump; what the
 *   input or the database fails with; the reason of `signal`
 */
export async function load(target: Target, input: Input, options: LoadOptions = {}): Promise<LoadResult> {
  checkProgress(options);
  return whileReading(options.signal, async (signal) => {
    const text = textOf(input, signal);
    try {
      return await loadText(target, text, options);
    } finally {
      // A source that does not heed a signal ends when it likes.
      text.return(undefined).catch(() => {});
      leaveUnread(input);
    }
  });
}

async function loadText(
  target: Target,
  text: AsyncGenerator<string>,
  options: LoadOptions,
): Promise<LoadResult> {
  const writer = await Writer.on(target, options);
  const { first, rest } = await firstLine(text);
  const header = headerOf(first);
  let told: { format: LoadResult['format']; uuid?: string; seq?: Seq };
  if (header?.settledb === FORMAT) {
    checkVersion(header);
    const { uuid, seq } = await new SectionLoader(linesOf(ahead(rest)), writer).load();
    told = { format: 'settledb', uuid, seq };
  } else if (header?.settledb !== undefined) {
    throw badRequest('This is the manifest of a snapshot: loadSnapshot(url) loads it');
  } else if (isPouchHeader(header)) {
    const seq = await loadPouchDump(linesOf(rest), writer);
    told = { format: 'pouchdb', ...(isSeq(seq) ? { seq } : {}) };
  } else {
    checkBeginning(first);
    await loadJson(rest, writer);
    told = { format: 'couchdb' };
  }
  options.signal?.throwIfAborted();
  const { counts } = writer;
  return { ok: counts.doc_write_failures === 0, ...told, ...counts };
}

const isSeq = (value: unknown): value is Seq => typeof value === 'number' || typeof value === 'string';

const isPouchHeader = (line: Record<string, unknown> | undefined): boolean =>
  isObject(line?.db_info) && !('docs' in line!) && !('rows' in line!);

/** Characters within which a header ends: a file of one long line has none. */
const HEADER_LENGTH = 64 * 1024;

/** The text before the first line end, if that comes soon; and the whole text again. */
async function firstLine(
  text: AsyncGenerator<string>,
): Promise<{ first: string; rest: AsyncGenerator<string> }> {
  let begin = '';
  for (;;) {
    const { done, value } = await text.next();
    if (!done) begin += value;
    else if (begin === '') throw truncated();
    const end = begin.indexOf('\n');
    if (!done && end < 0 && begin.length < HEADER_LENGTH) continue;
    return { first: end < 0 ? begin : begin.slice(0, end), rest: after(begin, text) };
  }
}

function headerOf(line: string): Record<string, unknown> | undefined {
  if (line.length > HEADER_LENGTH) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
