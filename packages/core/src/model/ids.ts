/** Ids of documents: random ones, and the reserved kinds. */

/** A random id, 32 lower-case hex digits (122 bits would do; these are 128). */
export function uuid(): string {
  let text = '';
  for (const byte of crypto.getRandomValues(new Uint8Array(16))) text += byte.toString(16).padStart(2, '0');
  return text;
}

/** A random id that begins with the time, ms in 12 digits, and is marked by a `7`: RFC 9562, UUID version 7. */
export const datedUuid = (ms: number): string => `${ms.toString(16).padStart(12, '0')}7${uuid().slice(13)}`;

/** How the id of a document begins that stays in its database: never replicated, listed or given a seq. */
export const LOCAL_PREFIX = '_local/';
/** Above every such id. */
export const LOCAL_END = '_local0';

export function isLocalId(id: string): boolean {
  return id.startsWith(LOCAL_PREFIX);
}

/** The key of the row of a `_local/` document, … */
export const localKey = (id: string): string => id.slice(LOCAL_PREFIX.length);
/** … and back. */
export const localId = (key: string): string => LOCAL_PREFIX + key;

/** A document that holds views, filters and indexes. */
export function isDesignId(id: string): boolean {
  return id.startsWith('_design/');
}
