/**
 * A journal in a log that only this context has open.
 *
 * Small appends run from check to write in one turn of the event loop. A large append, a manifest until the disk has it, or the end of a
 * vacuum holds the writer's place meanwhile, and later calls wait for it. A position is compared only after waiting.
 */
import {
  closed,
  type DatabaseError,
  type Durability,
  inMicrotask,
  ioError,
  isQuotaExceeded,
  type TextRef,
} from '@settledb/core';
import type {
  BlobJournal,
  Commit,
  CommitRead,
  Journal,
  JournalEvent,
  JournalState,
  PlacedChunk,
  Position,
  Rewrite,
} from '@settledb/engine';
import { BlobFiles } from './blobs';
import type { Place } from './contents';
import type { Files } from './files';
import { commitOf, KIND_BLOCK, KIND_REWRITE, type Part, partsOf, textOf } from './frame';
import { journalBlobs } from './journal-blobs';
import type { Lock } from './lock';
import { LockName } from './lock-name';
import type { Log } from './log';
import { Parts } from './parts';
import { notePlaces } from './places';
import type { Bytes } from './platform';
import { trouble } from './trouble';
import { isWorthVacuum, Successor } from './vacuum';

export class LogJournal implements Journal {
  readonly shared = false;
  readonly blobs: BlobJournal;
  readonly #blobFiles: BlobFiles;
  readonly #parts = new Parts();
  readonly #files: Files;
  readonly #folder: string;
  readonly #lock: Lock;
  readonly #lockName: LockName;
  readonly #onClose: () => void;
  readonly #listeners = new Set<(event: JournalEvent) => void>();
  #log: Log;
  /** The holder of the writer's place gives it back through this. */
  #writing: Promise<unknown> | undefined;
  #vacuuming: Promise<void> | undefined;
  #rewriting = false;
  #isClosed = false;
  /** A writer was told that the log is poisoned. A checkpoint that is tells nobody: then closing does. */
  #isTold = false;
  #closing: Promise<void> | undefined;

