/**
 * Folds the edits of one document within one write, in order: row before → row after, and what becomes of the bodies.
 *
 * The winner's body lies in `docs`, every other kept one in `bodies`. An edit moves bodies between the two by reference;
 * where each ends up depends on which revision wins.
 */

import { GrowingTree, hasRev, isLeaf, type RevPath, type RevTree } from '../model';
import { conflict, type DatabaseError, isDatabaseError } from '../model/errors';
import { nextRev } from '../model/next-rev';
import { generationOf, hashOf, MAX_GENERATION } from '../model/revision';
import type { Rev } from '../model/types';
import type { BlobRefRow, BodyRow, DocRow } from '../store/schema';
import type { Text } from '../store/store';
import { bodyLacking, bodyRow, bodyText, docRow } from './doc-rows';
import { type NewEdit, type ReplicatedEdit, revOf } from './edits';
import { wholeTree } from './tip';

export interface FoldRules {
  /** Most generations kept on a branch, ≥ 1. */
  readonly revsLimit: number;
  /** Whether writes drop every body that is not a leaf's. */
  readonly autoCompaction: boolean;
}

/** The outcome of an edit: accepted, of no effect because it was known, or refused. */
export type Applied = { readonly rev: Rev; readonly changed: boolean } | DatabaseError;

/** `[id, rev]`. */
export type BodyKey = readonly [string, Rev];

/** What a fold wants written. `row` is undefined if nothing changed. */
interface Folded {
  readonly row: DocRow | undefined;
  readonly bodies: readonly BodyRow[];
  readonly gone: readonly BodyKey[];
  /** References to content of the bodies of this write that are kept. */
  readonly refs: readonly BlobRefRow[];
}

/** Puts the attachments of one document's edits into their bodies. Plans of edits without attachments have none. */
export interface Attacher {
  /**
   * @param parent the revision that the edit extends
   * @param held its body, if it is from this write
   */
  resolveNew(edit: NewEdit, parent: Rev | undefined, held: Text | undefined): NewEdit | DatabaseError;
  resolveReplicated(edit: ReplicatedEdit): ReplicatedEdit | DatabaseError;
}

/** A body at hand: from this write, or the winner's that the row held. */
interface Held {
  readonly rev: Rev;
  readonly deleted: boolean;
  readonly body: Text | undefined;
  /** Content that the body refers to, if the body is from this write. */
  readonly blobs?: readonly string[] | undefined;
}

const NONE: readonly never[] = [];
const UNCHANGED: Folded = { row: undefined, bodies: NONE, gone: NONE, refs: NONE };

export class DocFold {
  readonly #id: string;
  readonly #stored: readonly BodyRow[] | undefined;
  readonly #rules: FoldRules;
  readonly #attacher: Attacher | undefined;
  /** `undefined`: there is no document yet. */
  #tree: GrowingTree | undefined;
  readonly #held: Held[] = [];
  #forgotten: readonly Rev[] = NONE;
  #seq: number;
  #dirty = false;
  #late = false;
  /** The outcome depends on the document's rows of `bodies`, which were not read. */
  #lacking = false;

  /**
   * @param stored the document's rows of `bodies`, if they were read
   * @param attacher given where an edit has attachments
   */
  constructor(
    id: string,
    before: DocRow | undefined,
    stored: readonly BodyRow[] | undefined,
    rules: FoldRules,
    attacher?: Attacher,
  ) {
    this.#id = id;
    this.#stored = stored;
    this.#rules = rules;
    this.#attacher = attacher;
    this.#seq = before?.seq ?? 0;
    if (before !== undefined) {
      const { tree, forgotten } = wholeTree(before);
      this.#tree = new GrowingTree(tree, rules.revsLimit);
      this.#forgotten = forgotten;
      this.#held.push({ rev: before.rev, deleted: before.deleted === true, body: before.body });
    }
  }

  /** An edit that makes a revision. @param seq the seq of the change, if it is accepted */
  edit(edit: NewEdit, seq: number): Applied {
    const tree = this.#tree;
    const parent = parentFor(tree, edit);
    if (parent === undefined && (tree ?? edit.parent) !== undefined) return conflict(this.#id);
    const whole = edit.attachments === undefined ? edit : this.#attach(edit, parent);
    if (isDatabaseError(whole)) return whole;
    const rev = freshRev(tree, whole, parent);
    const hashes = parent === undefined ? [hashOf(rev)] : [hashOf(rev), hashOf(parent)];
    const path = { generation: generationOf(rev), hashes, deleted: whole.deleted };
    return this.#merge(path, rev, whole, seq);
  }

  #attach(edit: NewEdit, parent: Rev | undefined): NewEdit | DatabaseError {
    const held = this.#held.find((each) => each.rev === parent)?.body;
    return this.#attacher!.resolveNew(edit, parent, held); // given where an edit has attachments
  }

  /** A revision made elsewhere. A known one changes nothing and takes no seq. */
  replicate(edit: ReplicatedEdit, seq: number): Applied {
    const resolved = edit.attachments === undefined ? edit : this.#attacher!.resolveReplicated(edit);
    return isDatabaseError(resolved) ? resolved : this.#merge(edit.path, edit.rev, resolved, seq);
  }

