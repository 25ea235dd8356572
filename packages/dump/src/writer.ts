/** Writes documents from a dump, and counts them. Everything here can be repeated without harm. */
import {
  type CallOptions,
  type Database,
  type DatabaseError,
  type Doc,
  type ExistingDoc,
  isDatabaseError,
  unlessMissing,
  untilAborted,
  type WriteFailure,
} from '@settledb/core';
import { type AnyDoc, KEPT_PREFIX } from './format';
import { Held } from './held';
import { isConflict, putLocal } from './put-local';

/** The database that is loaded into: the verbs used. */
export type Target = Pick<Database, 'id' | 'info' | 'bulkDocs' | 'revsDiff' | 'get' | 'put'>;

export interface LoadProgress {
  readonly docs_read: number;
  /** Documents that were missing, and were written. */
  readonly docs_written: number;
}

export interface LoadOptions extends CallOptions {
  /** Called after each write. What it throws ends the loading. */
  readonly on_progress?: ((progress: LoadProgress) => void) | undefined;
}

export interface Counts extends LoadProgress {
  readonly doc_write_failures: number;
  /** Documents that the database refused: the first 100 of them. */
  readonly errors: readonly WriteFailure[];
}

const ERRORS_LIMIT = 100;
/** Documents whose content is kept at the same time: their ids are in memory. */
const KEPT_LIMIT = 10_000;
const NONE: ReadonlySet<string> = new Set();
/** Answers of a database that has no `_local` documents with attachments. */
const WITHOUT: ReadonlySet<number> = new Set([404, 405, 415, 501]);

type Stubs = { readonly [name: string]: { readonly digest?: unknown } | undefined };
const stubsOf = (attachments: unknown): Stubs => (attachments ?? {}) as Stubs;

/** Whether a `_local` document is a replication's: ours, CouchDB's or PouchDB's. */
export const isCheckpoint = (doc: object): boolean => {
  const { session_id, history } = doc as { session_id?: unknown; history?: unknown };
  return typeof session_id === 'string' && Array.isArray(history);
};

export class Writer {
  readonly #target: Target;
  readonly #options: LoadOptions;
  /** Nothing was ever written to the database: it lacks all that comes. */
  readonly #empty: boolean;
  #read = 0;
  #written = 0;
  #failures = 0;
  readonly #errors: WriteFailure[] = [];
  readonly #apart = new Apart();
  /** Content that came with a document which was not written. */
  readonly held = new Held();
  /** Ids, oldest first. */
  readonly #kept = new Set<string>();

  static async on(target: Target, options: LoadOptions): Promise<Writer> {
    const { update_seq } = await target.info({ signal: options.signal });
    return new Writer(target, options, update_seq === 0);
  }

  private constructor(target: Target, options: LoadOptions, empty: boolean) {
    this.#target = target;
    this.#options = options;
    this.#empty = empty;
  }

