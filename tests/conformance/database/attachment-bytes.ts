/** Bytes for the tests of attachments: made, compared and taken out of whatever a database answers them in. */
import type { TestOpened } from './types';

export const TEXT = 'text/plain';

/** Base64 of the bytes, by the plainest way there is. */
export function base64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

export const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);
export const base64Text = (text: string): string => base64(ascii(text));

/** Bytes that repeat nowhere near, so that chunks put in a wrong order are found. */
export function noise(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let state = seed * 2_654_435_761;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) | 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

/** What `binary: true` answers, as bytes: a `Blob`, or in Node a `Buffer`. */
export async function bytesOf(data: unknown): Promise<Uint8Array> {
  if (data instanceof Blob) return new Uint8Array(await data.arrayBuffer());
  if (data instanceof Uint8Array) return data;
  if (typeof data === 'string') return Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  throw new TypeError(`no bytes: ${String(data)}`);
}

export async function streamed({ stream }: Pick<TestOpened, 'stream'>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
}

/** A stream of these pieces, one at each pull. */
export function streamOf(...pieces: Uint8Array[]): ReadableStream<Uint8Array> {
  const waiting = [...pieces];
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = waiting.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
    },
    { highWaterMark: 0 },
  );
}

export async function gzipped(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const blob = new Blob([bytes as Uint8Array<ArrayBuffer>]);
  return new Uint8Array(
    await new Response(blob.stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer(),
  );
}

/** Equal, without a message that prints megabytes. */
export function same(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  if ('Buffer' in globalThis) return Buffer.compare(one, other) === 0; // in one step, where there is such
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}
