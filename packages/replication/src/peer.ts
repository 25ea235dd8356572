/**
 * What a replication needs of a database, and the checks of what it answers.
 *
 * A peer may be anything: a server behind a proxy, a wrapped object. An answer not of the expected form is an error; it is
 * never read as "no changes", "nothing missing" or "written".
 */
import {
  type Database,
  DatabaseError,
  type ExistingDoc,
  isDatabaseError,
  isLocalId,
  isObject,
  isRev,
  isSeq,
  isTexts,
  type RevsDiffResult,
  type Seq,
  untilAborted,
} from '@settledb/core';

/**
 * The methods of a database that replication uses; any object that has them will do. If both sides have `openAttachment` too, large
 * attachments are not held in memory: such a source streams them, and such a target takes functions that open streams as their data.
 */
export type Peer = Pick<
  Database,
  'id' | 'info' | 'get' | 'put' | 'changes' | 'revsDiff' | 'bulkGet' | 'bulkDocs'
> &
  Partial<Pick<Database, 'openAttachment'>>;

/** A document as it is transferred: opaque except for its `_` fields. */
export type AnyDoc = ExistingDoc<Record<string, unknown>>;

/** Which revision of which document it is. */
export const revisionOf = ({ _id, _rev }: AnyDoc): { readonly id: string; readonly rev: string } => ({
  id: _id,
  rev: _rev,
});

/** A row of the changes feed, reduced to what is used. */
export interface ChangedDoc {
  readonly id: string;
  readonly seq: Seq | null;
  readonly revs: readonly string[];
}

const METHODS = ['id', 'info', 'get', 'put', 'changes', 'revsDiff', 'bulkGet', 'bulkDocs'] as const;

/** @throws TypeError when a method is missing */
export function checkPeer(role: 'source' | 'target', peer: Peer): void {
  for (const method of METHODS) {
    if (typeof peer?.[method] !== 'function')
      throw new TypeError(`The ${role} is no database: no ${method}()`);
  }
}

/** The options of `id` and `info`. A PouchDB takes their first argument for a callback, so it gets none. */
export const bare = (peer: Peer, signal: AbortSignal): [{ signal: AbortSignal }?] =>
  'registerDependentDatabase' in peer ? [] : [{ signal }];

/**
 * Waits for a peer, but no longer than `signal` allows, whether or not the peer heeds it.
 *
 * @throws the signal's reason, or what the call threw or rejected with
 */
export async function ask<T>(signal: AbortSignal, call: () => PromiseLike<T> | T): Promise<T> {
  signal.throwIfAborted();
  return untilAborted(Promise.resolve(call()), signal);
}

/** The peer answered something that the protocol does not know. It is worth a retry: the answer may be a proxy's. */
export const unexpected = (what: string): DatabaseError =>
  new DatabaseError({ status: 502, name: 'unexpected_answer', reason: `Unexpected answer: ${what}` });

/** The first that is a text: errors of various makes say the same in fields of different names. */
export const firstText = (...told: readonly unknown[]): string | undefined =>
  told.find((each) => typeof each === 'string');

export function checkId(answer: unknown): string {
  if (typeof answer === 'string' && answer !== '') return answer;
  throw unexpected('id() is no string');
}

export interface PeerInfo {
  /** `update_seq`, where there is one. */
  readonly seq: Seq | undefined;
  /** CouchDB's time of creation, which differs for a database made anew under the same name; '' where the peer does not say. */
  readonly instance: string;
}

export function checkInfo(answer: unknown): PeerInfo {
  if (!isObject(answer)) throw unexpected('info() is no object');
  const { update_seq, instance_start_time: created } = answer;
  const told = (typeof created === 'string' || typeof created === 'number') && created !== '0';
  return { seq: isSeq(update_seq) ? update_seq : undefined, instance: told ? String(created) : '' };
}

interface CheckedChanges {
  readonly rows: readonly ChangedDoc[];
  readonly lastSeq: Seq;
  readonly pending: number | undefined;
}

export function checkChanges(answer: unknown): CheckedChanges {
  if (!isObject(answer) || !Array.isArray(answer.results)) throw unexpected('changes without results');
  const { results, last_seq, pending } = answer;
  if (!isSeq(last_seq)) throw unexpected('changes without last_seq');
  return {
    rows: (results as unknown[]).map(checkChange),
    lastSeq: last_seq,
    pending: typeof pending === 'number' && pending >= 0 ? pending : undefined,
  };
}

