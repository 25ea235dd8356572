/**
 * Writes documents to the target: as they are (`new_edits: false`), which can be repeated without harm.
 *
 * What the target says about single documents is sorted here: refused ones are passed, anything else stops the run.
 */
import type { Doc } from '@settledb/core';
import {
  type AnyDoc,
  ask,
  checkBulkDocs,
  type FailedRow,
  isRefusal,
  keyOf,
  type Peer,
  statusOf,
} from './peer';

export interface WriteOutcome {
  readonly written: readonly AnyDoc[];
  /** Refused for good: not allowed (401, 403), or too large even alone (413). */
  readonly denied: readonly FailedRow[];
  /** Not written, and nobody said that they never can be. */
  readonly failed: readonly FailedRow[];
}

/** @throws what the target rejects the whole request with; then nothing of `docs` counts as written */
export async function writeDocs(
  target: Peer,
  docs: readonly AnyDoc[],
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const ids = new Set(docs.map(({ _id }) => _id));
  let rows: FailedRow[];
  try {
    const request = { docs: docs as readonly Doc[], new_edits: false };
    rows = checkBulkDocs(
      await ask(signal, () => target.bulkDocs(request, { new_edits: false, signal })),
      ids,
    );
  } catch (error) {
    if (statusOf(error) !== 413) throw error;
    return docs.length > 1 ? writeHalves(target, docs, signal) : tooLarge(docs, error);
  }
  const denied = rows.filter((row) => isRefusal(row) || row.status === 413);
  return { written: without(docs, rows), denied, failed: rows.filter((row) => !denied.includes(row)) };
}

/** A row that names no revision of those sent may be about any of its document: none of them counts as written. */
function without(docs: readonly AnyDoc[], rows: readonly FailedRow[]): readonly AnyDoc[] {
  if (rows.length === 0) return docs;
  const sent = new Set(docs.map(({ _id, _rev }) => keyOf(_id, _rev)));
  const failedIds = new Set<string>();
  const failedRevs = new Set<string>();
  for (const { id, rev } of rows) {
    const key = keyOf(id, rev ?? '');
    if (sent.has(key)) failedRevs.add(key);
    else failedIds.add(id);
  }
  return docs.filter(({ _id, _rev }) => !failedIds.has(_id) && !failedRevs.has(keyOf(_id, _rev)));
}

async function writeHalves(
  target: Peer,
  docs: readonly AnyDoc[],
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const middle = Math.ceil(docs.length / 2);
  const lower = await writeDocs(target, docs.slice(0, middle), signal);
  const upper = await writeDocs(target, docs.slice(middle), signal);
  return {
    written: [...lower.written, ...upper.written],
    denied: [...lower.denied, ...upper.denied],
    failed: [...lower.failed, ...upper.failed],
  };
}

function tooLarge(docs: readonly AnyDoc[], error: unknown): WriteOutcome {
  const denied = docs.map(({ _id, _rev }): FailedRow => {
    const reason = error instanceof Error ? error.message : 'document_too_large';
    return { id: _id, rev: _rev, error: true, status: 413, name: 'too_large', message: reason, reason };
  });
  return { written: [], denied, failed: [] };
}
