/**
 * What of a failure goes to the server's log, and what to the client. The reasons of a storage's errors name folders, files, bytes and
 * processes of this machine, and commands to run there: that is for whoever runs the server.
 */
import { isDatabaseError, reservedId } from '@settledb/core';
import type { WireError } from './wire';

/** By the names of errors that a storage fails with. */
const TOLD: ReadonlyMap<string, string> = new Map([
  ['io', 'The storage failed'],
  ['corrupt', 'What is stored is damaged'],
  ['locked', 'Another program has the storage open'],
]);

/** Errors have causes, which have causes: more than these are not followed, as they may go round. */
const CAUSES_MAX = 8;

interface Fault {
  readonly name: string;
  readonly reason: string;
  readonly cause?: unknown;
}

/**
 * Whether its reason may say where on this machine something lies: paths have separators, also those below a folder that was not given
 * whole. So have some ids (`_design/x`), which the client knows.
 */
export const isForTheLog = ({ name, reason }: Fault): boolean => TOLD.has(name) && /[/\\]/.test(reason);

/** Its reason, or what may be told in place of it, with the system's code. */
function reasonForClients(error: Fault): string {
  if (!isForTheLog(error)) return error.reason;
  const code = systemCode(error);
  return `${TOLD.get(error.name)}${code === undefined ? '' : ` (${code})`}; the server's log says more`;
}

/** `ENOSPC`, `EIO`: says nothing of this machine. */
export function systemCode(error: unknown): string | undefined {
  let below: unknown = (error as { readonly cause?: unknown }).cause;
  for (let causes = 0; causes < CAUSES_MAX && below instanceof Error; causes++) {
    const { code } = below as { readonly code?: unknown };
    if (typeof code === 'string' && /^E[A-Z0-9]+$/.test(code)) return code;
    below = below.cause;
  }
  return undefined;
}

/** CouchDB's names of our errors, where they differ; and no more of the server's storage than a client may know. */
export function toWireError(
  error: Fault & { readonly status: number },
): WireError & { readonly status: number } {
  const { status, name } = error;
  const reason = reasonForClients(error);
  if (name === 'conflict') return { status: 409, error: name, reason: 'Document update conflict.' };
  // Malformed input is the client's mistake: never a 5xx.
  if (name === 'doc_validation') return { status: 400, error: name, reason };
  if (name === 'badarg') return { status: 400, error: 'bad_request', reason: 'Invalid attachment data' };
  if (name === 'bad_request' && reason === reservedId().reason) {
    return { status: 400, error: 'illegal_docid', reason };
  }
  // To a client, a database that closes meanwhile looks like a server that shuts down.
  if (name === 'closed') return { status: 503, error: 'service_unavailable', reason };
  return { status: status >= 400 && status < 600 ? status : 500, error: name, reason };
}

/** Errors that are 500 in CouchDB, but the fault of a request, or of a design document or what it reduces. */
const FAULTS_OF_OTHERS = [
  'doc_validation',
  'badarg',
  'compilation_error',
  'builtin_reduce_error',
  'invalid_value',
];

/** A failure of the server, not of the request. 501 is an answer, and so is that the server closes or has too much to do. */
export const isOurs = (error: unknown): boolean =>
  !isDatabaseError(error) ||
  isForTheLog(error) ||
  (error.status >= 500 &&
    error.status !== 501 &&
    error.name !== 'service_unavailable' &&
    !FAULTS_OF_OTHERS.includes(error.name));
