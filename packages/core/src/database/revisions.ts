/**
 * Reads revisions other than the winner. Often only the tree shows which ones are wanted.
 *
 * So they are read in passes, each from one snapshot: documents with the bodies known to be wanted, and once more if the tree asks
 * for others. A document is answered from the one snapshot that held all of it.
 */

import type { RevTree } from '../model';
import type { Rev } from '../model/types';
import { type BodyRow, type DatabaseTables, type DocRow, storedBody } from '../store/schema';
import type { CallOptions, Store } from '../store/store';
import { treeOf } from './tip';

/** Which revisions of one document a call is about. */
export interface RevisionRequest {
  readonly id: string;
  /** Revisions known to be wanted before the tree is known: saves a pass. */
  readonly guess?: readonly Rev[];
  /** All revisions that are wanted, according to the tree. Called once a pass. */
  readonly choose: (document: KnownDoc) => readonly Rev[];
  /** Revisions of which it matters only whether their bodies are there: those are not read, as they may be a thousand. */
  readonly mention?: (document: KnownDoc) => readonly Rev[];
}

/** The text of a revision's body; `deleted` is that of the revision. */
interface Body {
  readonly deleted: boolean;
  readonly text: string;
}

type BodyRows = ReadonlyMap<Rev, BodyRow | undefined>;

/** A document as one snapshot had it, with the bodies asked for. */
export class KnownDoc {
  readonly row: DocRow;
  readonly #bodies: BodyRows;
  readonly #mentioned: BodyRows;
  readonly #trees: Map<DocRow, RevTree>;

  /**
   * @param mentioned rows without their texts
   * @param trees unpacked so far: many requests may be about one document, and its tree may be large
   */
  constructor(row: DocRow, bodies: BodyRows, mentioned: BodyRows, trees: Map<DocRow, RevTree>) {
    this.row = row;
    this.#bodies = bodies;
    this.#mentioned = mentioned;
    this.#trees = trees;
  }

  get tree(): RevTree {
    let tree = this.#trees.get(this.row);
    if (tree === undefined) {
      tree = treeOf(this.row);
      this.#trees.set(this.row, tree);
    }
    return tree;
  }

  /** Whether the body was looked up, whether or not there is one. */
  looked(rev: Rev): boolean {
    return rev === this.row.rev || this.#bodies.has(rev);
  }

  /** Whether it was looked up whether there is a body. */
  sought(rev: Rev): boolean {
    return this.looked(rev) || this.#mentioned.has(rev);
  }

  /** Whether there is a body. */
  hasBody(rev: Rev): boolean {
    return rev === this.row.rev || (this.#bodies.get(rev) ?? this.#mentioned.get(rev)) !== undefined;
  }

  /** `undefined`: there is no such revision, or its body was compacted away. */
  body(rev: Rev): Body | undefined {
    const row = rev === this.row.rev ? this.row : this.#bodies.get(rev);
    if (row === undefined) return undefined;
    return { deleted: row.deleted === true, text: storedBody(row) };
  }
}

interface Pending {
  readonly at: number;
  readonly request: RevisionRequest;
  readonly revs: readonly Rev[];
  readonly mentioned: readonly Rev[];
}

/** Answers each request with its document and the bodies it chose; `undefined` if there is no such document. */
export async function readRevisions(
  store: Store<DatabaseTables>,
  requests: readonly RevisionRequest[],
  options: CallOptions,
): Promise<(KnownDoc | undefined)[]> {
  const answers: (KnownDoc | undefined)[] = requests.map(() => undefined);
  let pending: Pending[] = requests.map((request, at) => {
    return { at, request, revs: request.guess ?? [], mentioned: [] };
  });
  while (pending.length > 0) {
    const documents = await readPass(store, pending, options);
    const again: Pending[] = [];
    for (const [i, document] of documents.entries()) {
      const { at, request } = pending[i]!;
      if (document === undefined) continue;
      const revs = request.choose(document);
      const mentioned = request.mention?.(document) ?? [];
      const isWhole =
        revs.every((rev) => document.looked(rev)) && mentioned.every((rev) => document.sought(rev));
      if (isWhole) answers[at] = document;
      else again.push({ at, request, revs, mentioned });
    }
    pending = again;
  }
  return answers;
}

async function readPass(
  store: Store<DatabaseTables>,
  pending: readonly Pending[],
  { signal }: CallOptions,
): Promise<(KnownDoc | undefined)[]> {
  const ids = [...new Set(pending.map(({ request }) => request.id))];
  const keysOf = (which: 'revs' | 'mentioned') =>
    pending.flatMap(({ request, [which]: revs }) => revs.map((rev) => [request.id, rev] as const));
  const queries = [
    { from: 'docs', keys: ids, texts: true },
    { from: 'bodies', keys: keysOf('revs'), texts: true },
    { from: 'bodies', keys: keysOf('mentioned'), texts: false },
  ] as const;
  const [docs, bodies, there] = store.readNow(queries) ?? (await store.read(queries, { signal }));
  const rows = new Map(ids.map((id, i) => [id, docs[i]]));
  const trees = new Map<DocRow, RevTree>();
  let at = 0;
  let thereAt = 0;
  return pending.map(({ request, revs, mentioned }) => {
    const found = new Map(revs.map((rev) => [rev, bodies[at++]]));
    const seen = new Map(mentioned.map((rev) => [rev, there[thereAt++]]));
    const row = rows.get(request.id);
    return row === undefined ? undefined : new KnownDoc(row, found, seen, trees);
  });
}
