/**
 * Reads frames of a log, and parts of the long ones, checking each: whatever it answers is what was written.
 */
import { corrupt, type DatabaseError, ioError } from '@settledb/core';
import type { Place } from './contents';
import type { Reads } from './files';
import { headerAt, isSound } from './frame';
import { FRAME_HEADER_BYTES } from './frame-layout';
import { type LogHeader, SUMS_VERSION } from './header';
import { Bytes } from './platform';
import { carriedSums, carriesSums, framePart, pieceOf, type Sums, sumsBytes, sumsOf } from './sums';
import { trouble } from './trouble';
import { readFully, readFullySync } from './window';

/** Segments are up to 128 KB; from the system's cache they are read in less time than a promise takes. */
const SYNC_READ_BYTES = 256 * 1024;

/** Shorter blocks are read whole even if a part would do: the part would be half of them. */
const PARTS_FROM = 8 * 1024;

/** The open file that frames are read from. */
interface FrameFile {
  readonly files: Reads;
  readonly fd: number;
  readonly path: string;
  readonly header: LogHeader;
  /** Keeps the file open until the returned function is called. */
  readonly enter: () => () => void;
  /** Why the disk may not have what was written at this byte, if a write or a sync failed. */
  readonly failureAt?: (offset: number) => DatabaseError | undefined;
}

export class FrameReader {
  readonly #file: FrameFile;
  /** Made at the first read. Its bytes become text at once: a buffer for each page would burden the collector more than the rows. */
  #scratch: Bytes | undefined;

  constructor(file: FrameFile) {
    this.#file = file;
  }

  /**
   * The frame at `place`, checked.
   *
   * @throws DatabaseError `corrupt` when it is not what was written; `io` when a failed sync lost it
   */
  frame(place: Place): Bytes | Promise<Bytes> {
    const room = Bytes.allocUnsafe(place.bytes);
    if (place.bytes > SYNC_READ_BYTES) return this.#frameLater(room, place);
    return this.#sound(this.#readNow(place.offset, room), place);
  }

  /** As {@link frame}, valid until the next read; `undefined` if the frame is too long to be read at once. */
  frameNow(place: Place): Bytes | undefined {
    if (place.bytes > SYNC_READ_BYTES) return undefined;
    return this.#sound(this.#readNow(place.offset, this.#room(place.bytes)), place);
  }

  /** Whether a {@link part} of the block is read without the rest, or the rest can be read at once. */
  hasParts(place: Place): boolean {
    return place.sums !== undefined || this.#carriesSums(place) || place.bytes <= SYNC_READ_BYTES;
  }

  /**
   * A part of the text of the block at `place`, which {@link hasParts}, without reading the rest; except at the first part of a block
   * that carries no sums and was not read yet. The part is checked as well as the whole would be.
   *
   * @param at in characters, as is `length`; together no more than there are
   * @throws DatabaseError `corrupt` when it is not what was written; `io` when a failed sync lost it
   */
  part(place: Place, at: number, length: number): string {
    place.sums ??= this.#carriesSums(place)
      ? this.#carriedSums(place)
      : sumsOf(this.frameNow(place)!, this.#file.header.salt);
    return this.#partBy(place.sums, place, at, length);
  }

  /**
   * Calls `work` with a reader of parts of the text of the block at `place`; `undefined` for a short block. A part at the beginning,
   * and the first part of all, reads the frame in one system call, which costs less than two, and checks only that part if the block
   * carries sums.
   */
  readIn<R>(place: Place, work: (part: (at: number, length: number) => string) => R): R | undefined {
    if (place.isTail || place.bytes < PARTS_FROM || place.bytes > SYNC_READ_BYTES) return undefined;
    let frame: Bytes | undefined;
    return work((at, length) => {
      if (at > 0 && frame === undefined && place.sums !== undefined)
        return this.#partBy(place.sums, place, at, length);
      frame ??= this.#readNow(place.offset, this.#room(place.bytes));
      place.sums ??= this.#carriesSums(place)
        ? this.#sumsIn(frame.subarray(frame.length - this.#sumsBytes(place)), place)
        : sumsOf(this.#sound(frame, place), this.#file.header.salt);
      return this.#partBy(place.sums, place, at, length, frame);
    });
  }

  /** The frames from byte `from` to byte `until`, where a frame ends, one by one. Later appends are not waited for. */
  async *framesFrom(from: number, until: number): AsyncGenerator<Bytes> {
    for (let offset = from; offset < until; ) {
      const start = this.#readNow(offset, this.#room(FRAME_HEADER_BYTES));
      const bytes = headerAt(start, this.#file.header.salt)?.bytes;
      if (bytes === undefined) throw this.#damaged(offset);
      yield await this.frame({ offset, bytes, isTail: false });
      offset += bytes;
    }
  }

  #carriesSums({ isTail, bytes }: Place): boolean {
    return this.#file.header.version >= SUMS_VERSION && !isTail && carriesSums(bytes);
  }

  #sumsBytes({ bytes }: Place): number {
    return sumsBytes(bytes, pieceOf(this.#file.header.version));
  }

  #carriedSums(place: Place): Sums {
    const room = this.#room(this.#sumsBytes(place));
    return this.#sumsIn(this.#readNow(place.offset + place.bytes - room.length, room), place);
  }

  #sumsIn(data: Bytes, { offset, bytes }: Place): Sums {
    const { salt, version } = this.#file.header;
    const sums = carriedSums(data, bytes, salt, pieceOf(version));
    if (sums === undefined) throw this.#damaged(offset);
    return sums;
  }

  /** @param frame if it was read */
  #partBy(sums: Sums, place: Place, at: number, length: number, frame?: Bytes): string {
    const { from, to, text: textOf } = framePart(sums, this.#file.header.salt, at, length);
    const data = frame?.subarray(from, to) ?? this.#readNow(place.offset + from, this.#room(to - from));
    const text = textOf(data);
    if (text === undefined) throw this.#damaged(place.offset);
    return text;
  }

  #room(bytes: number): Bytes {
    if (bytes > SYNC_READ_BYTES) return Bytes.allocUnsafe(bytes);
    this.#scratch ??= Bytes.allocUnsafeSlow(SYNC_READ_BYTES);
    return this.#scratch.subarray(0, bytes);
  }

  /** Fills `data`, in this turn of the event loop; with zeroes where the file has fewer bytes, which the checksum then reveals. */
  #readNow(offset: number, data: Bytes): Bytes {
    const { files, fd, path } = this.#file;
    try {
      const done = readFullySync(files, fd, data, offset);
      return done < data.length ? data.fill(0, done) : data;
    } catch (error) {
      throw trouble(path, error);
    }
  }

  async #frameLater(room: Bytes, place: Place): Promise<Bytes> {
    const { files, fd, path, enter } = this.#file;
    const leave = enter();
    try {
      const length = await readFully(files, fd, room, place.offset);
      return this.#sound(room.subarray(0, length), place);
    } catch (error) {
      throw trouble(path, error);
    } finally {
      leave();
    }
  }

  #sound(frame: Bytes, place: Place): Bytes {
    if (!isSound(frame, this.#file.header.salt)) throw this.#damaged(place.offset);
    return frame;
  }

  #damaged(offset: number): DatabaseError {
    const { path, failureAt } = this.#file;
    const failure = failureAt?.(offset);
    if (failure !== undefined)
      return ioError(`${path}: what was written at byte ${offset} is lost: ${failure.reason}`, failure);
    return corrupt(`${path}: damaged at byte ${offset}: this is not what was written there`);
  }
}
