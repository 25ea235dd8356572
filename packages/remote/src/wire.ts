/**
 * What both ends of the wire share: how ids and credentials are written, and how errors become JSON and back.
 *
 * Reasons differ in small ways between CouchDB and our errors (a full stop, a status); only the two functions at the end
 * know that.
 */
import { badRequest, conflict, DatabaseError, isLocalId, notFound, reservedId } from '@settledb/core';

export const JSON_TYPE = 'application/json';
/**
 * CouchDB's answers lack `private`: a cache before the server that is told for how long to keep answers gives one user's to another who has no
 * password, and old lists of changes to all.
 */
export const CACHING = 'private, must-revalidate';

/** Prefixes whose slash stays a slash in a path: `_design/a%2Fb`, never `_design%2Fa%2Fb`. */
const KEPT_PREFIXES = ['_design/', '_local/'];

/**
 * A document id as the rest of a path.
 *
 * @throws bad_request for an id with half a surrogate pair, which UTF-8 cannot represent
 */
export function encodeDocId(id: string): string {
  const prefix = KEPT_PREFIXES.find((start) => id.startsWith(start)) ?? '';
  return prefix + encodePart(id.slice(prefix.length));
}

/**
 * True for ids that no URL can carry: `new URL` takes `.` and `..` as steps in the path, also when percent-encoded, so
 * `DELETE /db/.` would be `DELETE /db/`. They travel in bodies only.
 */
export function isDotId(id: string): boolean {
  const prefix = KEPT_PREFIXES.find((start) => id.startsWith(start)) ?? '';
  const rest = id.slice(prefix.length);
  return rest === '.' || rest === '..' || rest === '';
}

/** One path segment, percent-encoded. @throws bad_request */
export function encodePart(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch (cause) {
    throw badRequest('Document id must be valid UTF-8', cause);
  }
}

/** Characters of what one URL names: nginx and CouchDB take lines of 8,000 as they are shipped, and there is more in them. */
const MAX_NAMED = 6_000;
/** A character that UTF-8 writes in three bytes. */
const MOST_ENCODED = '%EF%BF%BF'.length;

/**
 * True also for what is too long to stand in a URL, so that no document of somebody else's ends a replication. `_local` documents, which only
 * URLs reach, are left to the server.
 *
 * @param more what stands in the URL besides the id @throws bad_request as {@link encodePart}
 */
export function hasNoUrl(id: string, ...more: readonly (string | undefined)[]): boolean {
  if (isDotId(id) || isLocalId(id)) return isDotId(id);
  const named = [id, ...more].join('');
  return named.length * MOST_ENCODED > MAX_NAMED && encodePart(named).length > MAX_NAMED;
}

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** The value of an `Authorization` header, in UTF-8. */
export function formatBasic({ username, password }: Credentials): string {
  const bytes = new TextEncoder().encode(`${username}:${password}`);
  return `Basic ${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}`;
}

/** Reads an `Authorization` header; undefined for another scheme. @throws bad_request when it is not base64 */
export function parseBasic(header: string): Credentials | undefined {
  const match = /^Basic +(\S+)\s*$/i.exec(header);
  if (match === null) return undefined;
  let text: string;
  try {
    text = new TextDecoder().decode(Uint8Array.from(atob(match[1]!), (char) => char.charCodeAt(0)));
  } catch (cause) {
    throw badRequest('Authorization header has invalid base64 value', cause);
  }
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** CouchDB's form of an error. */
export interface WireError {
  readonly error: string;
  readonly reason: string;
}

/** Statuses of errors in the rows of bulk answers, which carry only the name. */
const ROW_STATUS: ReadonlyMap<string, number> = new Map([
  ['bad_request', 400],
  ['illegal_docid', 400],
  ['invalid_design_doc', 400],
  ['unauthorized', 401],
  ['forbidden', 403],
  ['not_found', 404],
  ['conflict', 409],
  ['missing_stub', 412],
  ['document_too_large', 413],
  ['too_large', 413],
  ['attachment_too_large', 413],
  ['not_implemented', 501],
  ['service_unavailable', 503],
]);

/**
 * The error that a server meant.
 *
 * @param status of the answer; undefined for a row of a bulk answer
 */
export function fromWireError(wire: WireError, docId: string | undefined, status?: number): DatabaseError {
  const { error: name, reason } = wire;
  if (name === 'conflict') return conflict(docId as string);
  if (name === 'not_found') return notFound(reason, docId);
  if (name === 'illegal_docid' && reason === reservedId().reason) return reservedId();
  if (name === 'doc_validation') return new DatabaseError({ status: 500, name, reason, docId });
  return new DatabaseError({ status: status ?? ROW_STATUS.get(name) ?? 500, name, reason, docId });
}

/** The type of an attachment of which nobody says one. */
export const DEFAULT_TYPE = 'application/octet-stream';

/** Characters of a header that says what an attachment is: with longer ones an answer has more headers than its client takes. */
export const MAX_TOLD = 1_000;

/** The type of an attachment's data. A PouchDB stores attachments without one, or with `null`, and tells them so. */
export const typeOf = ({ content_type }: { readonly content_type?: unknown }): string =>
  typeof content_type === 'string' ? content_type : DEFAULT_TYPE;
