/**
 * Blobs recently made from checked bytes, to be handed out again.
 *
 * Making one is a round trip to the browser's process, whatever its size, and for 50 KB takes as long as reading and checking the bytes
 * (decisions/0015).
 * A Blob never changes and a place never names other bytes, so the same Blob serves every caller; pages ask for the same pictures
 * again and again. What is read for replication, or as base64, comes from the storage each time.
 */
import type { BinaryData } from '../model/types';
import type { BlobRow } from '../store/schema';
import { timesLost } from './storage-lost';

/** Most bytes kept in all: the pictures of a few pages. The browser holds them, and may write them to disk. */
const SIZE_MAX = 16 * 1024 * 1024;
/** A larger Blob is not kept: it would push out the others, and making it takes little time beside reading it. */
const EACH_MAX = 1024 * 1024;
/** Each Blob is also a handle of the browser's. */
const COUNT_MAX = 1_000;

export class RecentBlobs {
  /** The least recently requested comes first. */
  readonly #kept = new Map<string, Blob>();
  #size = 0;
  #timesLost = timesLost();

  get({ place }: BlobRow, type: string): Blob | undefined {
    this.#forgetLost();
    const key = keyOf(place, type);
    const blob = this.#kept.get(key);
    if (blob === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, blob);
    return blob;
  }

  /** @param data all of the content at that place. Only Blobs are kept: other forms can be changed by those who get them */
  keep({ place }: BlobRow, type: string, data: BinaryData): void {
    this.#forgetLost();
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

  #forgetLost(): void {
    if (this.#timesLost === timesLost()) return;
    this.#timesLost = timesLost();
    this.#kept.clear();
    this.#size = 0;
  }
}

/** Places are hexadecimal. */
const keyOf = (place: string, type: string): string => `${place} ${type}`;
