/**
 * One open log file: appends records, and syncs. All or nothing: what failed half way is cut off again.
 *
 * After a failed sync nobody knows what the disk has, and a second sync would lie (the system drops what it could not
 * write): the log is poisoned and takes nothing more. It must be opened again, which reads what is there.
 */
import { type DatabaseError, ioError } from '@settledb/core';
import type { Contents } from './contents';
import type { FileState, Files } from './files';
import { KIND_BLOCK, KIND_REWRITE, meaningOfPart, type Part } from './frame';
import { FrameReader } from './frame-reader';
import type { LogHeader } from './header';
import type { Lock } from './lock';
import { type Encoded, RecordEncoder } from './record-encoder';
import { isFull, notThere, trouble } from './trouble';
import { writeAnew, writeFully, writeFullySync } from './window';

/** ms between two checks that the file is still there, unless a sync checks. A check costs 8 µs, a small append 5. */
export const LOOK_MS = 100;

type LogLock = Pick<Lock, 'isHeld'>;

export class Log {
  readonly path: string;
  readonly lock: LogLock;
  readonly header: LogHeader;
  readonly contents: Contents;
  readonly frames: FrameReader;
  readonly #files: Files;
  readonly #fd: number;
  readonly #encoder = new RecordEncoder();
  #end: number;
  /** Where the last record ends that has more than new blocks, and its number: what follows, nothing names. */
  #named: { readonly end: number; readonly sequence: number };
  #syncedTo: number;
  #notedTo = 0;
  /** What the last owner may not have brought to the disk. */
  #left: { readonly from: number; readonly to: number } | undefined;
  /** The last record known to be on the disk. */
  #syncedSequence = 0;
  #syncing: Promise<void> | undefined;
  /** For a manifest that was written, and may not be on the disk. */
  #putIntoForce: (() => void) | undefined;
  #lookedAt = 0;
  #failure: DatabaseError | undefined;
  #users = 0;
  #closing: (() => void) | undefined;

