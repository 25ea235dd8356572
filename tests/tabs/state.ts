/** What must hold of a database at rest, in whichever context one looks: invariants I1 and I2. */
import { expect } from 'vitest';
import type { TabContext } from '../support/tabs';

export interface AtRest {
  readonly doc_count: number;
  readonly update_seq: number;
  /** Winners by id, also deleted ones. */
  readonly revs: Record<string, string>;
}

type All = { total_rows: number; rows: { id: string; value: { rev: string }; doc: { _rev: string } }[] };
type Info = { doc_count: number; doc_del_count: number; update_seq: number };

/** Asserts that every context sees the same, and that counters and sequences are those of the documents. */
export async function consistent(contexts: readonly TabContext[]): Promise<AtRest> {
  const seen = await Promise.all(contexts.map(look));
  for (const other of seen) expect(other).toEqual(seen[0]);
  return seen[0]!;
}

async function look(context: TabContext): Promise<AtRest> {
  const info: Info = await context.run('info');
  const all: All = await context.run('allDocs', { include_docs: true });
  const { results, last_seq } = await context.call('changes');
  const living = results.filter(({ deleted }) => deleted !== true);
  expect(info.doc_count).toBe(all.rows.length);
  expect(all.total_rows).toBe(all.rows.length);
  expect(info.doc_del_count).toBe(results.length - living.length);
  expect(living.map(({ id }) => id).sort()).toEqual(all.rows.map(({ id }) => id).sort());
  for (const { value, doc } of all.rows) expect(doc._rev).toBe(value.rev);
  expectRising(results.map(({ seq }) => seq as number));
  expect(last_seq).toBe(info.update_seq);
  expect(results.at(-1)?.seq ?? 0).toBe(info.update_seq);
  const revs: Record<string, string> = {};
  for (const { id, changes } of results) revs[id] = changes[0]!.rev;
  return { doc_count: info.doc_count, update_seq: info.update_seq, revs };
}

export function expectRising(seqs: readonly number[]): void {
  expect(seqs.filter((seq, i) => i > 0 && seq <= seqs[i - 1]!)).toEqual([]);
}

/** Asserts that each of these revisions is known to the database. */
export async function expectKept(
  context: TabContext,
  written: readonly { readonly id: string; readonly rev: string }[],
): Promise<void> {
  const asked: Record<string, string[]> = {};
  for (const { id, rev } of written) asked[id] = [...(asked[id] ?? []), rev];
  expect(await context.run('revsDiff', asked)).toEqual({});
}
