/** The rows of a document, as a write puts them: one in `docs`, with its winner, and one in `bodies` for each other revision kept. */
import { packTree, type RevTree } from '../model';
import { corrupt, type DatabaseError } from '../model/errors';
import type { Rev } from '../model/types';
import type { BodyRow, DocRow } from '../store/schema';
import type { Text } from '../store/store';
import { keepTree } from './tip';

/** An empty body is not stored. */
export const bodyText = (body: string): string | undefined => (body === '{}' ? undefined : body);

export type Mutable<Row> = { -readonly [field in keyof Row]: Row[field] };

export const bodyLacking = (id: string, rev: Rev): DatabaseError =>
  corrupt(`The body of leaf ${rev} of document '${id}' is missing`);

/** The row in `bodies` of a revision that is not the winner. */
export function bodyRow({ id, rev, deleted, body }: BodyOf): BodyRow {
  const row: Mutable<BodyRow> = { id, rev };
  if (deleted) row.deleted = true;
  if (body !== undefined) row.body = body;
  return row;
}

interface BodyOf {
  readonly id: string;
  readonly rev: Rev;
  readonly deleted?: boolean;
  readonly body?: Text | undefined;
}

/** The row of a document. @param tree left out if `rev` is its only revision */
export function docRow(
  id: string,
  seq: number,
  rev: Rev,
  deleted: boolean,
  tree: RevTree | undefined,
  body: Text | undefined,
): DocRow {
  // Nearly all rows have this form: made at once, a row takes less room than with its fields added one after another.
  const row: Mutable<DocRow> = body === undefined ? { id, seq, rev } : { id, seq, rev, body };
  if (deleted) row.deleted = true;
  if (tree !== undefined && !isSingle(tree)) {
    row.tree = packTree(tree);
    keepTree(row, tree);
  }
  return row;
}

const isSingle = ({ chains }: RevTree): boolean => chains.length === 1 && chains[0]!.hashes.length === 1;