  /** `end`: where the next record goes. Everything before it is on the disk, unless {@link unsynced} says otherwise. */
  constructor(
    files: Files,
    fd: number,
    lock: LogLock,
    path: string,
    header: LogHeader,
    contents: Contents,
    end: number,
  ) {
    this.#files = files;
    this.#fd = fd;
    this.path = path;
    this.lock = lock;
    this.header = header;
    this.contents = contents;
    this.frames = new FrameReader({
      files,
      fd,
      path,
      header,
      enter: () => this.enter(),
      failureAt: (offset) => (offset < this.#syncedTo ? undefined : this.#failure),
    });
    this.#end = end;
    this.#named = { end, sequence: contents.sequence };
    this.#syncedTo = end;
  }

  /**
   * The last owner did not sync what is there from this byte on. Nor does a sync, if one of that owner failed, or one that the system made by
   * itself: some systems (Linux with ext4 or XFS) then take what they could not write for written. So the first sync writes it anew.
   */
  unsynced(from: number): void {
    this.#syncedTo = from;
    this.#left = { from, to: this.#end };
  }

  /** The present places of everything are those that were noted. */
  noted(): void {
    this.#notedTo = this.#end;
  }

  get isNoted(): boolean {
    return this.#notedTo === this.#end;
  }

  get end(): number {
    return this.#end;
  }

  get isPoisoned(): boolean {
    return this.#failure !== undefined;
  }

  /** Keeps the file open, whatever happens, until the returned function is called: for a reader of several frames. */
  enter(): () => void {
    this.#users++;
    return () => this.#leave();
  }

  /** @throws DatabaseError when an earlier write or sync failed for good */
  check(): void {
    if (this.#failure !== undefined) {
      const { reason } = this.#failure;
      throw ioError(`${this.path} takes no more writes until it is opened anew: ${reason}`, this.#failure);
    }
    // By the system clock, which may be set back: asking the other one takes as long as the checksum until V8 has optimised that.
    if (Math.abs(Date.now() - this.#lookedAt) >= LOOK_MS) this.look();
  }

  /** Allows no more writes: a later append could be lost together with what failed. */
  poison(error: unknown): DatabaseError {
    this.#failure ??= trouble(this.path, error);
    return this.#failure;
  }

  /**
   * Writes one record. A small one is done on return; for a large one it returns a promise. Only one may be running, and none while one
   * with a manifest waits for its sync.
   *
   * @throws DatabaseError `quota_exceeded` when there is no room: the log is as before; any other: the log is poisoned
   */
  append(parts: readonly Part[]): void | Promise<void> {
    if (!this.appendNow(parts)) return this.#appendLarge(parts);
  }

  /** As `append`, if that is done on return. @returns false if it is not: nothing was written */
  appendNow(parts: readonly Part[]): boolean {
    this.check();
    const { sequence } = this.contents;
    const record = this.#encoder.encode(parts, this.header, sequence + 1, this.#syncedSequence);
    if (record === undefined) return false;
    try {
      writeFullySync(this.#files, this.#fd, record.bytes, this.#end);
    } catch (error) {
      throw this.#undo(error);
    }
    this.#take(record);
    return true;
  }

  async #appendLarge(parts: readonly Part[]): Promise<void> {
    this.#take(await this.#writePieces(parts));
  }

  /** Each piece is encoded while the one before it is being written. */
  async #writePieces(parts: readonly Part[]): Promise<Encoded> {
    const sequence = this.contents.sequence + 1;
    const pieces = this.#encoder.pieces(parts, this.header, sequence, this.#syncedSequence);
    let writing = Promise.resolve(this.#end);
    let isWritten = false;
    try {
      for (;;) {
        isWritten = false;
        const piece = pieces.next();
        isWritten = true;
        const at = await writing;
        if (piece.done) return piece.value;
        writing = writeFully(this.#files, this.#fd, piece.value, at);
      }
    } catch (error) {
      // Nothing may still be written after the cut.
      await writing.catch(() => {
        isWritten = true;
      });
      throw isWritten ? this.#undo(error) : this.#cut(error);
    }
  }

  /** Whether these are all blocks after the last record that has more than new blocks, so that they can be {@link takeBack taken back}. */
  areLast(ids: readonly number[]): boolean {
    const { end, sequence } = this.#named;
    // One that says of the record before it that it had been on the disk would prove that it is damaged, once another took its place.
    if (this.#end === end || this.#syncedSequence > sequence) return false;
    const { blocks } = this.contents;
    if (ids.some((id) => (blocks.get(id)?.offset ?? end) < end)) return false;
    const taken = new Set(ids);
    for (const [id, { offset }] of blocks) if (offset >= end && !taken.has(id)) return false;
    return true;
  }

  /**
   * Cuts off blocks that {@link areLast}: dropped, they would keep their room until a vacuum, for which a full disk has none. Resolves when
   * that is on the disk: before, nothing may be written, or what is left of them there could be taken for what follows damage.
   */
  async takeBack(ids: readonly number[]): Promise<void> {
    this.check();
    while (this.#syncing !== undefined) await this.#syncing; // it would count for what is written to the same place
    const { end, sequence } = this.#named;
    this.#try(() => this.#files.truncate(this.#fd, end));
    for (const id of ids) this.contents.blocks.delete(id);
    this.contents.sequence = sequence;
    this.#end = end;
    this.#syncedTo = Math.min(this.#syncedTo, end);
    this.#syncedSequence = Math.min(this.#syncedSequence, sequence);
    this.#notedTo = 0;
    this.#syncing = this.#runSync();
    await this.#syncing;
  }

  /** Resolves when everything appended before is on the disk, and its manifest is in force. One sync serves all who wait for it. */
  async sync(): Promise<void> {
    const end = this.#end;
    // What is taken back meanwhile is waited for no more.
    while (this.#syncedTo < Math.min(end, this.#end)) {
      this.check();
      this.#syncing ??= this.#runSync();
      await this.#syncing;
    }
  }

  /** Everything in this log is on the disk in another file: calls that wait for a sync may go on. */
  retire(): void {
    this.#syncedTo = Number.POSITIVE_INFINITY;
  }

  /** @throws DatabaseError when what is written goes where nobody finds it, or others may write here, or did */
  look(): void {
    this.#lookedAt = Date.now();
    const isThere = this.#try(() => this.#files.isAt(this.#fd, this.path));
    if (!isThere) throw this.poison(notThere(this.path));
    if (this.state().size < this.#end)
      throw this.poison(ioError(`${this.path} was cut by another program while it was open`));
    if (!this.lock.isHeld())
      throw this.poison(
        ioError(`${this.path} may be open elsewhere: the lock was taken away while it was open`),
      );
  }

  state(): FileState {
    return this.#try(() => this.#files.stat(this.#fd));
  }

  /** Waits for running reads and syncs. */
  async close(): Promise<void> {
    if (this.#users > 0) await new Promise<void>((resolve) => (this.#closing = resolve));
    this.#try(() => this.#files.close(this.#fd));
  }

  #take({ parts, sizes }: Encoded): void {
    const sequence = this.contents.sequence + 1;
    const areNew = this.#areNewBlocks(parts);
    for (let i = 0; i < parts.length; i++) {
      const header = { bytes: sizes[i]!, sequence };
      const meaning = meaningOfPart(parts[i]!);
      const at = this.#end;
      if (meaning.kind === KIND_REWRITE && meaning.hasManifest) {
        // If the sync fails, what it names may be lost, and what it drops is still there.
        this.contents.sequence = sequence;
        this.#putIntoForce = () => this.contents.apply(header, meaning, at);
      } else this.contents.apply(header, meaning, at);
      this.#end += header.bytes;
    }
    if (!areNew) this.#named = { end: this.#end, sequence };
  }

  /** Whether without them everything would be as before. */
  #areNewBlocks(parts: readonly Part[]): boolean {
    const mark = parts.at(-1)!;
    if (mark.kind !== KIND_REWRITE || mark.change.manifest !== undefined || mark.change.drop !== undefined)
      return false;
    const { blocks } = this.contents;
    return parts.every((part) => part.kind !== KIND_BLOCK || blocks.get(part.block.id) === undefined);
  }

  /** After a failed write. If the disk itself fails, no more writes are allowed. */
  #undo(error: unknown): DatabaseError {
    this.#cut(error);
    if (!isFull(error)) this.poison(error);
    return trouble(this.path, error);
  }

  /** Cuts back to the last good end. If that fails, no more writes are allowed. */
  #cut(error: unknown): unknown {
    try {
      this.#files.truncate(this.#fd, this.#end);
    } catch {
      this.poison(error);
    }
    return error;
  }

  async #runSync(): Promise<void> {
    const end = this.#end;
    const { sequence } = this.contents;
    const putIntoForce = this.#putIntoForce;
    this.#users++;
    try {
      if (this.#left !== undefined) await writeAnew(this.#files, this.#fd, this.#left.from, this.#left.to);
      this.#left = undefined;
      await this.#files.sync(this.#fd);
      this.look();
      this.#syncedSequence = sequence;
      this.#syncedTo = Math.max(this.#syncedTo, end);
      putIntoForce?.();
      if (putIntoForce !== undefined) this.#putIntoForce = undefined;
    } catch (error) {
      throw this.poison(error);
    } finally {
      this.#syncing = undefined;
      this.#leave();
    }
  }

  #leave(): void {
    this.#users--;
    if (this.#users === 0) this.#closing?.();
  }

  #try<T>(call: () => T): T {
    try {
      return call();
    } catch (error) {
      throw trouble(this.path, error);
    }
  }
}
