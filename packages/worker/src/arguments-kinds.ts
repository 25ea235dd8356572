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
