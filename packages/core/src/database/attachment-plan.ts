/**
 * The part of a write's plan that is about attachments: what it must read for them, the rows of content and references, and which
 * of the stored content a row names from now on. Edits without attachments do not come here.
 */
import { isDatabaseError } from '../model/errors';
import { localKey } from '../model/ids';
import { generationOf, localWrites, nextLocalRev } from '../model/revision';
import type { Rev } from '../model/types';
import { under } from '../store/keys';
import type { BlobRefRow, BlobRow, BodyRow, DatabaseTables, DocRow, LocalRow } from '../store/schema';
import type { Query, Write } from '../store/store';
import { BlobRows, type Surroundings, stubsIn } from './attachment-set';
import { type Attacher, DocFold } from './doc-fold';
import {
  derivedRev,
  type Edit,
  failureRow,
  type LocalEdit,
  type NewEdit,
  type ReplicatedEdit,
} from './edits';
import { applyLocal } from './local-docs';
import type { Outcome } from './plan-edits';

type Writes = Write<DatabaseTables>[];

/**
 * What {@link AttachmentsFound} needs; `undefined`: the plan can do without it.
 * @param compacted the documents of the write, in their order, if their past revisions lose their bodies in it
 */
export function attachmentQueries(
  edits: readonly Edit[],
  compacted: readonly string[],
): readonly Query<DatabaseTables>[] | undefined {
  const attached = edits.filter((edit) => edit.attachments !== undefined);
  if (attached.length === 0 && compacted.length === 0) return undefined;
  const blobs = [...new Set(attached.flatMap((edit) => edit.attachments!.blobs))];
  const docs = [...new Set(attached.filter(({ kind }) => kind !== 'local').map(({ id }) => id))];
  const locals = [...new Set(attached.filter(({ kind }) => kind === 'local').map(({ id }) => localKey(id)))];
  const bodies = attached.flatMap((edit) =>
    edit.kind === 'new' && edit.parent !== undefined ? [[edit.id, edit.parent] as const] : [],
  );
  return [
    { from: 'blobs', keys: blobs },
    { from: 'docs', keys: docs, texts: ['body'] },
    { from: 'bodies', keys: bodies, texts: true },
    { from: 'local', keys: locals, texts: true },
    ...compacted.map((id) => ({
      from: 'blobrefs' as const,
      by: 'doc',
      range: under(id),
    })),
  ];
}

/** What a write decides about content, apart from its rows. */
export interface ContentDecision {
  /** Places that rows name from now on. */
  readonly named: readonly string[];
  /** Places that rows no longer name. */
  readonly replaced: readonly string[];
  /** Content that fewer revisions refer to. */
  readonly freed: readonly string[];
}

export class AttachmentsFound {
  readonly #rows: BlobRows;
  readonly #texts = new Map<string, Map<Rev, string | undefined>>();
  readonly #locals = new Map<string, LocalRow>();
  /** References of each document of the write, if they were asked for. */
  readonly #stored: readonly BlobRefRow[][];
  readonly #localRefs: BlobRefRow[] = [];

  /** @param answers to {@link attachmentQueries} */
  constructor(answers: readonly unknown[]) {
    const [blobs, docs, bodies, locals, ...refs] = answers as [
      (BlobRow | undefined)[],
      (DocRow | undefined)[],
      (BodyRow | undefined)[],
      (LocalRow | undefined)[],
      ...BlobRefRow[][],
    ];
    this.#rows = new BlobRows(blobs);
    for (const row of [...docs, ...bodies]) {
      if (row === undefined) continue;
      const texts = this.#texts.get(row.id) ?? new Map<Rev, string | undefined>();
      this.#texts.set(row.id, texts.set(row.rev, row.body as string | undefined));
    }
    for (const row of locals) if (row !== undefined) this.#locals.set(row.id, row);
    this.#stored = refs;
  }

  of(id: string): Attacher {
    const texts = this.#texts.get(id);
    const resolve = (edit: NewEdit | ReplicatedEdit, around: Omit<Surroundings, 'rows'>) =>
      edit.attachments!.resolve(edit.body, { ...around, rows: this.#rows }); // edits without attachments do not come here
    return {
      resolveNew(edit, parent, held) {
        const text = typeof held === 'string' ? held : parent && texts?.get(parent);
        const generation = parent === undefined ? 1 : generationOf(parent) + 1;
        const resolved = resolve(edit, { generation, before: stubsIn(text), replicated: false });
        if (isDatabaseError(resolved)) return resolved;
        const whole = { ...edit, ...resolved, parent };
        return { ...whole, rev: derivedRev(whole, parent) };
      },
      resolveReplicated(edit) {
        const around = { generation: edit.path.generation, before: undefined, replicated: true };
        const resolved = resolve(edit, around);
        return isDatabaseError(resolved) ? resolved : { ...edit, ...resolved };
      },
    };
  }

  /** `undefined`: the edit has no attachments. */
  applyLocal(edit: LocalEdit, rows: (LocalRow | undefined)[], place: number): Outcome | undefined {
    if (edit.attachments === undefined) return undefined;
    const before = rows[place];
    const text = typeof before?.body === 'string' ? before.body : this.#locals.get(localKey(edit.id))?.body;
    const resolved = edit.attachments.resolve(edit.body, {
      generation: localWrites(nextLocalRev(before?.rev)),
      before: stubsIn(text as string | undefined),
      replicated: false,
      rows: this.#rows,
    });
    if (isDatabaseError(resolved)) return failureRow(edit.id, resolved);
    const outcome = applyLocal({ ...edit, body: resolved.body }, rows, place);
    if (!('error' in outcome)) {
      const { id, rev } = outcome;
      this.#localRefs.push(...resolved.blobs.map((blob) => ({ blob, id, rev })));
    }
    return outcome;
  }

  /** @param refs what kept bodies refer to @param folds of the documents of the write */
  finish(
    refs: readonly BlobRefRow[],
    folds: readonly (DocFold | object | undefined)[],
  ): ContentDecision & { readonly writes: Writes } {
    const put = [...refs, ...this.#localRefs];
    const fresh = [...new Set(put.map(({ blob }) => blob))].flatMap((blob) => this.#rows.fresh(blob) ?? []);
    const gone = this.#stored.flatMap((stored, i) => {
      const fold = folds[i];
      // A document that is not written keeps its bodies, and so their content.
      if (!(fold instanceof DocFold) || !fold.changed) return [];
      return stored.filter(({ rev }) => !fold.isLeaf(rev));
    });
    const writes: Writes = [];
    if (fresh.length > 0) writes.push({ into: 'blobs', put: fresh });
    if (gone.length > 0) writes.push({ into: 'blobrefs', delete: gone.map(refKey) });
    if (put.length > 0) writes.push({ into: 'blobrefs', put });
    const named = fresh.flatMap(({ place }) => place || []);
    const replaced = fresh.flatMap(({ blob }) => this.#rows.replaced(blob)?.place || []);
    return { writes, named, replaced, freed: gone.map(({ blob }) => blob) };
  }
}

export const refKey = ({ blob, id, rev }: BlobRefRow): readonly [string, string, Rev] => [blob, id, rev];
