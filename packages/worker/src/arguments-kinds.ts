/** The kinds of values that arguments may be. */

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
/** As which they know themselves: those of a frame, as a file that was chosen there, are no instances of this realm's classes. */
const BINARY = /^\[object (ArrayBuffer|Blob|File|ReadableStream)\]$/;
export const isBinary = (value: object): boolean =>
  ArrayBuffer.isView(value) || BINARY.test(Object.prototype.toString.call(value));

/** Whether it shows all of its buffer, which no other thread has. */
export const isWhole = ({ buffer, byteLength }: ArrayBufferView): boolean =>
  buffer instanceof ArrayBuffer && byteLength === buffer.byteLength;

export const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
};

/** Copies lists and plain objects, and keeps everything else: the proxies that frameworks make of their state cannot be cloned. */
export function withoutProxies<T>(value: T): T;
export function withoutProxies(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutProxies);
  if (!isObject(value) || !isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutProxies(each)]));
}

/**
 * Keys and selectors as they are now: the call may wait for a worker, and be sent again, while the program goes on with its lists. What
 * writes its own JSON (a date of a library, a URL) becomes that JSON, as it would in the page. A `Date` can be cloned.
 */
export function withOwnJson(value: unknown): unknown {
  try {
    return ownJson(value);
  } catch {
    return value; // it contains itself, or its JSON cannot be made: the host reports it, as it would in the page
  }
}

function ownJson(value: unknown): unknown {
  if (!isObject(value) || isBinary(value) || value instanceof Date) return value;
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function')
    return JSON.parse(JSON.stringify(value) ?? 'null');
  if (Array.isArray(value)) return value.map(ownJson);
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, ownJson(each)]));
}