  /**
   * What to write.
   * @returns `undefined` when the document's rows of `bodies` are needed but were not read: a losing leaf now wins, or a past
   *   revision came late
   */
  finish(): Folded | undefined {
    if (this.#lacking) return undefined;
    if (this.#tree === undefined || !this.#dirty) return UNCHANGED;
    const { tree, winner: best } = this.#tree;
    const held = this.#held.find((each) => each.rev === best.rev);
    if (held === undefined && this.#stored === undefined) return undefined;
    const body = held === undefined ? this.#promoted(best.rev).body : held.body;
    const losers = this.#losers(tree, best.rev);
    return {
      row: docRow(this.#id, this.#seq, best.rev, best.deleted, tree, body),
      bodies: losers.map((each) => bodyRow({ ...each, id: this.#id })),
      gone: this.#gone(tree, best.rev),
      refs: this.#refs(held === undefined ? losers : [held, ...losers]),
    };
  }

  #refs(kept: readonly Held[]): readonly BlobRefRow[] {
    if (this.#attacher === undefined) return NONE;
    return kept.flatMap(({ rev, blobs = [] }) => blobs.map((blob) => ({ blob, id: this.#id, rev })));
  }

  /** Whether anything of the document is to be written. */
  get changed(): boolean {
    return this.#dirty;
  }

  /** A past revision got its body: there is something to compact, even if the document was compacted since its last change. */
  get isLate(): boolean {
    return this.#late;
  }

  /** Whether `rev` is a leaf after the edits. */
  isLeaf(rev: Rev): boolean {
    return this.#tree?.isLeaf(rev) === true;
  }

  #merge(
    path: RevPath,
    rev: Rev,
    { body, blobs }: { readonly body: string; readonly blobs?: readonly string[] },
    seq: number,
  ): Applied {
    this.#tree ??= new GrowingTree(undefined, this.#rules.revsLimit);
    const { result, forgotten, covers } = this.#tree.merge(path);
    const held: Held = { rev, deleted: path.deleted, body: bodyText(body), blobs };
    const known = result === 'known' || result === 'inner';
    if (known) this.#holdLate(held);
    if (result === 'known') return { rev, changed: false };
    // `inner`: only older ancestors are new. That is no change, unless they join branches so that a leaf is no longer one.
    const changed = !known || covers;
    this.#dirty = true;
    if (forgotten.length > 0) this.#forgotten = [...this.#forgotten, ...forgotten];
    if (!known) this.#held.push(held);
    if (changed) this.#seq = seq;
    return { rev, changed };
  }

  /** A past revision known only by name gets its body, as in CouchDB, so that what is readable does not depend on the order. */
  #holdLate(late: Held): void {
    const { rev } = late;
    if (this.#rules.autoCompaction || this.isLeaf(rev) || this.#held.some((each) => each.rev === rev)) return;
    if (this.#stored === undefined) {
      this.#lacking = true;
    } else if (!this.#stored.some((each) => each.rev === rev)) {
      this.#held.push(late);
      this.#late = true;
      this.#dirty = true;
    }
  }

  #promoted(rev: Rev): BodyRow {
    const row = this.#stored?.find((each) => each.rev === rev);
    if (row === undefined) throw bodyLacking(this.#id, rev);
    return row;
  }

  /** Bodies at hand that belong in `bodies`. */
  #losers(tree: RevTree, best: Rev): Held[] {
    const keeps = this.#rules.autoCompaction ? isLeaf : hasRev;
    return this.#held.filter(({ rev }) => rev !== best && keeps(tree, rev));
  }

  /** Keys of `bodies` rows to delete: the new winner's, those of forgotten revisions, and with auto compaction all but leaves'. */
  #gone(tree: RevTree, best: Rev): readonly BodyKey[] {
    if (this.#stored === undefined && this.#forgotten.length === 0) return NONE;
    const revs = this.#forgotten.filter((rev) => !hasRev(tree, rev));
    for (const { rev } of this.#stored ?? []) {
      if (rev === best || (this.#rules.autoCompaction && !isLeaf(tree, rev))) revs.push(rev);
    }
    return revs.map((rev) => [this.#id, rev] as const);
  }
}

/** The revision that `edit` may extend; `undefined`: it begins the document, or conflicts. A forced edit extends whatever it names. */
function parentFor(tree: GrowingTree | undefined, edit: NewEdit): Rev | undefined {
  if (edit.force && edit.parent !== undefined) return edit.parent;
  if (tree === undefined) return undefined;
  if (edit.parent === undefined) {
    // Writing a deleted document anew needs no revision: the edit continues its tombstone.
    const best = tree.winner;
    const isOpen = best.deleted && !edit.deleted && best.generation < MAX_GENERATION;
    return isOpen ? best.rev : undefined;
  }
  return tree.isLeaf(edit.parent) ? edit.parent : undefined;
}

/**
 * Forcing the same edit twice makes two branches: the second revision is derived as if a number stood behind its body. That of the
 * branches, of which each such edit adds one, is most likely free: for a thousandth branch no thousand revisions are tried.
 */
function freshRev(tree: GrowingTree | undefined, edit: NewEdit, parent: Rev | undefined): Rev {
  let rev = revOf(edit, parent);
  if (tree === undefined || !edit.force || !tree.has(rev)) return rev;
  for (let salt = tree.branches; tree.has(rev); salt++)
    rev = nextRev(edit.id, parent, edit.deleted, `${edit.body} ${salt}`);
  return rev;
}
