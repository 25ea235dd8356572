/** Revisions that did not win, and what surrounds a revision in its tree: `get` with its less common options. */

import { ancestry, conflicts, deletedConflicts, hasRev, leaves, leavesBelow, type RevTree } from '../model';
import { joinDoc } from '../model/document';
import { badRequest, notFound } from '../model/errors';
import { isLocalId } from '../model/ids';
import { formatRev, parseRev } from '../model/revision';
import type { DocMeta, ExistingDoc, OpenRevsRow, Rev, RevInfo } from '../model/types';
import type { DatabaseTables } from '../store/schema';
import type { Store } from '../store/store';
import type { GetOptions } from './database';
import { getDoc, needsHistory } from './get';
import { type KnownDoc, readRevisions } from './revisions';

type DatabaseStore = Store<DatabaseTables>;

/** What of a revision's surroundings goes into the document. */
type MetaOptions = Pick<GetOptions, 'revs' | 'revs_info' | 'conflicts' | 'deleted_conflicts' | 'local_seq'>;

/** As {@link getDoc}, with any options; with `open_revs` it gives a list of revisions. */
export async function getAny(
  store: DatabaseStore,
  id: string,
  options: GetOptions,
): Promise<ExistingDoc | OpenRevsRow[]> {
  const { open_revs: wanted, rev } = options;
  if (!needsHistory(options) || typeof id !== 'string' || (isLocalId(id) && wanted === undefined))
    return getDoc(store, id, options);
  options.signal?.throwIfAborted();
  if (wanted === undefined) return getRev(store, id, rev, options);
  return [...(await openRevs(store, id, wanted, options))];
}

/** A revision by name, or with `latest` the best leaf that descends from it. @param wanted undefined: the winner, if it is alive */
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
  const request = {
    id,
    guess: wanted === undefined ? [] : [wanted],
    choose: (document: KnownDoc): Rev[] => [pick(document)],
    mention: (document: KnownDoc): Rev[] =>
      options.revs_info ? ancestors(document.tree, pick(document)) : [],
  };
  const [document] = await readRevisions(store, [request], options);
  if (document === undefined) throw notFound('missing', id);
  if (wanted === undefined && document.row.deleted) throw notFound('deleted', id);
  const rev = pick(document);
  const doc = hasRev(document.tree, rev) ? docOf(document, rev, options) : undefined;
  if (doc === undefined) throw notFound('missing', id);
  return doc;
}

/** See {@link RowSource}. */
export async function openRevs(
  store: DatabaseStore,
  id: string,
  wanted: 'all' | readonly Rev[],
  options: GetOptions,
): Promise<Iterable<OpenRevsRow>> {
  if (wanted !== 'all') {
    if (!Array.isArray(wanted)) throw badRequest("open_revs must be 'all' or a list of revisions");
    for (const rev of wanted) parseRev(rev);
  }
  const pick = (document: KnownDoc): readonly Rev[] =>
    wanted === 'all'
      ? leaves(document.tree).map((leaf) => leaf.rev)
      : followed(document.tree, wanted, Boolean(options.latest));
  const choose = (document: KnownDoc): readonly Rev[] =>
    pick(document).filter((rev) => hasRev(document.tree, rev));
  // As in CouchDB, no other options count here: what they add says much the same of each leaf, so all of it grows with their square.
  const meta = { revs: options.revs };
  const [document] = await readRevisions(store, [{ id, choose }], options);
  if (document === undefined) {
    // A local document has no tree either.
    if (wanted === 'all' || (isLocalId(id) && wanted.length > 0)) throw notFound('missing', id);
    return [...new Set(wanted)].map((rev) => ({ missing: rev }));
  }
  return rowsOf(document, pick(document), meta);
}

function* rowsOf(
  document: KnownDoc,
  revs: readonly Rev[],
  meta: MetaOptions,
): Generator<OpenRevsRow, void, void> {
  for (const rev of revs) {
    const doc = hasRev(document.tree, rev) ? docOf(document, rev, meta) : undefined;
    yield doc === undefined ? { missing: rev } : { ok: doc };
  }
}

/** The revisions asked for, each once; with `latest` each known one is replaced by the leaves that descend from it. */
export function followed(tree: RevTree, revs: readonly Rev[], latest: boolean): Rev[] {
  if (!latest) return [...new Set(revs)];
  const seen = new Set<object>();
  const below = (rev: Rev): Rev[] => leavesBelow(tree, rev, seen).map((leaf) => leaf.rev);
  return [...new Set(revs.flatMap((rev) => (hasRev(tree, rev) ? below(rev) : [rev])))];
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
    status: document.hasBody(each) ? 'available' : 'missing',
  }));
}

/** `rev` and its ancestors, newest first. */
function ancestors(tree: RevTree, rev: Rev): Rev[] {
  const revisions = ancestry(tree, rev);
  if (revisions === undefined) return [];
  return revisions.ids.map((hash, i) => formatRev(revisions.start - i, hash));
}
