/**
 * Large bodies, piece by piece, where `fetch` speaks HTTP/2 and buffers what it is given whole: in Node 26 and later.
 *
 * There a body that is given whole is in the connection's buffer at once. While that holds more than 10 MB, Node refuses all other
 * requests to that server (NGHTTP2_ENHANCE_YOUR_CALM); if the server answers before it has read the body, for seconds afterwards too.
 */
import { streamOf } from '@settledb/core';
import type { OutStream } from './client-call';

/** Bytes. A hundred requests share a connection: as many smaller bodies still fit into its buffer. */
const LARGE_BYTES = 64 * 1024;
/** Bytes read at a time; each request has one piece in the buffer. */
const PIECE_BYTES = 64 * 1024;

/** @returns undefined for a body that is to be sent whole */
export function inPieces(url: string, body: unknown): OutStream | undefined {
  // Only with TLS do client and server agree upon HTTP/2.
  if (!url.startsWith('https:')) return undefined;
  const blob = ArrayBuffer.isView(body) ? new Blob([body as Uint8Array<ArrayBuffer>]) : body;
  if (!(blob instanceof Blob) || blob.size < LARGE_BYTES) return undefined;
  return {
    length: blob.size,
    open: (sent) => streamOf(piecesOf(blob, sent)),
    failure: () => undefined,
  };
}

async function* piecesOf(blob: Blob, sent: () => void): AsyncGenerator<Uint8Array, void, void> {
  for (let at = 0; at < blob.size; at += PIECE_BYTES) {
    yield new Uint8Array(await blob.slice(at, at + PIECE_BYTES).arrayBuffer());
    sent();
  }
}
