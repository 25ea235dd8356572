/** Bytes as text: gunzipped if they are gzipped, in pieces as they come, or line by line. */
import { badRequest, itemsOf, joined, piecesOf, through } from '@settledb/core';
import { damaged, LINE_LIMIT } from './format';

/** What a dump may be read from. */
export type Input = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> | Blob | Uint8Array;

/** Bytes made text at a time: a dump in one piece may be longer than strings are. */
const DECODED_BYTES = 1024 * 1024;

/** The text of the input. @throws corrupt for gzip that is damaged or cut off; what the input fails with; the reason of `signal` */
export async function* textOf(input: Input, signal: AbortSignal): AsyncGenerator<string> {
  const bytes = bytesOf(input, signal);
  const first = await beginningOf(bytes);
  const isGzip = first[0] === 0x1f && first[1] === 0x8b;
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const whole = after(first, bytes);
  const pieces = isGzip ? gunzipped(whole) : whole;
  try {
    for await (const piece of pieces)
      for (let at = 0; at < piece.length; at += DECODED_BYTES)
        yield decodedBy(decoder, piece.subarray(at, at + DECODED_BYTES));
    yield decodedBy(decoder);
  } finally {
    // Not waited for: the input may stand still.
    bytes.return(undefined).catch(() => {});
  }
}

function decodedBy(decoder: TextDecoder, piece?: Uint8Array): string {
  try {
    return piece === undefined ? decoder.decode() : decoder.decode(piece, { stream: true });
  } catch (error) {
    throw damaged('it is not UTF-8', error);
  }
}

/** Reads as many bytes as tell what the input is. */
async function beginningOf(bytes: AsyncGenerator<Uint8Array>): Promise<Uint8Array> {
  let first: Uint8Array = new Uint8Array();
  while (first.length < 2) {
    const { done, value } = await bytes.next();
    if (done) break;
    first = joined([first, value]);
  }
  return first;
}

/** What was read of it already, and then the rest. */
export async function* after<T>(beginning: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield beginning;
  yield* rest;
}

async function* gunzipped(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const wrong = (error: unknown): unknown => damaged('it is no whole gzip', error);
  yield* through(new DecompressionStream('gzip'), bytes, wrong);
}

async function* bytesOf(input: Input, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  signal.throwIfAborted();
  if (ArrayBuffer.isView(input)) yield checked(input);
  else for await (const piece of piecesIn(input, signal)) yield checked(piece);
}

/** Ends with the signal, also if the input stands still. */
export function piecesIn(input: Exclude<Input, Uint8Array>, signal: AbortSignal): AsyncIterable<unknown> {
  if (input instanceof Blob) return piecesOf(input.stream(), signal);
  if (typeof (input as ReadableStream)?.getReader === 'function')
    return piecesOf(input as ReadableStream<Uint8Array>, signal);
  if (typeof input === 'object' && input !== null && Symbol.asyncIterator in input)
    return itemsOf(input, signal);
  throw badRequest('A dump is loaded from a stream of bytes, a Blob or a Uint8Array');
}

/** Bytes of another realm too, as streams give them where a page is imitated (jsdom). */
function checked(piece: unknown): Uint8Array {
  if (piece instanceof Uint8Array) return piece;
  if (ArrayBuffer.isView(piece)) return new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength);
  throw badRequest('A dump is a stream of bytes');
}

/** Characters read ahead: fetched and unpacked while the text before is written. */
const AHEAD_LENGTH = 4 * 1024 * 1024;

/** The same text, read ahead up to a bound; an error of reading comes in its turn. */
export async function* ahead(text: AsyncGenerator<string>): AsyncGenerator<string> {
  const held: string[] = [];
  let length = 0;
  let over = false;
  let failure: { readonly error: unknown } | undefined;
  let wake: () => void = () => {};
  const woken = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });
  const read = async (): Promise<void> => {
    for await (const piece of text) {
      held.push(piece);
      length += piece.length;
      wake();
      while (length > AHEAD_LENGTH && !over) await woken();
      if (over) return;
    }
  };
  read()
    .catch((error: unknown) => {
      failure = { error };
    })
    .finally(() => {
      over = true;
      wake();
    });
  try {
    for (;;) {
      const piece = held.splice(0).join('');
      length = 0;
      wake();
      if (piece !== '') yield piece;
      else if (!over) await woken();
      else break;
    }
    if (failure !== undefined) throw failure.error;
  } finally {
    over = true;
    wake();
  }
}

/** Reads for as long as `work` goes on: the reading ends with it, at once, wherever it is. */
export async function whileReading<R>(
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const reading = new AbortController();
  const stop = (): void => reading.abort(signal?.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    return await work(reading.signal);
  } finally {
    signal?.removeEventListener('abort', stop);
    stop();
  }
}

/** Lines without their ends, as many as each piece of the text completes. The last one need not have an end. */
export async function* linesOf(text: AsyncIterable<string>): AsyncGenerator<string[]> {
  let open: string[] = [];
  let length = 0;
  for await (const piece of text) {
    const lines = piece.split('\n');
    open.push(lines[0]!); // A split gives at least one.
    length += lines[0]!.length;
    if (length > LINE_LIMIT) throw damaged(`a line of more than ${LINE_LIMIT} characters`);
    if (lines.length === 1) continue;
    lines[0] = open.join('');
    open = [lines.pop()!];
    length = open[0]!.length;
    yield lines;
  }
  if (length > 0) yield [open.join('')];
}