  constructor(files: Files, folder: string, lock: Lock, log: Log, onClose: (journal: LogJournal) => void) {
    this.#files = files;
    this.#folder = folder;
    this.#lock = lock;
    this.#log = log;
    const lost = (error: unknown): DatabaseError => this.#log.poison(error);
    this.#lockName = new LockName(files, folder, lost);
    this.#blobFiles = new BlobFiles(files, folder, lock.leftOpen, lost);
    this.blobs = journalBlobs(this.#blobFiles, {
      log: () => this.#log,
      check: () => this.#check(),
      ahead: () => this.#ahead(),
      sync: (current) => this.#sync(current),
    });
    this.#onClose = () => onClose(this);
    this.#lockName.sync().catch(() => {}); // reported to the next writer
  }

  alone(): boolean {
    return true;
  }

  async read(known?: Position): Promise<JournalState> {
    this.#check();
    return this.#read(known);
  }

  async append(
    commit: Commit,
    expected: Position,
    durability: Durability,
  ): Promise<JournalState | undefined> {
    const { contents = [] } = commit;
    try {
      if (contents.length > 0) await this.#putContents(contents, durability);
      // Before the log has anything: if it fails, for want of files for instance, nothing was written.
      if (durability === 'strict') await this.#blobFiles.sync();
      for (let ahead = this.#ahead(); ahead !== undefined; ahead = this.#ahead()) await ahead;
      if (!this.#isNext(commit, expected)) return this.#read(expected);
      const written = this.#write(partsOf(commit), durability);
      if (written !== undefined) await written;
    } catch (error) {
      // A full disk needs the room back. After any other failure nobody knows what the log has.
      if (!this.#log.isPoisoned) await this.#blobFiles.drop(contents.map(({ place }) => place));
      this.#tell();
      throw error;
    }
    return undefined;
  }

  appendNow(commit: Commit, expected: Position): boolean {
    this.#check();
    if (!this.#isNext(commit, expected) || this.#writing !== undefined) return false;
    if (!this.#lockName.isSynced || commit.contents?.length) return false;
    try {
      return this.#log.appendNow(partsOf(commit));
    } catch (error) {
      this.#tell();
      throw error;
    }
  }

  #tell(): void {
    this.#isTold ||= this.#log.isPoisoned;
  }

  /** Whether the log is where the writer of `commit` expects it. @throws TypeError if the commit would not be the next one there */
  #isNext(commit: Commit, expected: Position): boolean {
    if (commit.n !== expected.n + 1) throw new TypeError(`commit ${commit.n} cannot follow ${expected.n}`);
    return this.#log.contents.isAt(expected);
  }

  /** Puts content before its commit. */
  async #putContents(contents: readonly PlacedChunk[], durability: Durability): Promise<void> {
    this.#check();
    this.#log.check();
    await this.#blobFiles.putAll(contents, durability);
  }

  async rewrite(change: Rewrite, expected: Position): Promise<JournalState | undefined> {
    if (change.manifest !== undefined) await this.#blobFiles.sync();
    for (let ahead = this.#ahead(); ahead !== undefined; ahead = this.#ahead()) await ahead;
    const { epoch, n, through } = this.#log.contents;
    const { put = [], drop = [], manifest } = change;
    const inPlace = expected.epoch === epoch && (manifest === undefined || expected.n === n);
    if (!inPlace) return this.#read(expected);
    if (put.length === 0 && manifest === undefined && this.#canTakeBack(drop)) {
      await this.#hold(this.#log.takeBack(drop));
      return undefined;
    }
    const after =
      manifest === undefined ? { epoch, through } : { epoch: epoch + 1, through: manifest.through };
    const parts: Part[] = put.map((block) => ({ kind: KIND_BLOCK, block }));
    parts.push({ kind: KIND_REWRITE, change, ...after });
    // Blocks that nothing names yet need not be synced: after a loss of power the log is cut at the first torn record, as it is for commits.
    if (manifest === undefined) await this.#write(parts, 'relaxed');
    else await this.#hold(this.#install(parts));
    return undefined;
  }

  /** A vacuum that runs may have copied them. */
  #canTakeBack(blocks: readonly number[]): boolean {
    return this.#vacuuming === undefined && this.#log.areLast(blocks);
  }

  async load(ids: readonly number[]): Promise<(string | undefined)[]> {
    this.#check();
    const log = this.#log;
    const places = ids.map((id) => log.contents.blocks.get(id));
    const leave = log.enter();
    try {
      const texts: (string | undefined)[] = [];
      for (const place of places) {
        const frame = place && (log.frames.frameNow(place) ?? (await log.frames.frame(place)));
        texts.push(frame && textIn(frame, place!));
      }
      for (const id of ids) this.#parts.forget(id);
      return texts;
    } finally {
      leave();
    }
  }

  loadNow(ids: readonly number[]): (string | undefined)[] | undefined {
    this.#check();
    const { blocks } = this.#log.contents;
    const texts: (string | undefined)[] = [];
    for (const id of ids) {
      const place = blocks.get(id);
      const frame = place && this.#log.frames.frameNow(place);
      if (place !== undefined && frame === undefined) return undefined;
      texts.push(frame && textIn(frame, place!));
      this.#parts.forget(id);
    }
    return texts;
  }

  loadParts(refs: readonly TextRef[]): (string | undefined)[] {
    this.#check();
    const { blocks } = this.#log.contents;
    return refs.map(({ block, at, length }) => {
      const place = blocks.get(block);
      return place && this.#log.frames.part(place, at, length);
    });
  }

  readIn<R>(block: number, work: (part: (at: number, length: number) => string) => R): R | undefined {
    this.#check();
    const place = this.#log.contents.blocks.get(block);
    return place && this.#log.frames.readIn(place, work);
  }

  takesParts(block: number, count: number, haveRoom: boolean): boolean {
    const place = this.#log.contents.blocks.get(block);
    // A tail lies within a commit's frame, and is short.
    if (place?.isTail !== false || !this.#log.frames.hasParts(place)) return false;
    return this.#parts.take(block, count, place.bytes, haveRoom);
  }

  async blockIds(): Promise<number[]> {
    this.#check();
    return Array.from(this.#log.contents.blocks, ([id]) => id);
  }

  async vacuum(options?: {
    readonly force?: boolean;
    readonly signal?: AbortSignal | undefined;
  }): Promise<void> {
    this.#check();
    options?.signal?.throwIfAborted();
    if (options?.force !== true && !isWorthVacuum(this.#log)) return;
    this.#log.check();
    this.#vacuuming ??= this.#vacuum(options?.signal).finally(() => {
      this.#vacuuming = undefined;
    });
    await this.#vacuuming;
  }

  async exclusively(work: () => Promise<void>): Promise<boolean> {
    this.#check();
    if (this.#rewriting) return false;
    this.#rewriting = true;
    try {
      await work();
      return true;
    } finally {
      this.#rewriting = false;
    }
  }

  listen(listener: (event: JournalEvent) => void): () => void {
    const own = (event: JournalEvent): void => listener(event);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close(true);
    return this.#closing;
  }

  /** The database is about to be removed, or was: closes without regard for what is in it, and tells the listeners. */
  async abandon(event: JournalEvent = { type: 'destroyed' }): Promise<void> {
    for (const listener of this.#listeners) {
      inMicrotask(() => {
        if (this.#listeners.has(listener)) listener(event);
      });
    }
    this.#closing ??= this.#close(false);
    await this.#closing.catch(() => {});
  }

  async #close(keep: boolean): Promise<void> {
    this.#isClosed = true;
    await this.#vacuuming?.catch(() => {});
    await this.#lockName.settled();
    while (this.#writing !== undefined) await this.#writing;
    const log = this.#log;
    let [isSynced, isSound] = [!keep, false];
    try {
      if (!keep) return;
      if (log.isPoisoned) {
        // It syncs nothing more, and rejects unless the disk has everything.
        if (!this.#isTold) await log.sync();
        return;
      }
      await this.#sync(log);
      isSynced = true;
      log.look();
      await notePlaces(this.#files, this.#folder, log);
      isSound = true;
    } finally {
      await this.#blobFiles.close(isSound);
      await log.close().finally(async () => {
        if (isSynced) await this.#lock.release();
        else await this.#lock.forsake();
        this.#listeners.clear();
        this.#onClose();
      });
    }
  }

  /** Writes one record and waits as long as `durability` demands; not at all for a small record that need not be on the disk. */
  #write(parts: readonly Part[], durability: Durability): void | Promise<void> {
    const log = this.#log;
    const written = log.append(parts);
    if (written !== undefined) return this.#writeLarge(log, written, durability);
    if (durability === 'strict') return this.#syncWritten(log);
  }

  /** A manifest is in force when the disk has it, with everything that it names before it. Until then nobody may write. */
  async #install(parts: readonly Part[]): Promise<void> {
    const log = this.#log;
    await log.append(parts);
    await this.#syncWritten(log);
  }

  /** The log has the record: if it cannot be said that the disk has it, nobody may write on. */
  async #syncWritten(log: Log): Promise<void> {
    try {
      await this.#sync(log);
    } catch (error) {
      const failure = log.isPoisoned ? error : log.poison(error);
      // `quota_exceeded` would say that nothing was written, and that writing goes on when there is room.
      if (!isQuotaExceeded(failure)) throw failure;
      throw ioError(`${log.path}: there was no room to sync what was written`, failure);
    }
  }

  async #writeLarge(log: Log, written: Promise<void>, durability: Durability): Promise<void> {
    await this.#hold(written);
    if (durability === 'strict') await this.#syncWritten(log);
  }

  /** Content first: whatever the log names must be there when the log is. */
  async #sync(log: Log): Promise<void> {
    await this.#blobFiles.sync();
    await log.sync();
  }

  /**
   * What a writer must wait for: the lock's name on the disk, and earlier writers. To be called again after the wait, in the turn in
   * which the writer begins, since another may have begun first.
   */
  #ahead(): Promise<unknown> | undefined {
    this.#check();
    if (this.#lockName.isSynced) return this.#writing;
    this.#log.check();
    return this.#lockName.sync();
  }

  /** Holds the writer's place until `work` is done. */
  async #hold(work: Promise<unknown>): Promise<void> {
    const settled = work.catch(() => {});
    this.#writing = settled;
    try {
      await work;
    } finally {
      this.#writing = undefined;
    }
  }

  async #read(known?: Position): Promise<JournalState> {
    const log = this.#log;
    const { epoch, manifest, through } = log.contents;
    const current = known !== undefined && known.epoch === epoch;
    const places = log.contents.commitsAfter(current ? known.n : through);
    const leave = log.enter();
    try {
      const text = current || manifest === undefined ? undefined : textOf(await log.frames.frame(manifest));
      const commits: CommitRead[] = [];
      for (const place of places) {
        const frame = log.frames.frame(place);
        commits.push(commitOf('then' in frame ? await frame : frame));
      }
      return { epoch, manifest: text === undefined ? undefined : { text, through }, commits };
    } finally {
      leave();
    }
  }

  async #vacuum(signal: AbortSignal | undefined): Promise<void> {
    while (this.#writing !== undefined) await this.#writing; // blocks that are taken back are not copied
    const old = this.#log;
    const proceed = (): void => {
      this.#check();
      signal?.throwIfAborted();
    };
    const next = await Successor.begin(this.#files, this.#folder, old, proceed).catch((error) => {
      throw trouble(this.#folder, error);
    });
    try {
      await next.copyLive();
      await next.catchUp();
      await next.sync();
      while (this.#writing !== undefined) await this.#writing;
      await this.#hold(this.#switch(old, next));
    } catch (error) {
      next.abandon();
      if (error === signal?.reason) throw error;
      throw trouble(this.#folder, error);
    }
    // Readers that began before the switch still use the old log; closing waits for them.
    await old.close().catch(() => {});
    // A file that cannot be removed is removed when the database is opened again.
    await this.#files.unlinkLarge(old.path).catch(() => {});
  }

  async #switch(old: Log, next: Successor): Promise<void> {
    await next.copyRest();
    await this.#blobFiles.sync();
    old.check();
    this.#log = await next.finish();
    old.retire();
  }

  #check(): void {
    if (this.#isClosed) throw closed();
  }
}

function textIn(frame: Bytes, place: Place): string {
  return place.isTail ? commitOf(frame).tail : textOf(frame);
}
