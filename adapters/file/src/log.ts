/**
 * One log file that is open: appends records, reads frames, syncs. All or nothing: what failed half way is cut off again.
 *
 * After a failed sync nobody knows what the disk has, and a second sync would lie (the system drops what it could not
 * write): the log is poisoned and takes nothing more. It must be opened anew, which reads what is there.
 */
import { corrupt, type DatabaseError, ioError } from '@settledb/core';
import type { Contents, Place } from './contents';
import type { FileState, Files } from './files';
import { headerAt, isSound, meaningOfPart, type Part } from './frame';
import { FRAME_HEADER_BYTES } from './frame-layout';
import { type LogHeader, SUMS_VERSION } from './header';
import { type Encoded, type EncodedSmall, RecordEncoder } from './record-encoder';
import { carriedSums, carriesSums, framePart, pieceOf, type Sums, sumsBytes, sumsOf } from './sums';
import { isFull, trouble } from './trouble';
import { readFully, writeFully } from './window';

/** Segments are up to 128 KB; from the system's cache they come in less time than a promise takes. */
const SYNC_READ_BYTES = 256 * 1024;

/** Shorter blocks are read whole where a part would do: it would be half of them. */
const PARTS_FROM = 8 * 1024;

/** ms between two looks whether the file is still there, where no sync asks. A look costs 2 µs, a small append 5. */
export const LOOK_MS = 100;

export class Log {
  readonly path: string;
  readonly header: LogHeader;
  readonly contents: Contents;
  readonly #files: Files;
  readonly #fd: number;
  readonly #encoder = new RecordEncoder();
  /** Made when something is read. What is read into it is made text at once: a buffer for each page weighs on the collector more than the rows do. */
  #scratch: Buffer | undefined;
  #end: number;
  #syncedTo: number;
  #notedTo = 0;
  /** The last record known to be on the disk. */
  #syncedSequence = 0;
  #syncing: Promise<void> | undefined;
  #lookedAt = 0;
  #failure: DatabaseError | undefined;
  #users = 0;
  #closing: (() => void) | undefined;

  /** `end`: where the next record goes. Everything before it is on the disk, unless {@link unsynced} says otherwise. */
  constructor(files: Files, fd: number, path: string, header: LogHeader, contents: Contents, end: number) {
    this.#files = files;
    this.#fd = fd;
    this.path = path;
    this.header = header;
    this.contents = contents;
    this.#end = end;
    this.#syncedTo = end;
  }

  /** What is there was written by one who did not sync it. */
  unsynced(): void {
    this.#syncedTo = 0;
  }

  /** Where everything lies is what was noted of it. */
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

  /** Keeps the file open, whatever happens, until the answer is called: for a reader of several frames. */
  enter(): () => void {
    this.#users++;
    return () => this.#leave();
  }

