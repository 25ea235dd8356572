/**
 * The bytes of an attachment, checked against what its document says. Where the connection breaks under them, the rest is asked for
 * as a range, and what came is not asked for again.
 */
import { type Bytes, isDatabaseError } from '@settledb/core';
import * as check from './client-check';
import type { Opened } from './client-http';

export interface Download {
  /** The first byte wanted, and the one after the last. */
  readonly start: number;
  readonly last: number;
  /** Of the whole attachment, which is asked for without a range. */
  readonly whole: boolean;
  readonly name: string;
  readonly bytes: Bytes;
  /** Of the whole, where these are the bytes it is of. */
  readonly digest: string | undefined;
  /** Parts of it can be had: it is not stored encoded. */
  readonly divisible: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Breaks of one download that are mended; each must have brought something. Beyond it whoever reads has to see to it. */
const RESUMES = 8;

/** @param open asks for it, or for a range of it @throws corrupt; what the request fails with */
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
  if (at !== last) throw check.differs(name);
  if (hasher !== undefined && digest !== `md5-${bytes.toBase64([hasher.digest()])}`)
    throw check.substituted(name);
}

/** Nobody answered, or not in time. */
const isBroken = (error: unknown): boolean =>
  isDatabaseError(error) && (error.name === 'unreachable' || error.name === 'timeout');

/** From `at` on: by one request. */
async function* stretch(
  open: (range: string | undefined) => Promise<Opened>,
  at: number,
  last: number,
  whole: boolean,
): AsyncGenerator<Uint8Array, void, void> {
  const { response, pieces } = await open(whole ? undefined : `bytes=${at}-${last - 1}`);
  // A server may answer with the whole, as CouchDB does where it is stored compressed.
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
