/**
 * Loads the lines of a dump, section by section: none is written before its sum was verified. The content of attachments is
 * streamed into the database, which takes it only if it matches its digest.
 */
import { type Doc, isObject, notImplemented, portableBytes, type Seq, streamOf } from '@settledb/core';
import { checkForm } from './form';
import {
  type AnyDoc,
  Chain,
  damaged,
  type Header,
  type Line,
  OWN_LOCALS,
  truncated,
  VERSION,
} from './format';
import type { Writer } from './writer';

/** Most lines of an open section: a damaged dump must not fill the memory. */
const SECTION_LINES = 100_000;

/** What the end of a dump tells. */
interface Loaded {
  readonly uuid: string;
  readonly seq: Seq;
  /** See the header. */
  readonly session?: string;
}

export class SectionLoader {
  readonly #batches: AsyncIterator<readonly string[]>;
  /** Lines that arrived; those from `#at` on are not read yet. */
  #lines: readonly string[] = [];
  #at = 0;
  readonly #writer: Writer;
  readonly #chain = new Chain();
  #header: Header | undefined;
  #docs = 0;
  /** The error in content: the database may take it for an error of the document that it reads. */
  #fault: { readonly error: unknown } | undefined;
  /** The content being read was cut off, and its document is not to be written. */
  #isGone = false;

  constructor(lines: AsyncIterator<readonly string[]>, writer: Writer) {
    this.#batches = lines;
    this.#writer = writer;
  }

  /** @throws corrupt for damaged or cut off input; the sections before are written by then */
  async load(): Promise<Loaded> {
    // One section is written while the next one is read.
    let writing: Promise<void> = Promise.resolve();
    try {
      for (;;) {
        const section = await this.#section();
        await writing;
        const end = await this.#begin(section);
        if (end !== undefined) return end;
        const [first] = section;
        if (first !== undefined && 'doc' in first && first.content !== undefined) {
          await this.#withContent(first.doc, first.content);
        } else {
          writing = this.#write(section);
          writing.catch(() => {}); // It is awaited in the next round.
        }
      }
    } finally {
      // Sections verified before the error are written all the same.
      await writing.catch(() => {});
      await this.#writer.dropKept();
    }
  }

  /** Notes what a section says about the dump. @returns the end, if the section is that */
  async #begin(section: Line[]): Promise<Loaded | undefined> {
    const [first] = section;
    if (first !== undefined && 'settledb' in first) {
      if (this.#header !== undefined) throw damaged('a second header');
      this.#header = first;
      section.shift();
    }
    if (this.#header === undefined) throw damaged('it has no header');
    this.#docs += section.filter((line) => 'doc' in line).length;
    const last = section.at(-1);
    if (last === undefined || !('end' in last)) return undefined;
    await this.#write(section);
    if (last.docs !== this.#docs) throw damaged(`${this.#docs} documents of ${last.docs}`);
    if (this.#at < this.#lines.length || !(await this.#batches.next()).done)
      throw damaged('something follows its end');
    const { uuid, session } = this.#header;
    return { uuid, seq: last.seq, ...(typeof session === 'string' ? { session } : {}) };
  }

  /** The next section, complete and verified. */
  async #section(): Promise<Line[]> {
    const lines: Line[] = [];
    for (;;) {
      // Without waiting if a line is there: a dump has many short lines.
      const line = this.#at < this.#lines.length ? this.#read() : await this.#line();
      if ('sum' in line) return lines;
      if (lines.push(line) > SECTION_LINES) throw damaged('a section without an end');
    }
  }

  /** A line, which is added to the section; or its sum, verified. */
  async #line(): Promise<Line> {
    while (this.#at === this.#lines.length) {
      const { done, value } = await this.#batches.next();
      if (done) throw truncated();
      this.#lines = value;
      this.#at = 0;
    }
    return this.#read();
  }

  #read(): Line {
    const text = this.#lines[this.#at++]!; // In range: the callers make sure.
    let line: unknown;
    try {
      line = JSON.parse(text);
    } catch (error) {
      throw damaged('a line that is no JSON', error);
    }
    if (!isObject(line)) throw damaged('a line that is no object');
    if (!('sum' in line)) this.#chain.add(`${text}\n`);
    else if (line.sum !== this.#chain.sum()) throw damaged('a checksum is wrong');
    return checkForm(line);
  }

  async #write(section: readonly Line[]): Promise<void> {
    await this.#writer.revisions(section.flatMap((line) => ('doc' in line ? [line.doc] : [])));
    for (const line of section)
      if ('local' in line && !OWN_LOCALS.has(line.local._id)) await this.#writer.local(line.local);
  }

