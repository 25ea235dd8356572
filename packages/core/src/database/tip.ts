/**
 * A document that is edited again and again has a long history, and each edit adds one revision to it. So its newest revisions lie
 * beside the packed tree, in a short text of their own, until there are {@link TIP_REVS_MAX}: an edit of the winner then neither reads
 * nor writes the tree (32 KB for a thousand revisions), whose text stays where it is.
 *
 *   tip    limit : hashes      of the revisions that the winner descends from, newest first, down to the one at which `tree`, where
 *                              there is one, ends; `limit` is the `revs_limit` they were made under, 32 characters a hash
 */
import {
  conflicts,
  HASH_LENGTH,
  hasRev,
  isOneChain,
  merge,
  type RevTree,
  singleton,
  unpackTree,
} from '../model';
import { corrupt } from '../model/errors';
import { formatRev, generationOf, hashOf } from '../model/revision';
import type { DocRow } from '../store/schema';
import type { Text } from '../store/store';
import type { NewEdit } from './edits';

/** A write carries half a KB of tip on average, and every 33rd the tree: least in sum near the root of a thousand (`revs_limit`). */
export const TIP_REVS_MAX = 32;

/** The texts of a row that {@link treeOf} needs. */
export const TREE_TEXTS = ['tree', 'tip'] as const;

/** Whether the document has, or had, revisions besides the winner. */
export const hasPast = (row: DocRow): boolean => row.tree !== undefined || row.tip !== undefined;

/** The revision tree of a row with its {@link TREE_TEXTS}. */
export const treeOf = (row: DocRow): RevTree => wholeTree(row).tree;

/** The value of `_conflicts` for a row with its `tree`; `undefined` if nothing lost. A tip only extends the winner's branch. */
export function losersOf({ tree }: DocRow): string[] | undefined {
  if (tree === undefined || isOneChain(tree as string)) return undefined;
  const losers = conflicts(unpackTree(tree as string));
  return losers.length === 0 ? undefined : losers.map(({ rev }) => rev);
}

interface WholeTree {
  readonly tree: RevTree;
  readonly forgotten: readonly string[];
}

/** Characters of a packed tree from which on (some hundred revisions) it is kept: unpacking it takes longer than the rest of a call. */
const LONG_TREE = 4_096;

/**
 * The long tree that was unpacked last, and of what: calls at once for all leaves of one document would each unpack it. It is for the
 * collector to take.
 */
let last: WeakRef<{ readonly row: DocRow; readonly whole: WholeTree }> | undefined;

/** As {@link treeOf}, with the revisions that edits since the tree was packed pushed beyond the limit. */
export function wholeTree(row: DocRow): WholeTree {
  if (row.tree === undefined || (row.tree as string).length < LONG_TREE) return unpacked(row);
  const kept = last?.deref();
  if (kept !== undefined && isSameTree(kept.row, row)) return kept.whole;
  return keep(row, unpacked(row));
}

/** For whoever edits the document next: `tree` was packed into the row, which has no tip. */
export function keepTree(row: DocRow, tree: RevTree): void {
  if ((row.tree as string).length >= LONG_TREE) keep(row, { tree, forgotten: [] });
}

function keep(row: DocRow, whole: WholeTree): WholeTree {
  last = new WeakRef({ row, whole });
  return whole;
}

const isSameTree = (one: DocRow, other: DocRow): boolean =>
  (['rev', 'deleted', 'tip', 'tree'] as const).every((field) => one[field] === other[field]);

function unpacked(row: DocRow): WholeTree {
  const packed = row.tree === undefined ? undefined : unpackTree(row.tree as string);
  if (row.tip === undefined)
    return { tree: packed ?? singleton(row.rev, row.deleted === true), forgotten: [] };
  const { limit, hashes } = unpackTip(row.tip as string);
  const generation = generationOf(row.rev);
  const path = { generation, hashes: [hashOf(row.rev), ...hashes], deleted: row.deleted === true };
  const { tree, forgotten } = merge(packed, path, limit);
  const ofTip = hashes.map((hash, at) => formatRev(generation - 1 - at, hash));
  return { tree, forgotten: [...forgotten, ...ofTip.filter((rev) => !hasRev(tree, rev))] };
}

/**
 * The tip of a document's row after an edit of its winner that becomes the winner itself.
 *
 * @param before with its `tip`
 * @param limit `revs_limit`
 * @returns undefined when the edit is of another kind, it is time to pack the tree, or the tree must be read first
 */
export function tipAfter(before: DocRow, edit: NewEdit, limit: number): string | undefined {
  const { rev, deleted, tree, tip } = before;
  // With a tombstone another leaf may win; a tombstone within a tip would have to be marked.
  if (edit.parent !== rev || edit.force || deleted || (edit.deleted && tree !== undefined)) return undefined;
  // Bodies of revisions beyond the limit go only when the tree is packed: it is packed before they outnumber the limit itself.
  if (limit < TIP_REVS_MAX && generationOf(edit.rev) > limit) return undefined;
  const hash = hashOf(rev);
  const prefix = `${limit}:`;
  const known = (tip as string | undefined) ?? prefix;
  if (hash.length !== HASH_LENGTH || !known.startsWith(prefix)) return undefined;
  if (known.length >= prefix.length + TIP_REVS_MAX * HASH_LENGTH) return undefined;
  if (tree !== undefined && tip === undefined && !beginsBelow(tree, generationOf(rev), limit))
    return undefined;
  return prefix + hash + known.slice(prefix.length);
}

/**
 * Whether every branch of a tree begins at the winner's generation, or below: then it has nothing that edits of the winner make. One that
 * begins above came without its beginning (its source keeps few revisions, or those were purged here), and may begin with that very
 * revision, and have what became of it. Asked once for a tip: whatever adds a branch packs the tree.
 *
 * @param tree if it was not read, its length tells of the usual kind: a whole history, without branches or tombstones
 */
function beginsBelow(tree: Text, generation: number, limit: number): boolean {
  if (typeof tree === 'string')
    return unpackTree(tree).chains.every(
      (chain) => chain.joined || chain.generation - chain.hashes.length < generation,
    );
  const count = Math.min(generation, limit);
  return tree.length === `0${generation},${count}:`.length + count * HASH_LENGTH;
}

function unpackTip(tip: string): { readonly limit: number; readonly hashes: string[] } {
  const start = tip.indexOf(':') + 1;
  const limit = Number(tip.slice(0, start - 1));
  if (!(limit >= 1) || tip.length === start || (tip.length - start) % HASH_LENGTH !== 0)
    throw corrupt("The newest revisions in a document's row are damaged");
  const hashes: string[] = [];
  for (let at = start; at < tip.length; at += HASH_LENGTH) hashes.push(tip.slice(at, at + HASH_LENGTH));
  return { limit, hashes };
}

/** Whether the text was not filled in: it exists, but is here only by reference. */
export const isUnread = (text: Text | undefined): boolean => typeof text === 'object';
