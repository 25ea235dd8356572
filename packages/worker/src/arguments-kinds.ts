/** The kinds of values that arguments may be. */

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
export const isBinary = (value: object): boolean =>
  ArrayBuffer.isView(value) ||
  [ArrayBuffer, globalThis.Blob, globalThis.ReadableStream].some(
    (kind) => kind !== undefined && value instanceof kind,
  );

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
 * In keys and selectors, what writes its own JSON (a date of a library, a URL) becomes that JSON, as it would in the page; the rest
 * stays the object that it is. A `Date` can be cloned.
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
  if (Array.isArray(value)) {
    const items = value.map(ownJson);
    return items.some((item, at) => item !== value[at]) ? items : value;
  }
  if (!isPlain(value)) return value;
  const members = Object.entries(value).map(([key, each]) => [key, ownJson(each)] as const);
  return members.some(([key, each]) => each !== (value as Record<string, unknown>)[key])
    ? Object.fromEntries(members)
    : value;
}
