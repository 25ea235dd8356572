/**
 * Errors in CouchDB's shape. Every rejection of a database is a {@link DatabaseError}, except for wrong use by the program
 * where CouchDB has no word for it (`TypeError`) and for an aborted `signal` (its own reason).
 */

export interface DatabaseErrorInit {
  readonly status: number;
  readonly name: string;
  readonly reason: string;
  /** `message`, where it differs from `reason`. */
  readonly message?: string;
  readonly docId?: string | undefined;
  readonly cause?: unknown;
}

/** An error with CouchDB's fields: HTTP `status`, `name` (`conflict`), `reason`, and `docId` if it is about one document. */
export class DatabaseError extends Error {
  /** As in HTTP: 404, 409, … */
  readonly status: number;
  /** Always true, so that one test recognizes both a failed row of a bulk answer and an error, as PouchDB's users do. */
  readonly error = true;
  /** What is wrong, in CouchDB's words; may say more than `message`. */
  readonly reason: string;
  /**
   * CouchDB's word for it: `conflict`. A field, since an assignment alone is refused where `Error.prototype` is frozen, as by pages that
   * harden themselves (lockdown of SES, `node --frozen-intrinsics`).
   */
  override name: string;
  /** The document that the error is about, if it is about one. */
  declare readonly docId?: string;
  /** Which document of a `bulkDocs` was refused, counted from 0. */
  declare readonly index?: number;

  constructor(init: DatabaseErrorInit) {
    const { message = init.reason, reason, docId } = init;
    // Chromium prints the stack, which begins with the message of this moment: so that may say more than PouchDB's short one. Node
    // prints the fields.
    const more = [
      reason === message ? '' : `: ${reason}`,
      docId === undefined ? '' : ` (document '${docId}')`,
    ];
    super(message + more.join(''), init.cause === undefined ? undefined : { cause: init.cause });
    this.message = message;
    this.name = init.name;
    this.status = init.status;
    this.reason = reason;
    if (docId !== undefined) this.docId = docId;
  }

  /** Plain data, as in bulk answers and on the wire. `cause` is left out: it may hold anything. */
  toJSON(): Record<string, unknown> {
    const { status, name, message, reason, docId } = this;
    return {
      status,
      name,
      message,
      reason,
      error: true,
      ...(docId === undefined ? {} : { docId, id: docId }),
    };
  }
}

/** True for an error of a database, even one made by another copy of this package (bundles, workers). */
export function isDatabaseError(error: unknown): error is DatabaseError {
  return (
    error instanceof Error &&
    typeof (error as Partial<DatabaseError>).status === 'number' &&
    'reason' in error
  );
}

/** What a database does not have, whichever program made the database. */
export const isMissing = (error: unknown): boolean =>
  (error as { readonly status?: unknown } | null | undefined)?.status === 404;

/** For `catch`: undefined for that error. @throws any other */
export function unlessMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

/** `String(thrown)` for anything that a program throws, or a function of a document: not everything can become a string. */
export function thrownText(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return UNTOLD;
  }
}

/** What a thrown value says, of an error its message alone. */
export function whyOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return UNTOLD;
  }
}

const UNTOLD = 'a value that cannot be shown';

/** A page asks again when its `window.open` has returned, and may open several windows: see {@link isLockFault}. */
export const LOCK_TRIES = 10;

/**
 * Whether a Web Lock was refused though nothing is wrong: while `window.open` runs, which keeps all pages of the process waiting, Chromium
 * (156) gives their locks, but calls no function for them ("The provided callback is no longer runnable"). 51 of 63 windows cost a lock.
 *
 * @param error of a request whose function was not called. Other refusals are `DOMException`s, which have names
 * @param signal of the request: its reason may be anything
 */
export const isLockFault = (error: unknown, signal: AbortSignal | undefined): boolean =>
  !signal?.aborted && (error as Error | undefined)?.name === 'Error';

