/** The data of attachments within JSON, checked against what the server says about it. */
import {
  type AttachmentsOptions,
  type Bytes,
  digestText,
  type ExistingDoc,
  exactBytes,
  type Hasher,
  isObject,
} from '@settledb/core';
import { checkAttachment, differs, substituted } from './client-check';
import { badResponse } from './client-error';
import { typeOf } from './wire';

/**
 * Gives data in the form that was asked for, and only if it is what the server says it is.
 *
 * @throws corrupt for data that does not match its digest
 */
export function receiveDoc<D extends ExistingDoc | null | undefined>(
  doc: D,
  { binary, att_encoding_info }: AttachmentsOptions,
  bytes: Bytes,
): D {
  if (!isObject(doc) || !isObject(doc._attachments)) return doc;
  const entries = Object.entries<unknown>(doc._attachments).map(([name, info]): [string, unknown] => {
    checkAttachment(info, name);
    const { data, encoding, encoded_length, ...rest } = info;
    const about = att_encoding_info ? { ...info, data: undefined } : rest;
    if (typeof data !== 'string') return [name, info.stub === true && !att_encoding_info ? rest : info];
    const decoded = decodeBase64(data, bytes, name);
    // If the attachment is stored encoded, the digest is of other bytes than these.
    if (encoding === undefined) checkDigest(info.digest, [decoded], bytes, name);
    const kept = binary ? bytes.toData([decoded], typeOf(info)) : data;
    return [name, { ...about, data: kept }];
  });
  return { ...doc, _attachments: Object.fromEntries(entries) } as unknown as D;
}

function decodeBase64(text: string, bytes: Bytes, name: string): Uint8Array {
  const found = exactBytes(text, bytes);
  if (found === undefined) throw badResponse(`attachment ${JSON.stringify(name)} is no base64`);
  return found;
}

/** @throws corrupt */
export function checkDigest(
  digest: unknown,
  pieces: readonly Uint8Array[],
  bytes: Bytes,
  name: string,
): void {
  const hasher = bytes.hasher();
  for (const piece of pieces) hasher.update(piece);
  checkHashed(digest, hasher, bytes, name);
}

/** What is said of bytes; a length is a number, and a digest may be of another kind than ours. */
interface Said {
  readonly name: string;
  readonly length: unknown;
  readonly digest?: unknown;
}

/** The same pieces. Of more than was said the rest is not read: it may never end. @throws corrupt, at their end for other bytes */
export async function* verified(
  pieces: AsyncIterable<Uint8Array>,
  bytes: Bytes,
  { name, length, digest }: Said,
): AsyncGenerator<Uint8Array, void, void> {
  const hasher = digest === undefined ? undefined : bytes.hasher();
  const isSaid = typeof length === 'number';
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    if (isSaid && size > length) throw differs(name);
    hasher?.update(piece);
    yield piece;
  }
  if (isSaid && size !== length) throw differs(name);
  if (hasher !== undefined) checkHashed(digest, hasher, bytes, name);
}

/** As {@link checkDigest}, for bytes that were hashed as they came. A digest of another kind than ours tells nothing. @throws corrupt */
export function checkHashed(digest: unknown, hasher: Hasher, bytes: Bytes, name: string): void {
  if (typeof digest !== 'string' || !digest.startsWith('md5-')) return;
  if (digest !== digestText(bytes, hasher)) throw substituted(name);
}
