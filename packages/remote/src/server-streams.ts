/** Streams of answers: pulled, so that nothing is read which the client has not taken what came before of. */

/** What a stream gives, piece by piece; left early, the stream is cancelled. */
export async function* iterate<T>(stream: ReadableStream<T>): AsyncGenerator<T, void, void> {
  // Not every browser's streams can be iterated.
  const reader = stream.getReader();
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      ended = done;
      if (done) return;
      yield value;
    }
  } catch (error) {
    ended = true;
    throw error;
  } finally {
    if (!ended) reader.cancel().catch(() => {});
  }
}

export function toStream<T>(pieces: AsyncIterator<T, void>): ReadableStream<T> {
  return new ReadableStream<T>(
    {
      async pull(controller) {
        try {
          const { done, value } = await pieces.next();
          if (done === true) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          controller.error(error);
        }
      },
      cancel() {
        // It waits for the piece under way, so nobody waits for it.
        pieces.return?.().catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * The same stream, watched.
 *
 * @param over called when it ends, fails or is left
 * @param isTaken told what it fails with; true: no reader hears of it, who is ended otherwise
 */
export function watched<T>(
  stream: ReadableStream<T>,
  over: () => void,
  isTaken: (error: unknown) => boolean = () => false,
): ReadableStream<T> {
  const reader = stream.getReader();
  return new ReadableStream<T>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          over();
          controller.close();
        } catch (error) {
          over();
          if (!isTaken(error)) controller.error(error);
        }
      },
      cancel(reason) {
        over();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * An answer of bytes whose first piece is there before anything is answered: what fails at once is an error with its status. What
 * fails later breaks the connection off, as half an answer must not be taken for a whole one.
 */
export async function respondWith(
  status: number,
  headers: Record<string, string>,
  stream: ReadableStream<Uint8Array>,
): Promise<Response> {
  const pieces = iterate(stream);
  const first = await pieces.next();
  async function* all(): AsyncGenerator<Uint8Array, void, void> {
    if (first.done === true) return;
    yield first.value;
    yield* pieces;
  }
  return new Response(toStream(all()), { status, headers });
}

/** Text as the bytes of an answer. */
export function textStream(pieces: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  async function* bytes(): AsyncGenerator<Uint8Array, void, void> {
    for await (const piece of pieces) yield encoder.encode(piece);
  }
  return toStream(bytes());
}
