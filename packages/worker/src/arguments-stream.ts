/** Streams that are made only when they are read, from a program's `MakeStream`. */

type Chunks = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;
export type MakeStream = () => Chunks | Promise<Chunks>;

/** Read in place of a value that is not a stream. Its one piece is not bytes, so the reader refuses it by name; an error thrown here would look like one of the stream. */
async function* noStream(): AsyncGenerator<never, void> {
  yield null as never;
}

/** The stream that `make` makes; it is made when it is first read. */
export function streamOf(make: MakeStream): ReadableStream<Uint8Array> {
  let chunks: Promise<AsyncIterator<Uint8Array>> | undefined;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      chunks ??= (async () => iterate(await make()))();
      const { done, value } = await (await chunks).next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    // What `make` is still to answer is ended once it is there, and not waited for: it may never come.
    cancel(reason) {
      chunks?.then((started) => started.return?.(reason)).catch(() => {});
    },
  });
}

/** Safari's streams cannot be iterated. */
function iterate(chunks: Chunks): AsyncIterator<Uint8Array> {
  if (typeof chunks !== 'object' || chunks === null) return noStream();
  if (!('getReader' in chunks)) return chunks[Symbol.asyncIterator]?.() ?? noStream();
  const reader = chunks.getReader();
  return {
    next: () => reader.read() as Promise<IteratorResult<Uint8Array>>,
    return: async (reason) => {
      await reader.cancel(reason);
      return { done: true, value: undefined };
    },
  };
}
