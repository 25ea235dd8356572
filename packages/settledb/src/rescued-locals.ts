/**
 * `_local` documents on their way from a database of which parts are lost. Those about their own database stay behind, checkpoints of
 * replications above all: of what is lost they would say that it had been replicated.
 */
import { type ExistingDoc, type LocalDatabase, localId, whyOf } from '@settledb/core';
import { isCheckpoint, isOwnLocal } from '@settledb/dump';
import { batches } from './batches';
import type { LostRevision, RecoverTarget } from './recover';
import { isWithin, type Lack } from './rescue-lacks';
import { refusalOf, refusals } from './rescued-leaves';

export class RescuedLocals {
  readonly #to: RecoverTarget;
  readonly #signal: AbortSignal | undefined;
  readonly #lost = new Map<string, LostRevision>();
  /** Where documents are lacking that are not known by name. */
  #lacks: Lack[] | undefined;
  /** Ids of the documents there that were found. */
  readonly #found = new Set<string>();

  constructor(to: RecoverTarget, signal: AbortSignal | undefined) {
    this.#to = to;
    this.#signal = signal;
  }

  get lost(): Iterable<LostRevision> {
    return this.#lost.values();
  }

  get lacks(): readonly Lack[] {
    return this.#lacks ?? [];
  }

  /** Whether nothing is lacking that another directory could have. */
  get isDone(): boolean {
    return this.#lost.size === 0 && this.#lacks?.every(({ docs }) => docs === 0) === true;
  }

  /**
   * Copies what was not copied before.
   *
   * @param keys of rows that are lacking in the directory through which the database is seen; those of the first one count
   */
  async take(source: LocalDatabase, keys: readonly Lack[]): Promise<void> {
    const isFirst = this.#lacks === undefined;
    this.#lacks ??= keys.map(({ from, to, docs }) => ({
      from: localId(from ?? ''),
      to: to === undefined ? undefined : localId(to),
      docs,
    }));
    if (!isFirst && this.isDone) return;
    for await (const rows of batches(source.store, { from: 'local' }, ({ id }) => id, this.#signal))
      for (const row of rows) await this.#takeOne(source, localId(row.id), isFirst);
  }

  async #takeOne(source: LocalDatabase, id: string, isFirst: boolean): Promise<void> {
    this.#signal?.throwIfAborted();
    const lack = this.#lacks?.find((each) => isWithin(id, each));
    const isNew = lack !== undefined && !this.#found.has(id);
    if (isNew) {
      this.#found.add(id);
      if (!isFirst) lack.docs = Math.max(0, lack.docs - 1);
    }
    if (isFirst || isNew || this.#lost.has(id)) await this.#copy(source, id);
  }

  async #copy(source: LocalDatabase, id: string): Promise<void> {
    let doc: ExistingDoc;
    try {
      doc = await source.get(id, { attachments: true });
    } catch (error) {
      this.#lost.set(id, { id, reason: whyOf(error) });
      return;
    }
    this.#lost.delete(id);
    if (isOwnLocal(id) || isCheckpoint(doc)) return;
    const { _rev: _, ...fields } = doc;
    const [failed] = await refusals(this.#to, [fields], { signal: this.#signal });
    if (failed !== undefined) this.#lost.set(id, { id, reason: refusalOf(failed) });
  }
}
