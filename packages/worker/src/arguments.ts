/**
 * Arguments of a call on their way to the host, and there.
 *
 * Documents cross as text, made when the call is made: what the caller does to them afterwards changes nothing, and what JSON
 * makes of dates, `toJSON`, `undefined` and reactive proxies is made of them here as it would be in the page. Documents with
 * attachment data, and all other arguments, cross as structured clones. What cannot cross in either way is named as a
 * {@link Patch} (signals, other handles, functions by name or source) or refused.
 */
import { badRequest, type DatabaseError, evaluate } from '@settledb/core';
import { docsIn, textsOf } from './documents';
import { type Crossing, type DocTexts, LIST, type Patch, type Path } from './wire';

/** Verbs whose first argument is a document, or documents. */
const CONTENT = new Set(['put', 'post', 'bulkDocs', 'remove']);
/** How deep in options functions and signals are looked for: `{ push: { filter } }`. */
const DEPTH = 2;

const NAMED = Symbol.for('settledb.named');

/**
 * Stands for a function that the host was given under this name (`host({ functions: { name } })`), wherever a filter, a map or a
 * reduce function is expected.
 */
export function named(name: string): (...args: unknown[]) => never {
  const stand = (): never => {
    throw new TypeError(`The function '${name}' is in the worker`);
  };
  return Object.assign(stand, { [NAMED]: name });
}

/** What encoding needs to know of the page. */
export interface Encoding {
  /** May functions cross as their source? */
  readonly functions: 'refuse' | 'source';
  /** The number of a handle of this page. */
  handleOf(value: object): number | undefined;
}

export interface Encoded extends Crossing {
  /** Signals of the call. */
  readonly signals: readonly AbortSignal[];
  /** Documents that are to be sent before: as they cross, or, of long lists, each list to be made so as one message. */
  readonly texts?: DocTexts | undefined;
  readonly lists?: readonly (readonly unknown[])[] | undefined;
}

/** @throws DatabaseError 400 for what cannot cross */
export function encodeArguments(verb: string, args: readonly unknown[], encoding: Encoding): Encoded {
  if (!args.some(isObjectOrFunction)) return { args, signals: NONE };
  const [first, ...rest] = args;
  const scan = new Scan(encoding);
  if (!CONTENT.has(verb) || typeof first !== 'object' || first === null) {
    const given = verb.endsWith('Attachment')
      ? args.map((arg) => {
          if (typeof arg === 'function') return streamOf(arg as MakeStream);
          const chunks = isObject(arg) && !isBinary(arg) && Symbol.asyncIterator in arg;
          return chunks ? streamOf(() => arg as AsyncIterable<Uint8Array>) : arg;
        })
      : args;
    return { args: given.map((arg, at) => scan.clean(arg, [at], DEPTH)), ...scan.found };
  }
  const { value, ...content } = encodeContent(first);
  return {
    args: [value, ...rest.map((arg, at) => scan.clean(arg, [at + 1], DEPTH))],
    ...content,
    ...scan.found,
  };
}

interface Content extends Pick<Encoded, 'json' | 'parts' | 'texts' | 'lists'> {
  /** The documents themselves, where their JSON will not do. */
  readonly value?: unknown;
}

function encodeContent(content: object): Content {
  const docs = listOf(content);
  try {
    if ((docs ?? [content]).some(isMoreThanJson)) return { value: copy(content) };
    if (docs !== undefined) return withList(content, docs);
    const json: unknown = JSON.stringify(content);
    return typeof json === 'string' ? { json } : { value: content };
  } catch {
    return { value: content }; // no JSON (a bigint, a cycle): the host says so, as it would in the page
  }
}

/**
 * A list goes ahead of its call; a long one in messages of their own, and its documents must stay as they are until the call is
 * answered.
 */
function withList(content: object, docs: readonly unknown[]): Content {
  const around = Array.isArray(content)
    ? { json: '[]', parts: '' }
    : { json: JSON.stringify({ ...content, docs: [] }), parts: 'docs' };
  if (docs.length <= LIST) return { ...around, texts: textsOf(docs) };
  const lists: unknown[][] = [];
  for (let at = 0; at < docs.length; at += LIST) lists.push(docs.slice(at, at + LIST));
  return { ...around, lists };
}

function listOf(content: object): readonly unknown[] | undefined {
  if (Array.isArray(content)) return content;
  const { docs } = content as { docs?: unknown };
  return Array.isArray(docs) ? docs : undefined;
}

/** Has it attachments whose data is no text? Or a revision that JSON would make a text of? */
function isMoreThanJson(doc: unknown): boolean {
  if (!isObject(doc)) return false;
  const { _rev, _attachments: attachments } = doc as { _rev?: unknown; _attachments?: unknown };
  if (isObject(_rev)) return true;
  if (typeof attachments !== 'object' || attachments === null) return false;
  return Object.values(attachments).some((each) => {
    const data = (each as { data?: unknown } | null)?.data;
    return isObject(data) || typeof data === 'function';
  });
}

const NONE: readonly AbortSignal[] = [];
const isObjectOrFunction = (value: unknown): boolean => typeof value === 'function' || isObject(value);
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isBinary = (value: object): boolean =>
  ArrayBuffer.isView(value) ||
  [ArrayBuffer, globalThis.Blob, globalThis.ReadableStream].some(
    (kind) => kind !== undefined && value instanceof kind,
  );

