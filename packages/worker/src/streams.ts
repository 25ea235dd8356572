/**
 * Streams among arguments and answers. A stream is transferred, not copied; where that is impossible (Safari; a BroadcastChannel,
 * which leads to another tab's worker), it is read to its end and crosses as a Blob, which the browser may keep on disk.
 */
import { either, noBytes, onAbort, untilAborted } from '@settledb/core';
import { isObject, isPlain } from './arguments-kinds';
import { decodeError, encodeError, workerTerminated } from './errors';
import { whenReleased } from './life';
import { LinkChannel } from './link-channel';
import type { ClientOp, Endpoint, WireError } from './wire';

/** Deep enough for `docs[]._attachments[].data`. */
const DEPTH = 6;

let streamsTransfer: boolean | undefined;

/** Whether streams can be transferred over `endpoint`. */
export function transfers(endpoint: Endpoint): boolean {
  if (endpoint instanceof LinkChannel) return false;
  streamsTransfer ??= tryIt();
  return streamsTransfer;
}

function tryIt(): boolean {
  if (typeof ReadableStream === 'undefined') return true; // there are none
  const { port1, port2 } = new MessageChannel();
  try {
    const stream = new ReadableStream();
    port1.postMessage(stream, [stream as unknown as Transferable]);
    return true;
  } catch {
    return false;
  } finally {
    port1.close();
    port2.close();
  }
}

const isStream = (value: unknown): value is ReadableStream<Uint8Array> =>
  typeof ReadableStream !== 'undefined' && value instanceof ReadableStream;

/** The streams to be transferred with these operations. */
export function streamsIn(ops: readonly ClientOp[]): Transferable[] {
  const found: Transferable[] = [];
  for (const op of ops) {
    if (op[0] === 'call' && op[4].json === undefined && mayHoldStreams(op[3]))
      collect(op[4].args, found, DEPTH);
  }
  return found;
}

export function hasStreams(args: readonly unknown[]): boolean {
  const found: Transferable[] = [];
  collect(args, found, DEPTH);
  return found.length > 0;
}

/** Looking for streams takes a walk through the arguments; other verbs have none. */
const mayHoldStreams = (verb: string): boolean =>
  verb === 'put' || verb === 'post' || verb === 'bulkDocs' || verb.endsWith('Attachment');

function collect(value: unknown, found: Transferable[], depth: number): void {
  if (isStream(value)) found.push(value as unknown as Transferable);
  else if (holdsMore(value) && depth > 0)
    for (const each of Object.values(value)) collect(each, found, depth - 1);
}

/**
 * The same with Blobs in place of the streams, which are read one after another.
 * @throws the reason of the first of `signals` that fires meanwhile; the stream that is being read is then cancelled
 */
export async function withoutStreams(
  value: readonly unknown[],
  signals: readonly AbortSignal[],
): Promise<readonly unknown[]> {
  return (await replaced(value, DEPTH, signals)) as readonly unknown[];
}

async function replaced(value: unknown, depth: number, signals: readonly AbortSignal[]): Promise<unknown> {
  if (isStream(value)) return blobOf(value, signals);
  if (!holdsMore(value) || depth === 0) return value;
  const entries: [string, unknown][] = [];
  for (const [key, each] of Object.entries(value))
    entries.push([key, await replaced(each, depth - 1, signals)]);
  return Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries);
}

/** Bytes in memory before they go into a Blob, and in one chunk of a stream that is read from a Blob. */
const CHUNK_BYTES = 1_000_000;

/** Read here, not by `Response`, which hides the error of a stream (Safari) and cannot be stopped. */
async function blobOf(stream: ReadableStream<unknown>, signals: readonly AbortSignal[]): Promise<Blob> {
  const reader = stream.getReader();
  const aborted = (): AbortSignal | undefined => signals.find((signal) => signal.aborted);
  const cancel = (): void => void reader.cancel(aborted()?.reason).catch(() => {});
  const stops = signals.map((signal) => onAbort(signal, cancel));
  const blobs: Blob[] = [];
  let pieces: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      aborted()?.throwIfAborted(); // a cancelled stream says that it is done
      if (done) return new Blob([...blobs, ...pieces]);
      if (!ArrayBuffer.isView(value)) throw noBytes();
      pieces.push(new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice());
      length += value.byteLength;
      if (length < CHUNK_BYTES) continue;
      blobs.push(new Blob(pieces));
      [pieces, length] = [[], 0];
    }
  } finally {
    for (const stop of stops) stop();
    cancel(); // has no effect on a stream that has ended
  }
}