const make = (
  status: number,
  name: string,
  reason: string,
  more: Partial<DatabaseErrorInit> = {},
): DatabaseError => new DatabaseError({ status, name, reason, ...more });

export const notFound = (
  reason: 'missing' | 'deleted' | (string & {}) = 'missing',
  docId?: string,
): DatabaseError =>
  make(404, 'not_found', reason, { message: reason === 'deleted' ? 'missing' : reason, docId });
export const conflict = (docId: string): DatabaseError =>
  make(409, 'conflict', 'Document update conflict', { docId });
export const badRequest = (reason: string, cause?: unknown): DatabaseError =>
  make(400, 'bad_request', reason, { cause });
export const invalidIdType = (): DatabaseError => badRequest('_id field must contain a string');
export const noBytes = (): DatabaseError =>
  badRequest('Attachment data must be base64, a Blob, bytes, or a stream of bytes');
export const missingId = (): DatabaseError => make(412, 'missing_id', '_id is required for puts');
export const reservedId = (): DatabaseError =>
  badRequest('Only reserved document ids may start with underscore.');
export const docValidation = (field: string): DatabaseError =>
  make(500, 'doc_validation', `Bad special document member: ${field}`);
export const invalidRev = (): DatabaseError => badRequest('Invalid rev format');
export const notAnObject = (): DatabaseError => badRequest('Document must be a JSON object');
export const notAwaited = (): DatabaseError =>
  badRequest('Document must be a JSON object, and is a promise: await it first');
export const missingBulkDocs = (): DatabaseError => badRequest("Missing JSON list of 'docs'");
export const queryParseError = (reason: string): DatabaseError => make(400, 'query_parse_error', reason);
export const forbidden = (reason: string): DatabaseError => make(403, 'forbidden', reason);
export const unauthorized = (reason: string): DatabaseError => make(401, 'unauthorized', reason);
/** A part of the protocol that this version does not have. */
export const notImplemented = (reason: string): DatabaseError => make(501, 'not_implemented', reason);

/** The database (this handle of it) was closed or destroyed, or could never be opened again. */
export const closed = (cause?: unknown): DatabaseError =>
  make(412, 'closed', 'database is closed', { cause });
/** Another process holds the storage. */
export const locked = (reason: string): DatabaseError => make(423, 'locked', reason);
/** Stored bytes are not what was written; `reason` names the file and byte if there is one. */
export const corrupt = (reason: string, cause?: unknown): DatabaseError =>
  make(500, 'corrupt', reason, { cause });
/** The storage refused: a failed read, write or sync. */
export const ioError = (reason: string, cause?: unknown): DatabaseError => make(500, 'io', reason, { cause });
/**
 * As {@link ioError}, for a SecurityError: the browser's text for it ("The operation is insecure") tells nobody what to do.
 *
 * @param what the operation that failed, and the browser's text
 */
export const refusedHere = (what: string, cause: unknown): DatabaseError =>
  ioError(`${what.replace(/\.$/, '')}; does the browser block cookies and site data here?`, cause);
/** The stored data has parts that this program does not know: it would miss them in reading, and lose them in writing. */
export const newer = (what: string): DatabaseError =>
  ioError(`${what} was written by a newer version: update the program, or reload the page`);
/** Content that a write was going to name was swept before. The database puts it again where it has it at hand. */
export const contentGone = (): DatabaseError =>
  make(500, 'content_gone', 'The content put for this write is not there any more: write it again');
export const quotaExceeded = (cause?: unknown): DatabaseError =>
  make(507, 'quota_exceeded', 'The storage is full: delete documents and compact, or ask the user for room', {
    cause,
  });
/** No storage of this kind takes so much in one piece, however much room it has. */
export const tooLarge = (reason: string, cause?: unknown): DatabaseError =>
  make(413, 'too_large', reason, { cause });
/** Whether a call failed for lack of room. */
export const isQuotaExceeded = (error: unknown): boolean =>
  isDatabaseError(error) && error.name === 'quota_exceeded';
