/**
 * The form of a dump: lines of JSON, in sections that are each closed by a checksum.
 *
 *   {"settledb":"dump","version":1,"uuid":…,"seq":…,"doc_count":…}      the header; of a snapshot with "session":…
 *   {"doc":{…,"_revisions":…}}                                          one leaf; its attachments are stubs
 *   {"sum":"…"}                                                         closes the section
 *   {"doc":{…},"content":["name",…]}                                    one whose content follows, alone in its section
 *   {"sum":"…"}
 *   {"data":"base64"} … {"sum":"…"}                                     the content of each name, as stored
 *   {"gone":true}                                                       in place of what is left of a content: it went while it was
 *   {"sum":"…"}                                                         read, and its document with it. What that became follows
 *   {"local":{…}}                                                       a `_local` document
 *   {"end":true,"docs":…,"seq":…}  {"sum":"…"}
 *
 * A sum is the MD5 of the sum before it and the lines since, so that data which is damaged, missing, doubled or moved is found before
 * it is used. Content stands once, with the first document that has it.
 */
import {
  corrupt,
  DatabaseError,
  type ExistingDoc,
  isObject,
  Md5,
  type Seq,
  SNAPSHOT_ID,
} from '@settledb/core';

export const FORMAT = 'dump';
export const VERSION = 1;

/** A section is written by one `bulkDocs`: large enough to be quick, small enough to show progress soon. */
export const SECTION_DOCS = 1000;
/** Characters. */
export const SECTION_LENGTH = 1024 * 1024;
/**
 * Characters of one line, or of one document in the file of another program. V8's strings end at 2^29 - 24, and a line stands in one
 * together with what is left of the section, or of the piece, that it is in.
 */
export const LINE_LIMIT = 2 ** 29 - 2 * SECTION_LENGTH;
/** Bytes of content on one line: a multiple of 3, so that base64 has no padding in between. */
export const DATA_BYTES = 48 * 1024;

export interface Header {
  readonly settledb: typeof FORMAT;
  readonly version: number;
  /** What `id()` of the dumped database answers. */
  readonly uuid: string;
  /** Every change up to here is in the dump, or was replaced by a later one that is. */
  readonly seq: Seq;
  /** Documents that existed when the dump began, not counting deleted ones. */
  readonly doc_count: number;
  /** For a snapshot: the session under which its source remembers it. */
  readonly session?: string;
}

export type AnyDoc = ExistingDoc<Record<string, unknown>>;

export type Line =
  | Header
  | { readonly doc: AnyDoc; readonly content?: readonly string[] }
  | { readonly local: AnyDoc }
  | { readonly data: string }
  | { readonly gone: true }
  | { readonly sum: string }
  | { readonly end: true; readonly docs: number; readonly seq: Seq };

/** A line with its end. @throws too_large (413), naming the document, for one that a load would not take */
export function textOfLine(line: Line): string {
  let text: string;
  try {
    text = `${JSON.stringify(line)}\n`;
  } catch (cause) {
    throw tooLong(line, cause);
  }
  if (text.length > LINE_LIMIT) throw tooLong(line);
  return text;
}

function tooLong(line: Line, cause?: unknown): DatabaseError {
  const { _id: docId } = 'doc' in line ? line.doc : 'local' in line ? line.local : {};
  const reason = `A dump holds documents of up to ${LINE_LIMIT} characters of JSON`;
  return new DatabaseError({ status: 413, name: 'too_large', reason, docId, cause });
}

/** Ids of documents that a load keeps while it lasts, see `Writer.keep`. */
export const KEPT_PREFIX = '_local/settledb.load.';

/** `_local` documents about their own database: in another they would mean nothing, or something wrong. */
export const OWN_LOCALS: ReadonlySet<string> = new Set(['_local/compaction', SNAPSHOT_ID]);

/** Whether a `_local` document is one of those, or kept by a load. */
export const isOwnLocal = (id: string): boolean => OWN_LOCALS.has(id) || id.startsWith(KEPT_PREFIX);

/** Characters hashed at a time. */
const SUMMED_LENGTH = 64 * 1024;

/** The sums of a dump, one after another. Each begins with the one before. */
export class Chain {
  readonly #encoder = new TextEncoder();
  /** Lines added but not yet hashed: encoding and hashing many short lines one by one is expensive. */
  #lines: string[] = [];
  #length = 0;
  #hasher = new Md5();

  /** @param text lines, each with its line end */
  add(text: string): void {
    this.#lines.push(text);
    this.#length += text.length;
    if (this.#length >= SUMMED_LENGTH) this.#flush();
  }

  #flush(): void {
    this.#hasher.update(this.#encoder.encode(this.#lines.join('')));
    this.#lines = [];
    this.#length = 0;
  }

  /** Closes the section. */
  sum(): string {
    this.#flush();
    const sum = hex(this.#hasher.digest());
    this.#hasher = new Md5();
    this.#hasher.update(this.#encoder.encode(sum));
    return sum;
  }
}

export const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

export const damaged = (what: string, cause?: unknown): DatabaseError =>
  corrupt(`The dump is damaged: ${what}. What was loaded before is valid; load a whole dump to go on`, cause);

export const truncated = (): DatabaseError => damaged('it ends before its end');

/** What tells contents apart: the digest, and how they are stored. A dump has each once, and whoever loads it looks for it by the same. */
export const contentKey = (attachment: unknown): string =>
  isObject(attachment) ? `${attachment.digest} ${attachment.encoding ?? ''}` : '';
