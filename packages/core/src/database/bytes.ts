/**
 * Bytes in the forms users meet: base64, Blobs, digests. The code here runs on every platform; one that can do better, or knows
 * another form, passes its own (Node: `Buffer`).
 */
import { badArg } from '../model/attachment-errors';
import { type Hasher, Md5 } from '../model/md5';
import type { BinaryData } from '../model/types';
import { CHUNK_BYTES } from '../store/store';

export interface Bytes {
  /** A fresh MD5. */
  hasher(): Hasher;
  /** Padded base64 of all of `pieces`, one after another. */
  toBase64(pieces: readonly Uint8Array[]): string;
  /** For text that is not padded base64 it throws, or gives fewer bytes than the characters stand for. */
  fromBase64(text: string): Uint8Array;
  /** What `binary: true` and `getAttachment` answer. */
  toData(pieces: readonly Uint8Array[], type: string): BinaryData;
  /** The platform's `fetch` sends streams over any connection, and its Blobs lie in memory. In browsers neither is so. */
  readonly streamsOut?: boolean;
  /** Its `fetch` speaks HTTP/2, and a large body that it is given whole keeps other requests from being sent. */
  readonly buffersOut?: boolean;
}

/** What newer platforms have built in: `Uint8Array.fromBase64` and `toBase64` (ES2026). */
type Native = { fromBase64?: (text: string) => Uint8Array };
type NativeBytes = Uint8Array & { toBase64?: () => string };

/** Characters of base64 decoded at a time; a multiple of four. */
export const CHUNK_TEXT = CHUNK_BYTES;
/** Characters made from bytes in one call: engines limit the arguments, and Node 20 takes twice as long for eight times as many. */
const PIECE = 0x1000;

export const portableBytes: Bytes = {
  hasher: () => new Md5(),
  toBase64(pieces) {
    const whole: NativeBytes = pieces.length === 1 ? pieces[0]! : joined(pieces);
    if (whole.toBase64 !== undefined) return whole.toBase64();
    let text = '';
    for (let at = 0; at < whole.length; at += PIECE)
      text += String.fromCharCode.apply(null, whole.subarray(at, at + PIECE) as unknown as number[]);
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

let best = portableBytes;

/** The fastest code there is, for callers that have no database to ask, and make digests and base64 alone. */
export const bestBytes = (): Bytes => best;

/** Called by the platform's entry. Digests and base64 are the same whatever code makes them. */
export function useBytes(platform: Bytes): void {
  best = platform;
}

export function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/**
 * The bytes of padded base64; `undefined` if `text` is something else, or contains white space. Checking the decoded bytes takes a
 * fortieth of the time that looking at each character would (decisions/0008).
 */
export function exactBytes(text: string, bytes: Bytes): Uint8Array | undefined {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  try {
    const found = bytes.fromBase64(text);
    return found.length === (text.length / 4) * 3 - padding ? found : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Decodes base64, {@link CHUNK_TEXT} characters at a time. As in CouchDB white space may stand anywhere, and padding is required.
 * @throws DatabaseError 500 `badarg`
 */
export function* decoded(text: string, bytes: Bytes): Generator<Uint8Array, void> {
  for (let at = 0; at < text.length; at += CHUNK_TEXT) {
    const piece = exactBytes(text.slice(at, at + CHUNK_TEXT), bytes);
    // Only the last piece may be padded.
    if (piece !== undefined && (piece.length % 3 === 0 || at + CHUNK_TEXT >= text.length)) {
      yield piece;
      continue;
    }
    const dense = text.slice(at).replace(/\s+/g, '');
    if (dense.length === text.length - at) throw badArg();
    yield* decoded(dense, bytes);
    return;
  }
}

/** The digest as stubs have it. */
export const digestText = (bytes: Bytes, hasher: Hasher): string =>
  `md5-${bytes.toBase64([hasher.digest()])}`;
