/**
 * Attachment data in any form that users have, as chunks for the storage: each of `CHUNK_BYTES`, the last one shorter, none for empty
 * data. Each chunk is a copy: nothing that the data's owner does to it meanwhile changes the chunk.
 */
import { noBytes } from '../model/errors';
import { CHUNK_BYTES } from '../store/store';
import { type Bytes, CHUNK_TEXT, decoded, joined } from './bytes';
import { untilAborted, whenAborted } from './on-abort';

/**
 * @param signal ends the waiting for data that others send
 * @throws DatabaseError 500 `badarg` for a string that is not base64, 400 for data that holds no bytes; any error of a stream
 */
export async function* chunksOf(
  data: unknown,
  bytes: Bytes,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  if (typeof data === 'string')
    yield* data.length <= CHUNK_TEXT ? decoded(data, bytes) : rechunked(decoded(data, bytes));
  else if (isBlob(data)) yield* chunksOfBlob(data);
  else if (isBuffer(data)) yield* slices(new Uint8Array(data));
  else if (ArrayBuffer.isView(data))
    yield* slices(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  else if (isStream(data)) yield* rechunked(piecesOf(data, signal));
  else if (isIterable(data)) yield* rechunked(signal == null ? data : itemsOf(data, signal));
  else if (typeof data === 'function') {
    const opening = Promise.resolve(data() as unknown);
    const opened = await untilAborted(opening, signal).catch((error) => {
      opening.then(leave, () => {});
      throw error;
    });
    if (typeof opened === 'function') throw noBytes();
    yield* chunksOf(opened, bytes, signal);
  } else throw noBytes();
}

/** Streams that a failed call did not come to: their senders must not wait for ever. Has no effect on one that was, or is being, read. */
export function leaveData(attachments: object | undefined): void {
  for (const attachment of Object.values(attachments ?? {}))
    leave((attachment as { data?: unknown } | null)?.data);
}

function leave(data: unknown): void {
  if (isStream(data)) data.cancel().catch(() => {});
}

/** Ends a stream that nobody reads, or that nobody reads on: one of Node's too, as what is made of node-fetch answers. */
export function leaveUnread(stream: unknown): void {
  if (has(stream, 'destroy')) (stream as { destroy(): void }).destroy();
  else leave(stream);
}

// Recognized by what they can do: data may come from another realm, and Node has several kinds of each.
const isBlob = (data: unknown): data is Blob => has(data, 'arrayBuffer') && has(data, 'slice');
const isStream = (data: unknown): data is ReadableStream<unknown> => has(data, 'getReader');
const isIterable = (data: unknown): data is AsyncIterable<unknown> =>
  typeof data === 'object' && data !== null && Symbol.asyncIterator in data;
const isBuffer = (data: unknown): data is ArrayBuffer =>
  Object.prototype.toString.call(data) === '[object ArrayBuffer]';
const has = (data: unknown, method: string): boolean =>
  typeof data === 'object' &&
  data !== null &&
  typeof (data as { [name: string]: unknown })[method] === 'function';

/** A Blob that WebKit (2.50) lost with its storage process says that it is empty. It is read nevertheless, which is refused. */
async function* chunksOfBlob(blob: Blob): AsyncGenerator<Uint8Array, void> {
  const { size } = blob;
  let at = 0;
  do {
    const part = size <= CHUNK_BYTES ? blob : blob.slice(at, at + CHUNK_BYTES);
    const chunk = new Uint8Array(await part.arrayBuffer());
    if (chunk.length > 0) yield chunk;
    at += CHUNK_BYTES;
  } while (at < size);
}

function* slices(view: Uint8Array): Generator<Uint8Array, void> {
  for (let at = 0; at < view.length; at += CHUNK_BYTES)
    yield new Uint8Array(view.subarray(at, at + CHUNK_BYTES));
}

/** A stream that is not read to its end is cancelled, so that its sender does not wait for ever. */
export async function* piecesOf<Piece>(
  stream: ReadableStream<Piece>,
  signal?: AbortSignal,
): AsyncGenerator<Piece, void> {
  const reader = stream.getReader();
  const cancel = (): void => void reader.cancel(signal?.reason).catch(() => {});
  const stop = whenAborted(signal, cancel);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      signal?.throwIfAborted(); // a cancelled stream says that it is done
      if (done) return;
      yield value;
    }
  } finally {
    stop();
    cancel(); // has no effect on a stream that has ended
  }
}

/**
 * The other way round: each piece is made when it is read.
 * @param left a reader left. Default: ends the making, once the piece under way is made
 */
export function streamOf(
  chunks: AsyncGenerator<Uint8Array, void>,
  left: (reason: unknown) => unknown = () => chunks.return(),
): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel(reason) {
        await left(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * What a transformation makes of bytes. It is given each piece when it has taken the one before, for `pipeThrough` waits for nothing in
 * Node: its streams hold 16,384 pieces, however long, before they ask to wait (all of a database that is dumped).
 *
 * @param wrong the error for bytes that are not taken; what their source fails with stays as it is
 */
export async function* through(
  { readable, writable }: CompressionStream | DecompressionStream,
  bytes: AsyncIterable<Uint8Array>,
  wrong: (error: unknown) => unknown = (error) => error,
): AsyncGenerator<Uint8Array, void> {
  const writer = writable.getWriter();
  /** Of the source of the bytes. Its type tells nothing: platforms report bytes that are no gzip by errors of such types too. */
  let failure: { readonly error: unknown } | undefined;
  const feed = async (): Promise<void> => {
    for await (const piece of bytes) {
      // Why bytes are not taken the reader is told.
      const isTaken = await writer.write(piece as Uint8Array<ArrayBuffer>).then(
        () => true,
        () => false,
      );
      if (!isTaken) return;
    }
    await writer.close().catch(() => {});
  };
  feed().catch((error: unknown) => {
    failure = { error };
    writer.abort(error).catch(() => {});
  });
  try {
    yield* piecesOf(readable);
  } catch (error) {
    throw failure === undefined ? wrong(error) : failure.error;
  } finally {
    writer.abort().catch(() => {});
  }
}

/** Once the signal is aborted, the source is told to end, but not waited for: it may stand still. */
export async function* itemsOf(
  source: AsyncIterable<unknown>,
  signal: AbortSignal,
): AsyncGenerator<unknown, void> {
  const iterator = source[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await untilAborted(iterator.next(), signal);
      isOver = done === true;
      if (isOver) return;
      yield value;
    }
  } finally {
    if (!isOver) iterator.return?.().catch(() => {});
  }
}

async function* rechunked(
  pieces: AsyncIterable<unknown> | Iterable<unknown>,
): AsyncGenerator<Uint8Array, void> {
  let waiting: Uint8Array[] = [];
  let length = 0;
  for await (const given of pieces) {
    if (!ArrayBuffer.isView(given)) throw noBytes();
    let piece = new Uint8Array(given.buffer, given.byteOffset, given.byteLength);
    while (length + piece.length >= CHUNK_BYTES) {
      waiting.push(piece.subarray(0, CHUNK_BYTES - length));
      yield joined(waiting);
      piece = piece.subarray(CHUNK_BYTES - length);
      waiting = [];
      length = 0;
    }
    if (piece.length === 0) continue;
    waiting.push(new Uint8Array(piece));
    length += piece.length;
  }
  if (length > 0) yield joined(waiting);
}
