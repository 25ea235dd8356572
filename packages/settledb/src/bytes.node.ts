/** Bytes in Node: the revision's hash as WebAssembly, Node's MD5 and base64, and a `Buffer` with a `type` for browsers' `Blob`. */
import { createHash } from 'node:crypto';
import { type Bytes, badArg, portableBytes, useBytes, useHash } from '@settledb/core';
import { nodeHash } from './hash.node';

/** Where law forbids MD5 (FIPS mode), Node has none. Here it protects no secret. */
function hasMd5(): boolean {
  try {
    createHash('md5');
    return true;
  } catch {
    return false;
  }
}

/** From this version of Node's own HTTP client on (Node 26), it speaks HTTP/2 with servers that do. */
const UNDICI_OF_HTTP2 = 8;

export const nodeBytes: Bytes = {
  hasher: hasMd5() ? () => createHash('md5') : portableBytes.hasher,
  toBase64: (pieces) => (pieces.length === 1 ? view(pieces[0]!) : Buffer.concat(pieces)).toString('base64'),
  fromBase64(text) {
    // Node also accepts the other alphabet and the lower half of wide characters, and skips everything else that is not base64.
    if (text.includes('-') || text.includes('_') || /[^\0-\xff]/.test(text)) throw badArg();
    return Buffer.from(text, 'base64');
  },
  streamsOut: true,
  buffersOut: Number.parseInt(process.versions.undici ?? '', 10) >= UNDICI_OF_HTTP2,
  toData: (pieces, type) => Object.assign(Buffer.concat(pieces), { type }),
};

const view = (piece: Uint8Array): Buffer => Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);

useBytes(nodeBytes);
useHash(nodeHash);
