/**
 * `get`: the winner by the shortest way, everything else by way of the revision tree.
 */

import { ancestry, conflicts, deletedConflicts, hasRev, leaves, leavesBelow, type RevTree } from '../model';
import { docText, joinDoc } from '../model/document';
import { badRequest, invalidIdType, notFound } from '../model/errors';
import { isLocalId } from '../model/ids';
import { formatRev, parseRev } from '../model/revision';
import type { DocMeta, ExistingDoc, OpenRevsRow, Rev, RevInfo } from '../model/types';
import type { DatabaseTables, DocRow } from '../store/schema';
import type { Store } from '../store/store';
import type { GetOptions } from './database';
import { copyOf, type KeptDocs, keptDocs } from './kept-docs';
import { getLocal } from './local-docs';
import { KnownDoc, readRevisions } from './revisions';

type DatabaseStore = Store<DatabaseTables>;
const BODY = ['body'] as const;
/** Most reads ask for a document and nothing else. */
const PLAIN: GetOptions = {};
/** This object, no other like it: the answer is the JSON text of the document, for a host, which sends it so. */
export const GET_AS_TEXT: GetOptions = {};

/** What of a revision's surroundings goes into the document. */
export type MetaOptions = Pick<
  GetOptions,
  'revs' | 'revs_info' | 'conflicts' | 'deleted_conflicts' | 'local_seq'
>;

/**
 * One document, or with `open_revs` a list of its revisions.
 *
 * @throws DatabaseError 404 `missing`, or `deleted` when only its tombstone is left and no revision was named
 */
export async function getDoc(
  store: DatabaseStore,
  id: unknown,
  options: GetOptions = PLAIN,
): Promise<ExistingDoc | OpenRevsRow[]> {
  options.signal?.throwIfAborted();
  if (typeof id !== 'string') throw invalidIdType();
  if (options === PLAIN || options === GET_AS_TEXT) {
    const kept = keptDocs(store);
    const doc = options === PLAIN ? kept.current(id) : undefined;
    if (doc !== undefined && store.stateNow() !== undefined) return copyOf(doc);
    const row = store.rowNow('docs', id, BODY);
    if (row !== undefined) return winnerOf(id, row, options, kept, kept.state);
  }
  if (isLocalId(id)) return getLocal(store, id, options);
  if (options.open_revs !== undefined) return getOpenRevs(store, id, options.open_revs, options);
  if (options.rev !== undefined) return getRev(store, id, options.rev, options);
  return getWinner(store, id, options);
}

async function getWinner(store: DatabaseStore, id: string, options: GetOptions): Promise<ExistingDoc> {
  const needsTree =
    options.revs || options.revs_info || options.conflicts || options.deleted_conflicts || false;
  const queries = [{ from: 'docs', keys: [id], texts: needsTree ? true : ['body'] }] as const;
  const [rows] = store.readNow(queries) ?? (await store.read(queries, { signal: options.signal }));
  const row = rows[0];
  if (options.revs_info && row !== undefined) return getRev(store, id, undefined, options);
  return winnerOf(id, row, options, keptDocs(store));
}

/** @param state see {@link KeptDocs.doc} */
function winnerOf(
  id: string,
  row: DocRow | undefined,
  options: GetOptions,
  kept: KeptDocs,
  state?: number,
): ExistingDoc {
  if (row === undefined) throw notFound('missing', id);
  if (row.deleted) throw notFound('deleted', id);
  if (options === PLAIN) return kept.doc(row, state);
  const text = (row.body as string | undefined) ?? '{}';
  if (options === GET_AS_TEXT) return docText(id, row.rev, false, text) as never;
  const meta = metaOf(new KnownDoc(row, new Map()), row.rev, options);
  return joinDoc(id, row.rev, false, text, meta);
}