  get counts(): Counts {
    const [docs_read, docs_written] = [this.#read, this.#written];
    return { docs_read, docs_written, doc_write_failures: this.#failures, errors: this.#errors };
  }

  /** The seq up to which all changes of the database were made here; 0 if that is not known. */
  async onlyThese(): Promise<number> {
    if (!this.#empty) return 0;
    const { update_seq } = await this.#target.info({ signal: this.#options.signal });
    // Each revision written is one change: if there are as many, nobody else has written. Unless one came twice.
    return this.#apart.all && update_seq === this.#written ? update_seq : 0;
  }

  /** Writes revisions as they are; existing ones are left alone. */
  async revisions(docs: readonly AnyDoc[]): Promise<void> {
    if (docs.length === 0) return;
    await this.#write(await this.lacking(docs), false);
    this.#note(docs.length);
  }

  /**
   * Writes one document whose content arrives only now.
   *
   * @param isGone asked after reading it: then neither is written, nor counted
   * @returns whether the database has the content: the document was not refused
   */
  async withContent(doc: Doc, isLacking: boolean, isGone: () => boolean): Promise<boolean> {
    const before = this.#failures;
    if (isLacking) await this.#write([doc], false, isGone);
    if (!isGone()) this.#note(1);
    return this.#failures === before;
  }

  /** Whether the target can read that revision, with this content. If it was compacted, only its name is known. */
  async holds({ _id, _rev, _attachments }: AnyDoc, names: readonly string[]): Promise<boolean> {
    const { signal } = this.#options;
    const there = await this.#target.get(_id, { rev: _rev, signal }).catch(unlessMissing);
    const [asked, found] = [stubsOf(_attachments), stubsOf(there?._attachments)];
    return names.every((name) => Object.hasOwn(found, name) && found[name]?.digest === asked[name]?.digest);
  }

  /**
   * Keeps the content of a document that the target knows only by name, because later documents may refer to it. Until the load is
   * over, it is an attachment of a `_local` document, if the target has such.
   *
   * @returns whether it is kept
   */
  async keep(doc: Doc, isGone: () => boolean): Promise<boolean> {
    const { _id, _rev, _attachments } = doc as AnyDoc;
    const id = `${KEPT_PREFIX}${_id} ${_rev}`;
    this.#kept.add(id);
    if (this.#kept.size > KEPT_LIMIT) {
      const [oldest] = this.#kept;
      await this.#dropKept(oldest!);
    }
    const given = Object.entries(_attachments ?? {}).filter(([, value]) => !('stub' in value));
    const local = { _id: id, _attachments: Object.fromEntries(given) } as unknown as AnyDoc;
    const isKept = await this.#local(local, 1).then(
      () => true,
      (error: unknown) => {
        // A conflict: another load of the same dump keeps it just now, and removes it when that one ends.
        if (!isGone() && !isOfLocal(error, local) && !isConflict(error)) throw error;
        return false;
      },
    );
    if (!isGone()) this.#note(1);
    return isKept;
  }

  /**
   * Removes what was kept. What cannot be removed now is replaced, and removed, by the next load of the same dump: a database that stands
   * still is not waited for once the load was aborted.
   */
  async dropKept(): Promise<void> {
    const dropAll = async (): Promise<void> => {
      for (const id of this.#kept) await this.#dropKept(id).catch(() => {});
    };
    await untilAborted(dropAll(), this.#options.signal).catch(() => {});
  }

  async #dropKept(id: string): Promise<void> {
    this.#kept.delete(id);
    // Done however the load ended.
    const there = await this.#target.get(id).catch(() => undefined);
    if (there === undefined) return;
    await this.#target.put({ _id: id, _rev: (there as ExistingDoc)._rev, _deleted: true } as Doc);
  }

  /** Writes documents of a file without revisions, as new ones. */
  async edits(docs: readonly object[]): Promise<void> {
    if (docs.length === 0) return;
    await this.#write(docs, true);
    this.#note(docs.length);
  }

  async lacking(docs: readonly AnyDoc[]): Promise<readonly AnyDoc[]> {
    if (this.#empty) return docs;
    const revs: Record<string, string[]> = Object.create(null);
    for (const { _id, _rev } of docs) {
      revs[_id] ??= [];
      revs[_id].push(_rev);
    }
    const diff = await this.#target.revsDiff(revs, { signal: this.#options.signal });
    return docs.filter(({ _id, _rev }) => Object.hasOwn(diff, _id) && diff[_id]!.missing.includes(_rev));
  }

  /**
   * Writes a `_local` document over an existing one. Checkpoints are left out, and not replaced: they name positions in the changes
   * of the database that was dumped, and a database that is loaded into numbers its own. One that is refused is counted.
   */
  async local(doc: AnyDoc): Promise<void> {
    if (isCheckpoint(doc)) return;
    try {
      await this.#local(doc);
    } catch (error) {
      if (!isOfLocal(error, doc)) throw error;
      this.#fail(doc, error);
    }
  }

  #local({ _id, _rev: _, ...content }: AnyDoc, tries?: number): Promise<void> {
    const contentOf = (there: ExistingDoc | undefined): object | undefined =>
      there !== undefined && isCheckpoint(there) ? undefined : content;
    return putLocal(this.#target, _id, contentOf, this.#options, tries);
  }

  async #write(docs: readonly object[], new_edits: boolean, isGone?: () => boolean): Promise<void> {
    if (docs.length === 0) return;
    const { signal } = this.#options;
    let rows: readonly object[];
    try {
      rows = await this.#target.bulkDocs(docs as readonly Doc[], { new_edits, signal });
    } catch (error) {
      if (isGone?.()) return;
      if (!isOfDocument(error)) throw error;
      // The request was refused for one document in it: that one is reported, the others are written.
      if (docs.length > 1) for (const doc of docs) await this.#write([doc], new_edits);
      else await this.#refused(docs[0] as AnyDoc, new_edits, error);
      return;
    }
    const refused = rows.filter((row): row is WriteFailure => 'error' in row);
    const again = new_edits ? NONE : this.#lackingHeld(docs as readonly AnyDoc[], refused);
    const failed = refused.filter(({ id }) => !again.has(id));
    this.#failures += failed.length;
    this.#errors.push(...failed.slice(0, ERRORS_LIMIT - this.#errors.length));
    const done = (docs as readonly AnyDoc[]).filter(({ _id }) => !again.has(_id));
    this.#written += done.length - failed.length;
    for (const doc of done) this.#apart.add(doc);
    for (const doc of docs as readonly AnyDoc[]) if (again.has(doc._id)) await this.#writeHeld(doc);
  }

  /** Ids of documents that were refused for the lack of content that is held. */
  #lackingHeld(docs: readonly AnyDoc[], refused: readonly WriteFailure[]): ReadonlySet<string> {
    const lacking = refused.filter(({ name, error }) => [name, error].includes('missing_stub'));
    if (lacking.length === 0) return NONE;
    const fillable = new Set(docs.filter((doc) => this.held.has(doc)).map(({ _id }) => _id));
    return new Set(lacking.map(({ id }) => id).filter((id) => fillable.has(id)));
  }

  /** One revision with what is held of its content. */
  async #writeHeld(doc: AnyDoc): Promise<void> {
    const before = this.#failures;
    await this.#write([this.held.fill(doc)], false);
    if (this.#failures === before) this.held.drop(doc);
  }

  async #refused(doc: AnyDoc, new_edits: boolean, error: DatabaseError): Promise<void> {
    // Of what is a file without revisions, anything may be given as `_attachments`.
    if (error.status === 412 && !new_edits && this.held.has(doc)) return this.#writeHeld(doc);
    this.#fail(doc, error);
  }

  #fail(doc: AnyDoc, { status, name, message, reason }: DatabaseError): void {
    const { _id } = doc as { _id?: unknown };
    this.#failures++;
    if (this.#errors.length < ERRORS_LIMIT)
      this.#errors.push({ id: String(_id ?? ''), error: true, status, name, message, reason });
  }

  #note(read: number): void {
    this.#read += read;
    const { docs_read, docs_written } = this.counts;
    this.#options.on_progress?.({ docs_read, docs_written });
  }
}