/** As JSON would make it of `value`, but with binary data as it is. */
function copy(value: unknown): unknown {
  if (!isObject(value)) return typeof value === 'function' || typeof value === 'symbol' ? undefined : value;
  if (isBinary(value)) return value;
  if (Symbol.asyncIterator in value) return streamOf(() => value as AsyncIterable<Uint8Array>);
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return copy(toJSON.call(value));
  if (Array.isArray(value)) return value.map((each) => copy(each) ?? null);
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      key === 'data' && typeof each === 'function' ? streamOf(each as MakeStream) : copy(each),
    ]),
  );
}

/** Lists and plain objects made anew, all else as it is: what frameworks make of their state are proxies, which are not cloned. */
export function withoutProxies<T>(value: T): T;
export function withoutProxies(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutProxies);
  if (!isObject(value) || !isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutProxies(each)]));
}

type Chunks = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;
type MakeStream = () => Chunks | Promise<Chunks>;

/** The stream that `make` makes, made when it is read. */
function streamOf(make: MakeStream): ReadableStream<Uint8Array> {
  let chunks: AsyncIterator<Uint8Array> | undefined;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      chunks ??= iterate(await make());
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async (reason) => void (await chunks?.return?.(reason)),
  });
}

/** Safari's streams cannot be iterated. */
function iterate(chunks: Chunks): AsyncIterator<Uint8Array> {
  if (!('getReader' in chunks)) return chunks[Symbol.asyncIterator]();
  const reader = chunks.getReader();
  return {
    next: () => reader.read() as Promise<IteratorResult<Uint8Array>>,
    return: async (reason) => {
      await reader.cancel(reason);
      return { done: true, value: undefined };
    },
  };
}

/** Takes out of options what cannot be cloned, and notes where it was. */
class Scan {
  readonly #encoding: Encoding;
  readonly #patches: Patch[] = [];
  readonly #signals: AbortSignal[] = [];

  constructor(encoding: Encoding) {
    this.#encoding = encoding;
  }

  get found(): { patches?: readonly Patch[]; signals: readonly AbortSignal[] } {
    return this.#patches.length === 0
      ? { signals: this.#signals }
      : { patches: this.#patches, signals: this.#signals };
  }

  clean(value: unknown, path: Path, depth: number): unknown {
    if (typeof value === 'function') return this.#function(value as (...args: never[]) => unknown, path);
    if (!isObject(value) || Array.isArray(value) || isBinary(value)) return value;
    if (isSignal(value)) return this.#signal(value, path);
    const handle = this.#encoding.handleOf(value);
    if (handle !== undefined) return this.#note([path, 'handle', handle]);
    if (depth === 0 || !isPlain(value)) return value;
    const clean: [string, unknown][] = [];
    for (const [key, each] of Object.entries(value)) {
      clean.push([
        key,
        typeof each === 'object' || typeof each === 'function'
          ? this.clean(each, [...path, key], depth - 1)
          : each,
      ]);
    }
    return Object.fromEntries(clean);
  }

  #signal(signal: AbortSignal, path: Path): undefined {
    this.#signals.push(signal);
    return this.#note([path, 'signal']);
  }

  #function(value: ((...args: never[]) => unknown) & { [NAMED]?: string }, path: Path): unknown {
    const name = value[NAMED];
    if (name !== undefined) return this.#note([path, 'named', name]);
    if (this.#encoding.functions !== 'source') throw cannotCross(path);
    return this.#note([path, 'source', Function.prototype.toString.call(value)]);
  }

  #note(patch: Patch): undefined {
    this.#patches.push(patch);
    return undefined;
  }
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
};

const isSignal = (value: object): value is AbortSignal => value instanceof AbortSignal;

const cannotCross = (path: Path): DatabaseError =>
  badRequest(
    `A function (${path.join('.')}) cannot cross to the worker. Put it into a design document and pass its name, give it to the host and pass named('…'), or connect with { functions: 'source' } if it refers to nothing outside itself`,
  );

/** What decoding needs to know of the host. */
export interface Decoding {
  readonly functions: Readonly<Record<string, unknown>>;
  handle(number: number): unknown;
  /** The signal of the call. */
  signal(): AbortSignal;
  /** May documents be given that were taken apart in the page? */
  readonly apart: boolean;
}

/** @param lists what came ahead */
export function decodeArguments(
  crossing: Crossing,
  lists: readonly DocTexts[],
  decoding: Decoding,
): unknown[] {
  const args = [...crossing.args];
  if (crossing.doc !== undefined) args[0] = crossing.doc;
  if (crossing.json !== undefined) args[0] = JSON.parse(crossing.json);
  if (crossing.parts !== undefined) {
    const docs = lists.flatMap((texts) => docsIn(texts, decoding.apart));
    if (crossing.parts === '') args[0] = docs;
    else (args[0] as Record<string, unknown>)[crossing.parts] = docs;
  }
  for (const patch of crossing.patches ?? []) {
    const [path] = patch;
    let place = args as unknown as Record<string | number, unknown>;
    for (const key of path.slice(0, -1)) place = place[key] as typeof place;
    const value = patched(patch, decoding);
    Object.defineProperty(place, path.at(-1)!, {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    });
  }
  return args;
}

function patched(patch: Patch, { functions, handle, signal }: Decoding): unknown {
  switch (patch[1]) {
    case 'signal':
      return signal();
    case 'handle':
      return handle(patch[2]);
    case 'named':
      if (Object.hasOwn(functions, patch[2])) return functions[patch[2]];
      throw badRequest(`The host was given no function '${patch[2]}'`);
    case 'source':
      return functionOf(patch[2]);
  }
}

/** Of the text of a function, also of one written as a method. */
function functionOf(source: string): unknown {
  try {
    return evaluate(source)();
  } catch (error) {
    try {
      return evaluate(`Object.values({ ${source} })[0]`)();
    } catch {
      throw error;
    }
  }
}
