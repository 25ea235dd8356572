/**
 * multipart/mixed and multipart/related as streams (RFC 2046 §5.1): CouchDB's way to send attachments as bytes.
 *
 * One reader and one writer serve both ends, in browsers and Node. A part's body is read as it arrives; only one chunk is held,
 * and the few bytes that may be the beginning of a boundary. Nested bodies are read by reading a part's body again. A text
 * that ends before its closing boundary is an error, never a shorter last part.
 */
import { badRequest, type DatabaseError } from '@settledb/core';
import { MAX_TOLD } from './wire';

export type Bytes = AsyncIterable<Uint8Array>;

export interface Part {
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  /** To be read once, before the next part is requested; what is unread by then is skipped. */
  readonly body: Bytes;
}

/** Characters of the headers of one part. CouchDB's are under 300; names of attachments stand in them. */
const MAX_HEADERS_LENGTH = 16 * 1024;
/** Bytes before the first boundary, which mean nothing. */
const MAX_PREAMBLE_LENGTH = 16 * 1024;
/** Blanks that may stand behind a boundary. */
const MAX_PADDING_LENGTH = 128;
/** RFC 2046: 1 to 70 characters, not ending with a blank. */
const BOUNDARY = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/;

const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
const DASH = 45;
const EMPTY = new Uint8Array();

