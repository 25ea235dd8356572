/**
 * Encodes the arguments of a call for the host.
 *
 * Documents cross as text, made at the time of the call: later changes by the caller have no effect, and dates, `toJSON`,
 * `undefined` and reactive proxies become what JSON makes of them, as they would in the page. Documents with
 * attachment data, and all other arguments, cross as structured clones. What cannot cross in either way becomes a
 * {@link Patch} (signals, other handles, functions by name or source) or is refused.
 */
import { isPromise, notAwaited } from '@settledb/core';
import { isBinary, isObject, isWhole } from './arguments-kinds';
import { type Encoding, Scan } from './arguments-scan';
import { type MakeStream, streamOf } from './arguments-stream';
import { textsOf } from './documents';
import { type Crossing, type DocTexts, LIST } from './wire';

/** Verbs whose first argument is a document, or documents. */
const CONTENT = new Set(['put', 'post', 'bulkDocs', 'remove']);
/** How deep in options functions and signals are looked for: `{ push: { filter } }`. */
const DEPTH = 2;

export interface Encoded extends Crossing {
  /** Signals of the call. */
  readonly signals: readonly AbortSignal[];
  /** Documents to be sent before the call: in the form in which they cross; of long lists, each is made so as one message. */
  readonly texts?: DocTexts | undefined;
  readonly lists?: readonly (readonly unknown[])[] | undefined;
}

/** @throws DatabaseError 400 for what cannot cross */
export function encodeArguments(verb: string, args: readonly unknown[], encoding: Encoding): Encoded {
  if (!args.some(isObjectOrFunction)) return { args, signals: NONE };
  const [first, ...rest] = args;
  const scan = new Scan(encoding);
  if (!CONTENT.has(verb) || typeof first !== 'object' || first === null) {
    const given = verb.endsWith('Attachment') ? args.map(asData) : args;
    return { args: given.map((arg, at) => scan.clean(arg, [at], DEPTH)), ...scan.found };
  }
  const { value, ...content } = encodeContent(first, verb === 'bulkDocs');
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

/** @param isBulk a single document may have a field `docs` too, which is not a list of documents */
function encodeContent(content: object, isBulk: boolean): Content {
  const docs = isBulk ? listOf(content) : undefined;
  const all = docs ?? [content];
  if (all.some(isPromise)) throw notAwaited(); // Its JSON would be an empty document.
  try {
    if (all.some(isMoreThanJson)) return { value: copy(content, isBulk ? 'request' : 'doc') };
    if (docs !== undefined) return withList(content, docs);
    const json: unknown = JSON.stringify(content);
    return typeof json === 'string' ? { json } : { value: content };
  } catch {
    return { value: content }; // not JSON (a bigint, a cycle): the host reports it, as it would in the page
  }
}

/**
 * A list is sent ahead of its call, a long one in messages of its own; its documents must not be changed until the call is
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

/** Fields of which a database refuses what JSON might turn into something that it takes: a date as an id, NaN as no deletion. */
const CHECKED = ['_id', '_rev', '_deleted'] as const;

/** Whether it has attachments whose data is not text, or fields that JSON would turn into what they are not. */
function isMoreThanJson(doc: unknown): boolean {
  if (!isObject(doc)) return false;
  const fields = doc as Record<string, unknown>;
  if (CHECKED.some((key) => !isOnlyJson(fields[key]))) return true;
  const { _attachments: attachments } = fields;
  if (typeof attachments !== 'object' || attachments === null) return isLeftOut(attachments);
  return Object.values(attachments).some((each) => {
    if (isLeftOut(each)) return true;
    const data = (each as { data?: unknown } | null)?.data;
    return isObject(data) || typeof data === 'function';
  });
}

/** Whether JSON would leave it out: a document would be stored without what is refused in the page. */
const isLeftOut = (value: unknown): boolean => typeof value === 'function' || typeof value === 'symbol';

const isOnlyJson = (value: unknown): boolean =>
  typeof value === 'string' ||
  typeof value === 'boolean' ||
  Number.isFinite(value) ||
  value === undefined ||
  value === null;

const NONE: readonly AbortSignal[] = [];
const isObjectOrFunction = (value: unknown): boolean => typeof value === 'function' || isObject(value);

/** Where a value stands: a field `data` is content within an attachment, and an ordinary field elsewhere. */
type Place = 'request' | 'docs' | 'doc' | 'attachments' | 'attachment' | undefined;

/** What JSON would make of `value`, but with binary data, and what a database refuses, as it is. */
function copy(value: unknown, place?: Place): unknown {
  if (!isObject(value)) return isLeftOut(value) ? undefined : value;
  if (isBinary(value)) return value;
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return copy(toJSON.call(value), place);
  if (Array.isArray(value)) return value.map((each) => copy(each, isList(place) ? 'doc' : undefined) ?? null);
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, copyOfMember(key, each, place)]),
  );
}

function copyOfMember(key: string, value: unknown, place: Place): unknown {
  if (place === 'attachment' && key === 'data') return copy(asData(value));
  // Any object is refused as this one is, and this one can be cloned.
  if (place === 'doc' && CHECKED.some((each) => each === key))
    return isObject(value) || isLeftOut(value) ? {} : value;
  const within = placeOf(key, place);
  // … and so is what is no object.
  return (within === 'attachments' || within === 'attachment') && isLeftOut(value)
    ? true
    : copy(value, within);
}

const isList = (place: Place): boolean => place === 'request' || place === 'docs';

/**
 * What makes a stream of an attachment's data, as that stream, and of a view of a part its bytes: a clone would be one of the whole
 * buffer, be it an archive or the memory of a WebAssembly. Memory that threads share is not cloned, and cannot arrive at a worker of all
 * tabs. Anything else as it is.
 */
function asData(data: unknown): unknown {
  if (ArrayBuffer.isView(data) && !isWhole(data))
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
  if (typeof data === 'function') return streamOf(data as MakeStream);
  const isChunks = isObject(data) && !isBinary(data) && Symbol.asyncIterator in data;
  return isChunks ? streamOf(() => data as AsyncIterable<Uint8Array>) : data;
}

function placeOf(key: string, place: Place): Place {
  if (place === 'request' && key === 'docs') return 'docs';
  if (place === 'doc' && key === '_attachments') return 'attachments';
  return place === 'attachments' ? 'attachment' : undefined;
}