export function checkChange(row: unknown): ChangedDoc {
  if (!isObject(row) || typeof row.id !== 'string' || row.id === '') throw unexpected('a change without id');
  // Local documents belong to each database alone; our checkpoints are among them.
  if (isLocalId(row.id)) throw unexpected(`a change of ${row.id}`);
  const { id, seq, changes } = row;
  if (!isSeq(seq) && seq !== null) throw unexpected(`a change of ${id} without seq`);
  if (!Array.isArray(changes) || changes.length === 0)
    throw unexpected(`a change of ${id} without revisions`);
  const revs = changes.map((change: unknown) => (isObject(change) ? change.rev : undefined));
  if (!isTexts(revs)) throw unexpected(`a change of ${id} without revisions`);
  return { id, seq, revs };
}

/** One revision of one document that the target lacks. */
export interface MissingRev {
  readonly id: string;
  readonly rev: string;
  /** Revisions of the document that the target has and that may be its ancestors, where it says so. */
  readonly ancestors?: readonly string[];
}

/** @param asked what was asked about; an answer about anything else is refused */
export function checkRevsDiff(answer: unknown, asked: Record<string, readonly string[]>): MissingRev[] {
  if (!isObject(answer)) throw unexpected('revsDiff is no object');
  const missing: MissingRev[] = [];
  for (const id of Object.keys(answer)) {
    const { missing: revs, possible_ancestors } = ((answer as RevsDiffResult)[id] ?? {}) as Record<
      string,
      unknown
    >;
    const known = Object.hasOwn(asked, id) ? asked[id] : undefined;
    if (known === undefined || !Array.isArray(revs)) throw unexpected(`revsDiff of ${id}`);
    // A document may have thousands of leaves.
    const wasAsked = revs.length > 1 ? new Set<string>(known) : undefined;
    const ancestors = Array.isArray(possible_ancestors) ? { ancestors: possible_ancestors as string[] } : {};
    for (const rev of revs.length > 1 ? new Set(revs) : revs) {
      if (!(wasAsked?.has(rev) ?? known.includes(rev)))
        throw unexpected(`revsDiff of ${id}: ${rev} was not asked about`);
      missing.push({ id, rev, ...ancestors });
    }
  }
  return missing;
}

type FetchedRow = { readonly ok: AnyDoc } | { readonly error: unknown };

/** The answer about one revision. */
export interface Fetched {
  /** Rows in the entry for this very request; empty where the answer does not have one entry for each request. */
  readonly own: readonly FetchedRow[];
  /** Rows in all entries with this id. */
  readonly all: readonly FetchedRow[];
}

/** @returns one {@link Fetched} for each of `asked`; the caller has to see whether it holds what was asked for */
export function checkBulkGet(answer: unknown, asked: readonly MissingRev[]): Fetched[] {
  if (!isObject(answer) || !Array.isArray(answer.results)) throw unexpected('bulkGet without results');
  const entries = (answer.results as unknown[]).map(checkEntry);
  const aligned = entries.length === asked.length && entries.every(({ id }, at) => id === asked[at]!.id);
  // The usual case: one revision of each document, answered in order.
  if (aligned && new Set(asked.map(({ id }) => id)).size === asked.length)
    return entries.map(({ rows }) => ({ own: rows, all: rows }));
  const byId = new Map<string, FetchedRow[]>(asked.map(({ id }) => [id, []]));
  for (const { id, rows } of entries) {
    const all = byId.get(id);
    if (all === undefined) throw unexpected(`bulkGet of ${id}, which was not asked for`);
    all.push(...rows);
  }
  return asked.map(({ id }, at) => ({ own: aligned ? entries[at]!.rows : [], all: byId.get(id)! }));
}

function checkEntry(entry: unknown): { readonly id: string; readonly rows: FetchedRow[] } {
  if (!isObject(entry) || typeof entry.id !== 'string' || !Array.isArray(entry.docs)) {
    throw unexpected('bulkGet with a malformed row');
  }
  const { id, docs } = entry;
  const rows = docs.every(isDocRow) ? docs : (docs as unknown[]).map((row) => checkRow(row, id));
  return { id, rows };
}

const isDocRow = (row: unknown): row is { readonly ok: AnyDoc } => isObject(row) && isObject(row.ok);