/** The boundary that a Content-Type names; undefined for a type that is no multipart. @throws bad_request */
export function boundaryOf(contentType: string | null | undefined): string | undefined {
  if (contentType === null || contentType === undefined || !/^\s*multipart\//i.test(contentType))
    return undefined;
  const match = /;\s*boundary\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i.exec(contentType);
  const boundary = match?.[1]?.replace(/\\(.)/g, '$1') ?? match?.[2] ?? '';
  if (!BOUNDARY.test(boundary)) throw malformed('its boundary is missing or none');
  return boundary;
}

const malformed = (what: string): DatabaseError => badRequest(`Malformed multipart: ${what}`);

/**
 * The parts of a multipart text, in order.
 *
 * @param boundary as {@link boundaryOf} answers it
 * @param mostHeaders characters that the headers of a part may have
 * @throws bad_request for a text that is not multipart, or not complete
 */
export async function* readMultipart(
  source: Bytes,
  boundary: string,
  mostHeaders = MAX_HEADERS_LENGTH,
): AsyncGenerator<Part, void, void> {
  const reader = new Reader(source, boundary, mostHeaders);
  try {
    await reader.preamble();
    while (reader.more) {
      yield { headers: await reader.headers(), body: reader.body() };
      await reader.pass();
    }
    await reader.drain();
  } finally {
    await reader.leave();
  }
}

/** Where a boundary stands in the buffer, or else up to where there surely is none. */
type Found =
  | { readonly at: number; readonly end: number; readonly closing: boolean }
  | { readonly safe: number };

class Reader {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #decoder = new TextDecoder();
  /** `\r\n--boundary`. */
  readonly #delimiter: Uint8Array;
  /**
   * The buffer begins with the line end before a body, because it may belong to a boundary: that of a part without a body, or
   * the boundary that everything begins with.
   */
  #buffer: Uint8Array = Uint8Array.of(CR, LF);
  /** Bytes of that line end that still stand before the body. */
  #skip = 2;
  /** Counts parts, so that the body of an earlier part cannot read from a later one. */
  #part = 0;
  #inBody = true;
  #ended = false;
  /** The boundary last read is followed by a part. */
  more = false;

  constructor(
    source: Bytes,
    boundary: string,
    readonly mostHeaders: number,
  ) {
    this.#source = source[Symbol.asyncIterator]();
    this.#delimiter = new TextEncoder().encode(`\r\n--${boundary}`);
  }

  /** Goes to the first part. */
  async preamble(): Promise<void> {
    let skipped = 0;
    for await (const bytes of this.body()) {
      skipped += bytes.byteLength;
      if (skipped > MAX_PREAMBLE_LENGTH) throw malformed('it does not begin with its boundary');
    }
  }

  async headers(): Promise<Map<string, string>> {
    const headers = new Map<string, string>();
    let last = '';
    for (let left = this.mostHeaders; ; ) {
      const line = await this.#line(left);
      left -= line.length + 2;
      if (line === '') break;
      const colon = line.indexOf(':');
      if (/^[ \t]/.test(line) && last !== '') headers.set(last, `${headers.get(last)} ${line.trim()}`);
      else if (colon > 0) {
        last = line.slice(0, colon).trim().toLowerCase();
        headers.set(last, line.slice(colon + 1).trim());
      } else throw malformed('a header is none');
    }
    this.#part++;
    this.#inBody = true;
    this.#skip = 2;
    return headers;
  }

  /** A line; its line end is consumed, except that of an empty line. */
  async #line(limit: number): Promise<string> {
    for (let from = 0; ; ) {
      const end = this.#buffer.indexOf(LF, from);
      if (Math.max(end, this.#buffer.length * Number(end < 0)) > limit) {
        throw malformed('its headers are too long');
      }
      if (end >= 0) {
        if (this.#buffer[end - 1] !== CR) throw malformed('a line of its headers ends with LF alone');
        const line = this.#decoder.decode(this.#buffer.subarray(0, end - 1));
        if (line !== '') this.#buffer = this.#buffer.subarray(end + 1);
        return line;
      }
      from = this.#buffer.length;
      await this.#fill();
    }
  }

  /** The bytes before the next boundary, which is consumed too. */
  body(): AsyncGenerator<Uint8Array, void, void> {
    return this.#body(this.#part);
  }

  async *#body(part: number): AsyncGenerator<Uint8Array, void, void> {
    while (this.#inBody || part !== this.#part) {
      if (part !== this.#part) throw malformed('the body of a part was read after the next one was begun');
      const bytes = await this.#next();
      if (bytes.length > 0) yield bytes;
    }
  }

  /** Skips to the end of the current body. */
  async pass(): Promise<void> {
    while (this.#inBody) await this.#next();
  }

  async #next(): Promise<Uint8Array> {
    const found = this.#find();
    if ('safe' in found) {
      if (found.safe > this.#skip) return this.#take(found.safe);
      await this.#fill();
      return EMPTY;
    }
    this.#inBody = false;
    this.more = !found.closing;
    const last = this.#take(found.at);
    this.#buffer = this.#buffer.subarray(found.end - found.at);
    return last;
  }

  #take(length: number): Uint8Array {
    const taken = this.#buffer.subarray(Math.min(this.#skip, length), length);
    this.#buffer = this.#buffer.subarray(length);
    this.#skip = 0;
    return taken;
  }

  #find(): Found {
    const buffer = this.#buffer;
    const delimiter = this.#delimiter;
    for (let at = buffer.indexOf(CR); at >= 0; at = buffer.indexOf(CR, at + 1)) {
      const length = Math.min(delimiter.length, buffer.length - at);
      let same = 1;
      while (same < length && buffer[at + same] === delimiter[same]) same++;
      if (same < length) continue;
      if (length < delimiter.length) return { safe: at };
      const found = this.#judge(at, at + length);
      if (found !== undefined) return found;
    }
    return { safe: buffer.length };
  }

  /** What the bytes after `\r\n--boundary` make it; undefined if they make it no boundary. */
  #judge(at: number, end: number): Found | undefined {
    const buffer = this.#buffer;
    if (buffer[end] === DASH) {
      if (end + 1 === buffer.length) return { safe: at };
      return buffer[end + 1] === DASH ? { at, end: end + 2, closing: true } : undefined;
    }
    let next = end;
    while (buffer[next] === SPACE || buffer[next] === TAB) next++;
    if (next - end > MAX_PADDING_LENGTH) return undefined;
    if (next >= buffer.length || (buffer[next] === CR && next + 1 === buffer.length)) return { safe: at };
    return buffer[next] === CR && buffer[next + 1] === LF ? { at, end: next + 2, closing: false } : undefined;
  }

  /** @throws bad_request when nothing more comes */
  async #fill(): Promise<void> {
    const { done, value } = await this.#source.next();
    if (done === true) {
      this.#ended = true;
      throw malformed('it breaks off');
    }
    const joined = new Uint8Array(this.#buffer.length + value.length);
    joined.set(this.#buffer);
    joined.set(value, this.#buffer.length);
    this.#buffer = joined;
  }

  /** What follows the closing boundary means nothing, but has to be read by somebody. */
  async drain(): Promise<void> {
    while (!this.#ended) this.#ended = (await this.#source.next()).done === true;
  }

  async leave(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    await this.#source.return?.();
  }
}

export interface OutgoingPart {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | Bytes;
}

/** The text of a multipart, made piece by piece as it is read. @throws bad_request for a header with a line end */
export async function* writeMultipart(
  parts: Iterable<OutgoingPart> | AsyncIterable<OutgoingPart>,
  boundary: string,
): AsyncGenerator<Uint8Array, void, void> {
  // Made here, not once for all: Jest's jsdom has none, and imports this with `settledb/static`.
  const encoder = new TextEncoder();
  let first = true;
  for await (const { headers, body } of parts) {
    yield encoder.encode(partHead(headers, boundary, first));
    first = false;
    if (typeof body === 'string') yield encoder.encode(body);
    else if (body instanceof Uint8Array) yield body;
    else yield* body;
  }
  yield encoder.encode(first ? `--${boundary}--` : closing(boundary));
}

/** What stands before the body of a part. @throws bad_request for a header with a line end */
export function partHead(
  headers: Readonly<Record<string, string>>,
  boundary: string,
  first: boolean,
): string {
  const lines = Object.entries(headers).map(([name, value]) => {
    if (/[\r\n\0]/.test(value)) throw badRequest(`A header cannot hold ${JSON.stringify(value)}`);
    return `${name}: ${value}\r\n`;
  });
  return `${first ? '' : '\r\n'}--${boundary}\r\n${lines.join('')}\r\n`;
}

/** What stands after the last part. */
export const closing = (boundary: string): string => `\r\n--${boundary}--`;

/**
 * The name of an attachment in a header. Readers rely on the order of parts, so a name that no header can carry is percent-encoded
 * rather than refused, and a long one cut off: it stands in the document.
 */
export function quoteFilename(name: string): string {
  const safe = name.slice(0, MAX_TOLD).replace(/[\x00-\x1f\x7f"\\]/g, (char) => encodeURIComponent(char));
  return `attachment; filename="${safe}"`;
}

/** The type of an attachment in a header; likewise. */
export const headerType = (type: string): string => type.slice(0, MAX_TOLD).replace(/[^\x20-\x7e]/g, '');
