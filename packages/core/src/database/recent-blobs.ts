/**
 * Blobs that were made of checked bytes lately, to be handed out again.
 *
 * A browser takes its time to make one: in Chromium 0.2 ms whatever is in it, and for 50 KB as long as reading and checking the bytes.
 * A Blob never changes and a place never names other bytes, so the same one serves everybody who asks; pages ask for the same pictures
 * again and again. What is read for replication, or as base64, comes from the storage each time.
 */
import type { BinaryData } from '../model/types';
import type { BlobRow } from '../store/schema';

/** Bytes kept at most, of all: the pictures of a few pages. They lie with the browser, which may write them to disk. */
const SIZE_MAX = 16 * 1024 * 1024;
/** A larger one is not kept: it would push out the others, and making it is little beside reading it. */
const EACH_MAX = 1024 * 1024;
/** Each is a handle of the browser's too. */
const COUNT_MAX = 1_000;

export class RecentBlobs {
  /** Least recently asked for first. */
  readonly #kept = new Map<string, Blob>();
  #size = 0;

  get({ place }: BlobRow, type: string): Blob | undefined {
    const key = keyOf(place, type);
    const blob = this.#kept.get(key);
    if (blob === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, blob);
    return blob;
  }

  /** @param data of all the content at that place. Other forms than Blobs can be changed by who gets them: they are not kept */
  keep({ place }: BlobRow, type: string, data: BinaryData): void {
    const key = keyOf(place, type);
    if (!(data instanceof Blob) || data.size > EACH_MAX || this.#kept.has(key)) return;
    this.#kept.set(key, data);
    this.#size += data.size;
    for (const [oldest, blob] of this.#kept) {
      if (this.#size <= SIZE_MAX && this.#kept.size <= COUNT_MAX) return;
      this.#kept.delete(oldest);
      this.#size -= blob.size;
    }
  }
}

/** Places are hexadecimal. */
const keyOf = (place: string, type: string): string => `${place} ${type}`;