/**
 * In chunks of bounded size, as the host would give them: Safari's `stream()` may give everything in one. It is read also if it says
 * that it is empty, as of one that WebKit (2.50) lost with its storage process, which is then refused.
 */
function streamOf(blob: Blob): ReadableStream<Uint8Array> {
  const { size } = blob;
  let at = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = new Uint8Array(await blob.slice(at, at + CHUNK_BYTES).arrayBuffer());
      at += CHUNK_BYTES;
      if (chunk.length > 0) controller.enqueue(chunk);
      if (at >= size) controller.close();
    },
  });
}

const holdsMore = (value: unknown): value is object =>
  isObject(value) && (Array.isArray(value) || isPlain(value));

/** Of an answer that nobody is left to read. */
export function leaveStream(answer: unknown): void {
  const { stream } = (answer ?? {}) as { stream?: unknown };
  if (isStream(stream)) stream.cancel().catch(() => {});
}

/** An answer's `stream`, as a Blob if it cannot be transferred. @throws the reason of `signal` if that fires meanwhile */
export async function withoutStream(answer: unknown, signal: AbortSignal): Promise<unknown> {
  const { stream } = (answer ?? {}) as { stream?: unknown };
  return isStream(stream) ? { ...(answer as object), stream: await blobOf(stream, [signal]) } : answer;
}

/**
 * An answer whose `stream`, once transferred, fails with all that its error says: a clone of the error would keep only the message.
 * @param meaning what a failure is to the page
 */
export function withErrors(answer: unknown, meaning: (error: unknown) => unknown): unknown {
  const { stream } = (answer ?? {}) as { stream?: unknown };
  if (!isStream(stream)) return answer;
  const reader = stream.getReader();
  const read = async (): Promise<ReadableStreamReadResult<Uint8Array>> => {
    try {
      return await reader.read();
    } catch (error) {
      throw encodeError(meaning(error));
    }
  };
  return { ...(answer as object), stream: streamBy(reader, read) };
}

/**
 * The answer that {@link withoutStream} or {@link withErrors} was given.
 *
 * @param lock held as long as the worker lives
 * @param signals of the call: while its stream is read, too, they end it with their reason
 */
export function asStream(
  answer: unknown,
  lock: string | undefined,
  signals: readonly AbortSignal[],
): unknown {
  const { stream } = (answer ?? {}) as { stream?: unknown };
  if (stream instanceof Blob)
    return { ...(answer as object), stream: guarded(streamOf(stream), undefined, signals) };
  return isStream(stream) ? { ...(answer as object), stream: guarded(stream, lock, signals) } : answer;
}

/** The same stream, but it fails when the worker ends: a transferred stream does not, and its reader would wait for ever. */
function guarded(
  stream: ReadableStream<Uint8Array>,
  lock: string | undefined,
  signals: readonly AbortSignal[],
): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  return streamBy(reader, async () => {
    let unwatch = (): void => {};
    const gone = new Promise<never>((_, reject) => {
      if (lock !== undefined)
        unwatch = whenReleased(lock, () => reject(workerTerminated('The worker has ended')));
    });
    const { signal, leave } = either(...signals);
    try {
      return await untilAborted(Promise.race([reader.read(), gone]), signal);
    } catch (error) {
      reader.cancel(error).catch(() => {});
      throw isWire(error) ? decodeError(error) : error;
    } finally {
      unwatch();
      leave();
    }
  });
}

const isWire = (error: unknown): error is WireError =>
  typeof error === 'object' && error !== null && !(error instanceof Error) && 'type' in error;

/** What `read` gives, when it is asked for. */
function streamBy(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  read: () => Promise<ReadableStreamReadResult<Uint8Array>>,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