/** The error concerns the document: malformed, too large, not allowed, or a stub without content. */
export const isOfDocument = (error: unknown): error is DatabaseError =>
  isDatabaseError(error) &&
  ([400, 403, 412, 413].includes(error.status) || error.name === 'doc_validation') &&
  error.name !== 'closed';

/** The error concerns a `_local` document: it is refused as any, or for its attachments, which a database may not take there. */
const isOfLocal = (error: unknown, { _attachments }: AnyDoc): error is DatabaseError =>
  isOfDocument(error) || (_attachments !== undefined && isDatabaseError(error) && WITHOUT.has(error.status));

/** Ids remembered, to make sure that none comes again: some 20 MB. */
const IDS_LIMIT = 200_000;

/** Whether all revisions added differ: those of a document come one after another, and no document comes again later. */
class Apart {
  /** False also if there were too many to tell. */
  all = true;
  readonly #ids = new Set<string>();
  #id: string | undefined;
  #revs = new Set<string>();

  add({ _id, _rev }: AnyDoc): void {
    if (!this.all) return;
    if (_id === this.#id) this.all = !this.#revs.has(_rev);
    else {
      this.all = !this.#ids.has(_id) && this.#ids.size < IDS_LIMIT;
      this.#ids.add(_id);
      this.#id = _id;
      this.#revs = new Set();
    }
    this.#revs.add(_rev);
    if (!this.all) this.#ids.clear();
  }
}
