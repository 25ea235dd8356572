/**
 * Content whose first document was not written, for the documents after it that have it too: a dump has it only once. It is noted while
 * it is read, because nobody knows before its end whether the document will be refused.
 */
import { isObject, joined } from '@settledb/core';
import { type AnyDoc, contentKey } from './format';

/** Bytes in memory at most. What is longer is not held: documents that share it with a refused one are refused too. */
const MOST_BYTES = 32 * 1024 * 1024;

interface Attachments {
  readonly [name: string]: { readonly stub?: unknown };
}

export class Held {
  readonly #contents = new Map<string, Uint8Array[]>();
  #size = 0;

  /** Begins to note the content of these attachments. @returns for each the function that takes its pieces */
  note(doc: AnyDoc, names: readonly string[]): ((piece: Uint8Array) => void)[] {
    this.drop(doc, names);
    return names.map((name) => {
      const key = contentKey(attachmentsOf(doc)[name]);
      // Two attachments of one document may be the same content, which then comes twice.
      if (this.#contents.has(key)) return () => {};
      this.#contents.set(key, []);
      return (piece) => {
        const pieces = this.#contents.get(key);
        if (pieces === undefined) return;
        pieces.push(piece);
        this.#size += piece.length;
        if (this.#size > MOST_BYTES) this.drop(doc, [name]);
      };
    });
  }

  /** The database has the content of these attachments. */
  drop(doc: AnyDoc, names: readonly string[] = Object.keys(attachmentsOf(doc))): void {
    for (const name of names) {
      const key = contentKey(attachmentsOf(doc)[name]);
      for (const { length } of this.#contents.get(key) ?? []) this.#size -= length;
      this.#contents.delete(key);
    }
  }

  /** Whether the document has attachments without content of which the content is held. */
  has(doc: AnyDoc): boolean {
    return Object.values(attachmentsOf(doc)).some((each) => this.#of(each) !== undefined);
  }

  /** The document with the content that is held of its attachments. */
  fill(doc: AnyDoc): AnyDoc {
    if (!this.has(doc)) return doc;
    const filled: Record<string, unknown> = Object.create(null);
    for (const [name, attachment] of Object.entries(attachmentsOf(doc))) {
      const pieces = this.#of(attachment);
      const { stub: _, ...rest } = attachment;
      filled[name] = pieces === undefined ? attachment : { ...rest, encoded: true, data: joined(pieces) };
    }
    return { ...doc, _attachments: filled } as unknown as AnyDoc;
  }

  #of(attachment: Attachments[string]): readonly Uint8Array[] | undefined {
    return isObject(attachment) && 'stub' in attachment
      ? this.#contents.get(contentKey(attachment))
      : undefined;
  }
}

const attachmentsOf = ({ _attachments }: AnyDoc): Attachments => (_attachments ?? {}) as Attachments;
