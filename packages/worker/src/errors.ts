/**
 * Errors on their way between page and host. A message would keep only `message`, and lose our classes; so errors
 * travel as plain data and are made again: status, name, reason, docId, stack, further fields (a replication's `result`), and causes.
 */
import { badRequest, DatabaseError, isDatabaseError, locked, refusedHere, thrownText } from '@settledb/core';
import type { WireError } from './wire';

/** Depth of causes that travel along; deeper ones are dropped. */
const CAUSES = 4;

const BASES: Record<string, new (message: string) => Error> = {
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  URIError,
  EvalError,
};

/** The worker (or the tab that owned the database) is gone, or does not answer. What it was asked may or may not have been done. */
export const workerTerminated = (reason: string, cause?: unknown): DatabaseError =>
  new DatabaseError({ status: 503, name: 'worker_terminated', reason, cause });

/** The owner of all tabs keeps its files, and does not answer. */
export const isLocked = (error: unknown): boolean =>
  (error as { readonly name?: unknown } | null)?.name === 'locked';

export const isTerminated = (error: unknown): boolean =>
  (error as { readonly name?: unknown } | null)?.name === 'worker_terminated';

/** The worker is there, and could not load code that is loaded when first needed. */
export const isNotLoaded = (error: unknown): boolean =>
  (error as { readonly name?: unknown } | null)?.name === 'not_loaded';

/**
 * For what a browser refuses a page along with storage: a SharedWorker if cookies are blocked (Firefox). The program's own
 * errors stay what they are.
 */
export function barred(cause: unknown): unknown {
  if ((cause as { name?: unknown } | null)?.name !== 'SecurityError') return cause;
  return refusedHere(`Making the worker failed: ${cause}`, cause);
}

/** For an error that came over comlink, which keeps only name and message: makes one of ours what it was. */
export function fromControl(error: unknown): unknown {
  const { name, message } = (error ?? {}) as { name?: unknown; message?: string };
  if (isDatabaseError(error) || message === undefined) return error;
  if (name === 'worker_terminated') return workerTerminated(message, error);
  if (name === 'locked') return locked(message);
  return name === 'bad_request' ? badRequest(message, error) : error;
}

/** What cannot be cloned crosses as a text, and so does an error whose fields cannot even be read. */
export function encodeError(error: unknown, causes = CAUSES): WireError {
  try {
    if (error instanceof Error) return encodedFields(error, causes);
    if (cloneable(error)) return { type: 'value', value: error };
  } catch {
    // A getter threw: what was thrown must reach the page all the same.
  }
  return { type: 'value', value: thrownText(error) };
}

function encodedFields(error: Error, causes: number): WireError {
  const { message, name, stack, cause } = error;
  const fields: Record<string, unknown> = { message, name, stack };
  for (const [key, value] of Object.entries(error)) {
    if (key !== 'cause' && cloneable(value)) fields[key] = value;
  }
  const wire: WireError = { type: 'error', base: baseOf(error), fields };
  if (cause !== undefined && causes > 0) wire.cause = encodeError(cause, causes - 1);
  return wire;
}

/** What an event passes, if it is an error, as plain data. */
export const presentable = (value: unknown): unknown =>
  value instanceof Error ? { settledbError: encodeError(value) } : value;

/** Whether JSON is as good as a clone of it. A database's refusals have only texts, a status, and `error: true`. */
export function isJsonError(wire: WireError): boolean {
  if (wire.type !== 'error') return wire.type === 'aborted';
  const isJson = (value: unknown): boolean =>
    typeof value === 'string' || value === true || (Number.isInteger(value) && (value as number) > 0);
  return Object.values(wire.fields).every(isJson) && (wire.cause === undefined || isJsonError(wire.cause));
}

/** @param reason of the call's own signal */
export function decodeError(wire: WireError, reason?: unknown): unknown {
  if (wire.type === 'aborted') return reason;
  if (wire.type === 'value') return wire.value;
  const { base, cause } = wire;
  const { message, name, stack, ...fields } = wire.fields as Record<string, unknown> & {
    message: string;
    name: string;
  };
  const error = make(base, message, name, fields);
  for (const [key, value] of [
    ['stack', stack],
    ['cause', cause && decodeError(cause)],
  ] as const) {
    if (value !== undefined) Object.defineProperty(error, key, { value, configurable: true, writable: true });
  }
  return error;
}

function baseOf(error: Error): string {
  if (isDatabaseError(error)) return 'DatabaseError';
  if (typeof DOMException !== 'undefined' && error instanceof DOMException) return 'DOMException';
  return Object.keys(BASES).find((base) => error instanceof BASES[base]!) ?? 'Error';
}

function make(base: string, message: string, name: string, fields: Record<string, unknown>): Error {
  if (base === 'DOMException' && typeof DOMException !== 'undefined') return new DOMException(message, name);
  if (base === 'DatabaseError') {
    const { status, reason, docId, ...more } = fields as { status: number; reason: string; docId?: string };
    return Object.assign(new DatabaseError({ status, name, reason, message, docId }), more);
  }
  const error = new (BASES[base] ?? Error)(message);
  if (error.name !== name)
    Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
  return Object.assign(error, fields);
}

export function cloneable(value: unknown): boolean {
  if (typeof value !== 'object' || value === null)
    return typeof value !== 'function' && typeof value !== 'symbol';
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}