  async #withContent(doc: AnyDoc, names: readonly string[]): Promise<void> {
    const isLacking = (await this.#writer.lacking([doc])).length > 0;
    this.#isGone = false;
    const { held } = this.#writer;
    const notes = held.note(doc, names);
    // One after another, whichever is pulled first: a worker's messages pull at all streams that they carry.
    const contents: AsyncGenerator<Uint8Array>[] = [];
    let turn: Promise<void> = Promise.resolve();
    for (const note of notes) {
      let ended: () => void = () => {};
      contents.push(this.#pieces(turn, note, () => ended()));
      turn = new Promise((resolve) => {
        ended = resolve;
      });
    }
    const attachments: Record<string, unknown> = Object.assign(Object.create(null), doc._attachments);
    for (const [i, name] of names.entries()) {
      if (!isObject(attachments[name])) throw damaged(`content of ${name}, which is no attachment`);
      const { stub: _, ...attachment } = attachments[name];
      // No function: a target may call one again, to send once more what there is only once.
      // Not ended when it is cancelled, because the rest must be skipped.
      const data = streamOf(contents[i]!, () => {});
      attachments[name] = { ...attachment, encoded: true, data };
    }
    const own = { ...doc, _attachments: attachments } as unknown as AnyDoc;
    const whole = held.fill(own) as Doc;
    const isKnownByName = !isLacking && !(await this.#writer.holds(doc, names));
    const isGone = (): boolean => this.#isGone;
    const isTaken = await (isKnownByName
      ? this.#writer.keep(whole, isGone)
      : this.#writer.withContent(whole, isLacking, isGone)
    ).catch((error: unknown) => {
      // The error as it was before the database, or the way there, made another one of it.
      throw this.#fault === undefined ? error : this.#fault.error;
    });
    if (this.#fault !== undefined) throw this.#fault.error;
    // If the document has its content already, or was refused, the content is skipped.
    for (const content of contents) await passOver(content);
    if (this.#isGone) held.drop(doc, names);
    else if (isTaken) held.drop(doc);
  }

  /** The content of one attachment: lines to the next sum. */
  async *#pieces(
    turn: Promise<void>,
    note: (piece: Uint8Array) => void,
    ended: () => void,
  ): AsyncGenerator<Uint8Array, undefined> {
    await turn;
    try {
      for (;;) {
        if (this.#fault !== undefined) throw this.#fault.error;
        if (this.#isGone) throw new Gone();
        const line = await this.#line();
        if ('sum' in line) return undefined;
        if ('data' in line) {
          const piece = bytesOf(line.data);
          note(piece);
          yield piece;
        } else if ('gone' in line && 'sum' in (await this.#line())) this.#isGone = true;
        else throw damaged('a line where content should be');
      }
    } catch (error) {
      if (!(error instanceof Gone)) this.#fault ??= { error };
      throw error;
    } finally {
      ended();
    }
  }
}

/** The error given to the database when content was cut off: so it takes neither the content nor the document. */
class Gone extends Error {
  constructor() {
    super('The content was gone before it was dumped whole');
  }
}

async function passOver(content: AsyncGenerator<Uint8Array>): Promise<void> {
  try {
    for (;;) if ((await content.next()).done) return;
  } catch (error) {
    if (!(error instanceof Gone)) throw error;
  }
}

/** Content is used before its sum is verified; the database takes it only if it matches its digest. */
function bytesOf(base64: string): Uint8Array {
  try {
    return portableBytes.fromBase64(base64);
  } catch (error) {
    throw damaged('content that is no base64', error);
  }
}

/** @throws 501 for a dump of a later version */
export function checkVersion({ version }: Record<string, unknown>): void {
  if (version !== VERSION)
    throw notImplemented(`This is a dump of version ${version}; this program knows version ${VERSION}`);
}