function checkRow(row: unknown, id: string): FetchedRow {
  if (!isObject(row)) throw unexpected(`bulkGet of ${id}`);
  if (isDocRow(row)) return row;
  // PouchDB's word for a revision that is not there.
  if (typeof row.missing === 'string')
    return { error: { rev: row.missing, error: 'not_found', reason: 'missing' } };
  return { error: isObject(row.error) ? row.error : row };
}

/** @returns why the document cannot be taken over, or `undefined`. A wrong document would make the target unreadable. */
export function faultOf(doc: AnyDoc, id: string): string | undefined {
  const { _id, _rev, _revisions } = doc as { _id?: unknown; _rev?: unknown; _revisions?: unknown };
  if (_id !== id) return 'it has another _id';
  if (!isRev(_rev)) return 'its _rev is malformed';
  if (!isObject(_revisions)) return 'it has no _revisions';
  const { start, ids } = _revisions;
  if (!Number.isSafeInteger(start) || !Array.isArray(ids) || ids.length === 0)
    return 'its _revisions are malformed';
  if (
    ids.length > (start as number) ||
    !ids.every((hash) => typeof hash === 'string' && !hash.includes('-'))
  ) {
    return 'its _revisions are malformed';
  }
  return _rev === `${start}-${ids[0]}` ? undefined : 'its _rev is not the first of its _revisions';
}

/** The rows of failures. Rows of success are left out; `new_edits: false` need not answer them. */
export function checkBulkDocs(answer: unknown, docs: readonly AnyDoc[]): FailedRow[] {
  if (!Array.isArray(answer)) throw unexpected('bulkDocs is no list');
  if (answer.length === 0) return [];
  const written = new Set(docs.map(({ _id }) => _id));
  const failed: FailedRow[] = [];
  for (const row of answer as unknown[]) {
    if (!isObject(row) || typeof row.id !== 'string' || !written.has(row.id)) {
      throw unexpected('bulkDocs with a malformed row');
    }
    if (row.ok === true && row.error === undefined) continue;
    failed.push(failedRow(row as typeof row & { readonly id: string }));
  }
  return failed;
}

/** A document that the target did not accept, as `errors` and `denied` show it: plain data. */
export interface FailedRow {
  readonly id: string;
  readonly rev?: string;
  readonly error: true;
  readonly status: number;
  readonly name: string;
  readonly message: string;
  readonly reason: string;
}

const STATUS_OF = new Map([
  ['unauthorized', 401],
  ['forbidden', 403],
  ['conflict', 409],
  ['missing_stub', 412],
  ['document_too_large', 413],
  ['too_large', 413],
]);

/** CouchDB's rows say `{ id, error: 'forbidden', reason }`, PouchDB's `{ id, status, name, message, error: true }`. */
function failedRow(row: Record<string, unknown> & { readonly id: string }): FailedRow {
  const name = firstText(row.name, row.error) ?? 'unknown_error';
  const reason = firstText(row.reason, row.message) ?? name;
  const message = firstText(row.message) ?? reason;
  const status = typeof row.status === 'number' ? row.status : (STATUS_OF.get(name) ?? 500);
  const about = typeof row.rev === 'string' ? { id: row.id, rev: row.rev } : { id: row.id };
  return { ...about, error: true, status, name, message, reason };
}

/** The HTTP status of an error of whatever make, 0 where it has none. */
export function statusOf(error: unknown): number {
  const status = isObject(error) ? error.status : undefined;
  return typeof status === 'number' ? status : 0;
}

/** 401 or 403: the caller is not allowed to do this. */
export function isRefusal(error: unknown): boolean {
  const status = statusOf(error);
  if (status !== 0) return status === 401 || status === 403;
  const name = isObject(error) ? (error.name ?? error.error) : undefined;
  return name === 'unauthorized' || name === 'forbidden';
}

/** The document is too large: its content, or the URL made of its id. */
export const isTooLarge = (error: unknown): boolean => [413, 414, 431].includes(statusOf(error));

export function isNotFound(error: unknown): boolean {
  if (statusOf(error) === 404) return true;
  return isObject(error) && [error.name, error.error, error.reason].includes('not_found');
}

/** A database here was closed, also one of another copy of the package: it will answer no more requests. */
export const isClosed = (error: unknown): boolean => isDatabaseError(error) && error.name === 'closed';
