/**
 * The bytes of an attachment, checked against what its document says. If the connection breaks, the rest is requested
 * as a range, and nothing is requested twice.
 */
import type { Bytes } from '@settledb/core';
import type { Opened } from './client-call';
import { differs } from './client-check';
import { isBroken } from './client-error';
import { checkHashed } from './client-receive';

interface Download {
  /** The first byte wanted, and the one after the last. */
  readonly start: number;
  readonly last: number;
  /** The whole attachment is wanted, so it is requested without a range. */
  readonly whole: boolean;
  readonly name: string;
  readonly bytes: Bytes;
  /** Of the whole attachment, if it is the digest of these very bytes. */
  readonly digest: string | undefined;
  /** Ranges can be requested, because the attachment is not stored encoded. */
  readonly divisible: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Breaks in one download that are resumed; each must have brought something. After more of them the reader gets the error. */
const RESUMES = 8;

/** @param open requests the attachment, or a range of it @throws corrupt; what the request fails with */
export async function* download(
  open: (range: string | undefined) => Promise<Opened>,
  { start, last, whole, name, bytes, digest, divisible, signal }: Download,
): AsyncGenerator<Uint8Array, void, void> {
  const hasher = digest === undefined ? undefined : bytes.hasher();
  let at = start;
  for (let resumes = 0; ; resumes++) {
    const begun = at;
    try {
      for await (const piece of stretch(open, at, last, whole && at === 0)) {
        at += piece.length;
        // Not only at the end, which may never come.
        if (at > last) throw differs(name);
        hasher?.update(piece);
        yield piece;
      }
      break;
    } catch (error) {
      const mendable = divisible && at > begun && resumes < RESUMES && signal?.aborted !== true;
      if (!mendable || !isBroken(error)) throw error;
      if (at === last) break;
    }
  }
  if (at !== last) throw differs(name);
  if (hasher !== undefined) checkHashed(digest, hasher, bytes, name);
}

/** The bytes from `at` on, by one request. */
async function* stretch(
  open: (range: string | undefined) => Promise<Opened>,
  at: number,
  last: number,
  whole: boolean,
): AsyncGenerator<Uint8Array, void, void> {
  const { response, pieces } = await open(whole ? undefined : `bytes=${at}-${last - 1}`);
  // A server may answer with the whole, as CouchDB does for attachments stored compressed.
  let skip = whole || response.status !== 200 ? 0 : at;
  let left = last - at;
  for await (const piece of pieces) {
    const from = Math.min(skip, piece.length);
    skip -= from;
    const wanted = piece.subarray(from, whole ? undefined : from + left);
    left -= wanted.length;
    if (wanted.length > 0) yield wanted;
    if (left <= 0 && !whole) break;
  }
}
