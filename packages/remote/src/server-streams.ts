/** Streams of answers. They are pulled: nothing is read before the client has taken what came before it. */
import { piecesOf } from '@settledb/core';

/** @param leave called when the reader leaves, before `pieces` are left */
export function toStream<T>(pieces: AsyncIterator<T, void>, leave?: () => void): ReadableStream<T> {
  return new ReadableStream<T>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel() {
        leave?.();
        // This waits for the current piece, so it is not awaited.
        pieces.return?.().catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}

/** Bytes that are being read, perhaps with what was read of them already. */
interface Reading {
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  first?: ReadableStreamReadResult<Uint8Array> | undefined;
}

/** @param check called with the first piece @throws what it does: then nothing more is read */
export async function firstRead(
  stream: ReadableStream<Uint8Array>,
  check: (piece: Uint8Array) => void,
): Promise<Reading> {
  const reader = stream.getReader();
  const first = await reader.read();
  try {
    if (!first.done) check(first.value);
  } catch (error) {
    reader.cancel(error).catch(() => {});
    throw error;
  }
  return { reader, first };
}

/**
 * The same bytes, watched.
 *
 * @param over called when they end, fail or are left
 * @param isTaken called with their error; true: the reader does not get the error, because it is ended in another way
 * @param check called with each piece that was not read before; what it throws ends the stream
 */
export function watched(
  reading: Reading,
  over: () => void,
  isTaken: (error: unknown) => boolean = () => false,
  check: (piece: Uint8Array) => void = () => {},
): ReadableStream<Uint8Array> {
  const { reader } = reading;
  let isLeft = false;
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { first } = reading;
          reading.first = undefined;
          const { done, value } = first ?? (await reader.read());
          if (isLeft) return; // While it waited: nobody takes anything any more, not even the end.
          if (!done) {
            if (first === undefined) check(value);
            return controller.enqueue(value);
          }
          over();
          controller.close();
        } catch (error) {
          over();
          reader.cancel(error).catch(() => {});
          if (!isTaken(error)) controller.error(error);
        }
      },
      cancel(reason) {
        isLeft = true;
        over();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * An answer of bytes whose first piece exists before the answer begins: an immediate failure is an error with its status. A later
 * failure breaks the connection off, because half an answer must not be taken for a whole one.
 */
export async function respondWith(
  status: number,
  headers: Record<string, string>,
  stream: ReadableStream<Uint8Array>,
): Promise<Response> {
  return new Response(toStream(await begun(piecesOf(stream))), { status, headers });
}

/**
 * The same pieces, of which the first is made now.
 *
 * Not a generator: one that is left before it was begun runs none of its code, and would not leave `pieces`, which were.
 */
export async function begun<T>(pieces: AsyncGenerator<T, void, void>): Promise<AsyncIterator<T, void>> {
  let first: Promise<IteratorResult<T, void>> | undefined = Promise.resolve(await pieces.next());
  return {
    next() {
      const next = first ?? pieces.next();
      first = undefined;
      return next;
    },
    return: () => pieces.return(),
  };
}

/** Text as the bytes of an answer. */
export function textStream(pieces: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  async function* bytes(): AsyncGenerator<Uint8Array, void, void> {
    for await (const piece of pieces) yield encoder.encode(piece);
  }
  return toStream(bytes());
}
