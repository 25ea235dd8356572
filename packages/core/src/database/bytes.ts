/**
 * Bytes in the forms users meet them: base64, Blobs, digests. Here by what every platform has; a platform that can do better, or
 * knows another form, passes its own (Node: `Buffer`).
 */
import { badArg } from '../model/errors';
import { type Hasher, Md5 } from '../model/md5';
import type { BinaryData } from '../model/types';

export interface Bytes {
  /** A fresh MD5. */
  hasher(): Hasher;
  /** Padded base64 of all of `pieces`, one after another. */
  toBase64(pieces: readonly Uint8Array[]): string;
  /** Of base64 that has been checked; its length is a multiple of 4. */
  fromBase64(text: string): Uint8Array;
  /** What `binary: true` and `getAttachment` answer. */
  toData(pieces: readonly Uint8Array[], type: string): BinaryData;
  /** The platform's `fetch` sends streams over any connection, and its Blobs lie in memory. Browsers are the other way round. */
  readonly streamsOut?: boolean;
}

/** Newer platforms do it themselves: `Uint8Array.fromBase64` and `toBase64` (ES2026). */
type Native = { fromBase64?: (text: string) => Uint8Array };
type NativeBytes = Uint8Array & { toBase64?: () => string };

/** Characters made from bytes in one call: engines limit the arguments. */
const PIECE = 0x8000;

export const portableBytes: Bytes = {
  hasher: () => new Md5(),
  toBase64(pieces) {
    const whole: NativeBytes = pieces.length === 1 ? pieces[0]! : joined(pieces);
    if (whole.toBase64 !== undefined) return whole.toBase64();
    let text = '';
    for (let at = 0; at < whole.length; at += PIECE)
      text += String.fromCharCode(...whole.subarray(at, at + PIECE));
    return btoa(text);
  },
  fromBase64(text) {
    const native = (Uint8Array as Native).fromBase64;
    if (native !== undefined) return native(text);
    const characters = atob(text);
    const bytes = new Uint8Array(characters.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
    return bytes;
  },
  toData: (pieces, type) => new Blob(pieces as Uint8Array<ArrayBuffer>[], { type }),
};

export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/**
 * Base64 made fit for {@link Bytes.fromBase64}: as CouchDB takes it, white space may stand anywhere, padding must be there.
 * @throws DatabaseError 500 `badarg`
 */
export function checkBase64(text: string): string {
  const dense = /\s/.test(text) ? text.replace(/\s+/g, '') : text;
  const end = dense.endsWith('==') ? -2 : dense.endsWith('=') ? -1 : undefined;
  if (dense.length % 4 !== 0 || /[^A-Za-z0-9+/]/.test(dense.slice(0, end))) throw badArg();
  return dense;
}

/** As stubs have it. */
export const digestText = (bytes: Bytes, hasher: Hasher): string =>
  `md5-${bytes.toBase64([hasher.digest()])}`;
