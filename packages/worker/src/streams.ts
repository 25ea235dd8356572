/**
 * Streams among arguments and answers. A stream is given away, not copied; where it cannot be (Safari; a BroadcastChannel, which
 * is how another tab's worker is reached), it is read to its end and crosses as a Blob, which the browser may keep on disk.
 */
import type { ClientOp, Endpoint } from './wire';

/** Deep enough for `docs[]._attachments[].data`. */
const DEPTH = 6;

let streamsTransfer: boolean | undefined;

/** Can streams be given away over `endpoint`? */
export function transfers(endpoint: Endpoint): boolean {
  if (typeof BroadcastChannel !== 'undefined' && endpoint instanceof BroadcastChannel) return false;
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

/** To be transferred with these operations. */
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

/** To look for them costs a walk; other verbs are given none. */
const mayHoldStreams = (verb: string): boolean =>
  verb === 'put' || verb === 'post' || verb === 'bulkDocs' || verb.endsWith('Attachment');

function collect(value: unknown, found: Transferable[], depth: number): void {
  if (isStream(value)) found.push(value as unknown as Transferable);
  else if (isPlain(value) && depth > 0)
    for (const each of Object.values(value)) collect(each, found, depth - 1);
}

/** The same with Blobs in their place, once those are read. */
export async function withoutStreams(value: readonly unknown[]): Promise<readonly unknown[]> {
  return (await replaced(value, DEPTH)) as readonly unknown[];
}

async function replaced(value: unknown, depth: number): Promise<unknown> {
  if (isStream(value)) return new Response(value).blob();
  if (!isPlain(value) || depth === 0) return value;
  if (Array.isArray(value)) return Promise.all(value.map((each) => replaced(each, depth - 1)));
  const entries = Object.entries(value).map(async ([key, each]) => [key, await replaced(each, depth - 1)]);
  return Object.fromEntries(await Promise.all(entries));
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Array.isArray(value);
}

/** An answer's `stream`, as a Blob where it cannot be given away. */
export async function withoutStream(answer: unknown): Promise<unknown> {
  const { stream } = (answer ?? {}) as { stream?: unknown };
  return isStream(stream) ? { ...(answer as object), stream: await new Response(stream).blob() } : answer;
}

/** What {@link withoutStream} was given. */
export function asStream(answer: unknown): unknown {
  const { stream } = (answer ?? {}) as { stream?: unknown };
  return stream instanceof Blob ? { ...(answer as object), stream: stream.stream() } : answer;
}