  /** @throws DatabaseError when an earlier write or sync failed for good */
  check(): void {
    if (this.#failure === undefined) return;
    const { reason } = this.#failure;
    throw ioError(`${this.path} takes no more writes until it is opened anew: ${reason}`, this.#failure);
  }

  /** Nothing more may be written: a later append could be lost with what failed. */
  poison(error: unknown): DatabaseError {
    this.#failure ??= trouble(this.path, error);
    return this.#failure;
  }

  /**
   * Writes one record. Done at once when it is small; a promise when it is large. Only one may be under way.
   *
   * @throws DatabaseError `quota_exceeded` when there is no room: the log is as before; any other: the log is poisoned
   */
  append(parts: readonly Part[]): void | Promise<void> {
    const record = this.#encode(parts);
    if (record === undefined) return this.#appendLarge(parts);
    this.#appendSmall(record);
  }

  /** As `append` where that is done at once. @returns false when it is not: nothing was written */
  appendNow(parts: readonly Part[]): boolean {
    const record = this.#encode(parts);
    if (record === undefined) return false;
    this.#appendSmall(record);
    return true;
  }

  #encode(parts: readonly Part[]): EncodedSmall | undefined {
    this.check();
    // By the clock, which may be put back: to ask for the other takes as long as the checksum until V8 has optimised that.
    if (Math.abs(Date.now() - this.#lookedAt) >= LOOK_MS) this.#look();
    const { sequence } = this.contents;
    return this.#encoder.encode(parts, this.header, sequence + 1, this.#syncedSequence);
  }

  #appendSmall(record: EncodedSmall): void {
    try {
      this.#writeNow(record.bytes, this.#end);
    } catch (error) {
      throw this.#undo(error);
    }
    this.#take(record);
  }

  async #appendLarge(parts: readonly Part[]): Promise<void> {
    this.#users++;
    try {
      this.#take(await this.#writePieces(parts));
    } finally {
      this.#leave();
    }
  }

  /** Each piece is encoded while the one before it is on its way to the file. */
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
      // Nothing may arrive behind what is cut off.
      await writing.catch(() => {
        isWritten = true;
      });
      throw isWritten ? this.#undo(error) : this.#cut(error);
    }
  }

  /** Resolves when everything appended before is on the disk. One sync serves all who wait for it. */
  async sync(): Promise<void> {
    const end = this.#end;
    while (this.#syncedTo < end) {
      this.check();
      this.#syncing ??= this.#runSync();
      await this.#syncing;
    }
  }

  /** Everything in here is on the disk in another file: whoever waits for a sync may go. */
  retire(): void {
    this.#syncedTo = Number.POSITIVE_INFINITY;
  }

  /**
   * The frame at `place`, checked.
   *
   * @param lent it is good until the next read, where it is no promise
   * @throws DatabaseError `corrupt` when it is not what was written
   */
  frame(place: Place, lent = false): Buffer | Promise<Buffer> {
    if (lent || place.bytes > SYNC_READ_BYTES)
      return this.frameNow(place) ?? this.#frameLater(Buffer.allocUnsafe(place.bytes), place);
    return this.#sound(this.#readNow(place.offset, Buffer.allocUnsafe(place.bytes)), place);
  }

  /** As {@link frame}, lent; `undefined` where it is so long that it is waited for. */
  frameNow(place: Place): Buffer | undefined {
    if (place.bytes > SYNC_READ_BYTES) return undefined;
    return this.#sound(this.#readNow(place.offset, this.#room(place.bytes)), place);
  }

  /** Whether a {@link part} of the block is read without the rest, or the rest at once. */
  hasParts(place: Place): boolean {
    return place.sums !== undefined || this.#carriesSums(place) || place.bytes <= SYNC_READ_BYTES;
  }

  /**
   * A part of the text of the block at `place`, which {@link hasParts}, without reading the rest; but for the first part of a block that
   * carries no sums and was not read yet. As well checked as the whole.
   *
   * @param at in characters, as `length`; no more than there is
   * @throws DatabaseError `corrupt` when it is not what was written
   */
  part(place: Place, at: number, length: number): string {
    place.sums ??= this.#carriesSums(place)
      ? this.#carriedSums(place)
      : sumsOf(this.frameNow(place)!, this.header.salt);
    return this.#partBy(place.sums, place, at, length);
  }

  /**
   * Calls `work` with a reader of parts of the text of the block at `place`; `undefined` for one that is short. Looks from its beginning, and
   * the first one of all, take the frame in one call of the system, which costs less than two, and check those parts alone, where it
   * carries sums.
   */
  readIn<R>(place: Place, work: (part: (at: number, length: number) => string) => R): R | undefined {
    if (place.isTail || place.bytes < PARTS_FROM || place.bytes > SYNC_READ_BYTES) return undefined;
    let frame: Buffer | undefined;
    return work((at, length) => {
      if (at > 0 && frame === undefined && place.sums !== undefined)
        return this.#partBy(place.sums, place, at, length);
      frame ??= this.#readNow(place.offset, this.#room(place.bytes));
      place.sums ??= this.#carriesSums(place)
        ? this.#sumsIn(frame.subarray(frame.length - this.#sumsBytes(place)), place)
        : sumsOf(this.#sound(frame, place), this.header.salt);
      const part = framePart(place.sums, this.header.salt, at, length);
      const text = part.text(frame.subarray(part.from, part.to));
      if (text === undefined) throw this.#damaged(place.offset);
      return text;
    });
  }

  #carriesSums({ isTail, bytes }: Place): boolean {
    return this.header.version >= SUMS_VERSION && !isTail && carriesSums(bytes);
  }

  #sumsBytes({ bytes }: Place): number {
    return sumsBytes(bytes, pieceOf(this.header.version));
  }

  #carriedSums(place: Place): Sums {
    const room = this.#room(this.#sumsBytes(place));
    return this.#sumsIn(this.#readNow(place.offset + place.bytes - room.length, room), place);
  }

  #sumsIn(data: Buffer, { offset, bytes }: Place): Sums {
    const { salt, version } = this.header;
    const sums = carriedSums(data, bytes, salt, pieceOf(version));
    if (sums === undefined) throw this.#damaged(offset);
    return sums;
  }

  #partBy(sums: Sums, place: Place, at: number, length: number): string {
    const part = framePart(sums, this.header.salt, at, length);
    const text = part.text(this.#readNow(place.offset + part.from, this.#room(part.to - part.from)));
    if (text === undefined) throw this.#damaged(place.offset);
    return text;
  }

  /** The frames from byte `from` to byte `until`, which a frame ends at, one by one. Later appends are not waited for. */
  async *framesFrom(from: number, until: number): AsyncGenerator<Buffer> {
    for (let offset = from; offset < until; ) {
      const start = this.#readNow(offset, this.#room(FRAME_HEADER_BYTES));
      const bytes = headerAt(start, this.header.salt)?.bytes;
      if (bytes === undefined) throw this.#damaged(offset);
      yield await this.frame({ offset, bytes, isTail: false });
      offset += bytes;
    }
  }

  /** False when somebody removed the file: what is written goes where nobody finds it. */
  get isThere(): boolean {
    return this.state().links > 0;
  }

  state(): FileState {
    return this.#try(() => this.#files.stat(this.#fd));
  }

  /** Waits for reads and syncs under way. */
  async close(): Promise<void> {
    if (this.#users > 0) await new Promise<void>((resolve) => (this.#closing = resolve));
    this.#try(() => this.#files.close(this.#fd));
  }

  /** @throws DatabaseError when somebody removed the file: what is written goes where nobody finds it */
  #look(): void {
    this.#lookedAt = Date.now();
    if (!this.isThere) throw this.poison(ioError(`${this.path} was removed while it was open`));
  }

  #take({ parts, sizes }: Encoded): void {
    const sequence = this.contents.sequence + 1;
    for (let i = 0; i < parts.length; i++) {
      const bytes = sizes[i]!;
      this.contents.apply({ bytes, sequence }, meaningOfPart(parts[i]!), this.#end);
      this.#end += bytes;
    }
  }

  #writeNow(bytes: Uint8Array, position: number): void {
    let done = 0;
    while (done < bytes.length) {
      const wrote = this.#files.writeSync(this.#fd, bytes, done, bytes.length - done, position + done);
      if (wrote === 0) throw new Error('the system wrote nothing');
      done += wrote;
    }
  }

  /** After a failed write. Where the disk itself fails, no more writes. */
  #undo(error: unknown): DatabaseError {
    this.#cut(error);
    if (!isFull(error)) this.poison(error);
    return trouble(this.path, error);
  }

  /** Back to the last good end. Where that fails, no more writes. */
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
    this.#users++;
    try {
      await this.#files.sync(this.#fd);
      this.#look();
      this.#syncedSequence = sequence;
      this.#syncedTo = Math.max(this.#syncedTo, end);
    } catch (error) {
      throw this.poison(error);
    } finally {
      this.#syncing = undefined;
      this.#leave();
    }
  }

  async #frameLater(data: Buffer, place: Place): Promise<Buffer> {
    return this.#sound(await this.#readInto(data, place.offset), place);
  }

  #room(bytes: number): Buffer {
    if (bytes > SYNC_READ_BYTES) return Buffer.allocUnsafe(bytes);
    this.#scratch ??= Buffer.allocUnsafeSlow(SYNC_READ_BYTES);
    return this.#scratch.subarray(0, bytes);
  }

  /** Fills `data`, in this turn of the event loop; with zeroes where the file has fewer bytes, for the checksum to find. */
  #readNow(offset: number, data: Buffer): Buffer {
    const bytes = data.length;
    let done = 0;
    while (done < bytes) {
      const got = this.#try(() => this.#files.readSync(this.#fd, data, done, bytes - done, offset + done));
      if (got === 0) break;
      done += got;
    }
    return done < bytes ? data.fill(0, done) : data;
  }

  async #readInto(data: Buffer, offset: number): Promise<Buffer> {
    this.#users++;
    try {
      const got = await readFully(this.#files, this.#fd, data, offset);
      if (got < data.length) throw this.#damaged(offset);
      return data;
    } catch (error) {
      throw trouble(this.path, error);
    } finally {
      this.#leave();
    }
  }

  #sound(frame: Buffer, place: Place): Buffer {
    if (!isSound(frame, this.header.salt)) throw this.#damaged(place.offset);
    return frame;
  }

  #damaged(offset: number): DatabaseError {
    return corrupt(`${this.path}: damaged at byte ${offset}: this is not what was written there`);
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