/** A revision by name, or, with `latest`, the best leaf that came of it. @param wanted undefined: the winner, if it lives */
async function getRev(
  store: DatabaseStore,
  id: string,
  wanted: Rev | undefined,
  options: GetOptions,
): Promise<ExistingDoc> {
  if (wanted !== undefined) parseRev(wanted);
  const pick = (document: KnownDoc): Rev => {
    if (wanted === undefined) return document.row.rev;
    return (options.latest && leavesBelow(document.tree, wanted)[0]?.rev) || wanted;
  };
  const choose = (document: KnownDoc): Rev[] => {
    const rev = pick(document);
    return options.revs_info ? [rev, ...ancestors(document.tree, rev)] : [rev];
  };
  const guess = wanted === undefined ? [] : [wanted];
  const [document] = await readRevisions(store, [{ id, guess, choose }], options);
  if (document === undefined) throw notFound('missing', id);
  if (wanted === undefined && document.row.deleted) throw notFound('deleted', id);
  const rev = pick(document);
  const doc = hasRev(document.tree, rev) ? docOf(document, rev, options) : undefined;
  if (doc === undefined) throw notFound('missing', id);
  return doc;
}

async function getOpenRevs(
  store: DatabaseStore,
  id: string,
  wanted: 'all' | readonly Rev[],
  options: GetOptions,
): Promise<OpenRevsRow[]> {
  if (wanted !== 'all') {
    if (!Array.isArray(wanted)) throw badRequest("open_revs must be 'all' or a list of revisions");
    for (const rev of wanted) parseRev(rev);
  }
  const pick = (document: KnownDoc): readonly Rev[] =>
    wanted === 'all'
      ? leaves(document.tree).map((leaf) => leaf.rev)
      : followed(document.tree, wanted, options.latest === true);
  const choose = (document: KnownDoc): readonly Rev[] =>
    pick(document).filter((rev) => hasRev(document.tree, rev));
  const [document] = await readRevisions(store, [{ id, guess: [], choose }], options);
  if (document === undefined) {
    if (wanted === 'all') throw notFound('missing', id);
    return [...new Set(wanted)].map((rev) => ({ missing: rev }));
  }
  return pick(document).map((rev) => {
    const doc = hasRev(document.tree, rev) ? docOf(document, rev, options) : undefined;
    return doc === undefined ? { missing: rev } : { ok: doc };
  });
}

/** The revisions asked for, each once; with `latest`, in place of a known one the leaves that came of it. */
export function followed(tree: RevTree, revs: readonly Rev[], latest: boolean): Rev[] {
  if (!latest) return [...new Set(revs)];
  return [
    ...new Set(
      revs.flatMap((rev) => (hasRev(tree, rev) ? leavesBelow(tree, rev).map((leaf) => leaf.rev) : [rev])),
    ),
  ];
}

/** One revision as a document. `undefined`: its body is not there. */
export function docOf(document: KnownDoc, rev: Rev, options: MetaOptions): ExistingDoc | undefined {
  const body = document.body(rev);
  if (body === undefined) return undefined;
  return joinDoc(document.row.id, rev, body.deleted, body.text, metaOf(document, rev, options));
}

function metaOf(document: KnownDoc, rev: Rev, options: MetaOptions): Partial<DocMeta> | undefined {
  const meta: Partial<DocMeta> = {};
  if (options.revs) {
    const revisions = ancestry(document.tree, rev);
    if (revisions !== undefined) meta._revisions = revisions;
  }
  if (options.revs_info) meta._revs_info = revsInfo(document, rev);
  if (options.conflicts) {
    const losing = conflicts(document.tree);
    if (losing.length > 0) meta._conflicts = losing.map((leaf) => leaf.rev);
  }
  if (options.deleted_conflicts) {
    const losing = deletedConflicts(document.tree);
    if (losing.length > 0) meta._deleted_conflicts = losing.map((leaf) => leaf.rev);
  }
  if (options.local_seq) meta._local_seq = document.row.seq;
  return meta;
}

function revsInfo(document: KnownDoc, rev: Rev): RevInfo[] {
  return ancestors(document.tree, rev).map((each) => ({
    rev: each,
    status: document.body(each) === undefined ? 'missing' : 'available',
  }));
}

/** `rev` and what it came of, newest first. */
function ancestors(tree: RevTree, rev: Rev): Rev[] {
  const revisions = ancestry(tree, rev);
  if (revisions === undefined) return [];
  return revisions.ids.map((hash, i) => formatRev(revisions.start - i, hash));
}
