/**
 * The names of a database's files, in a file of their own. Files of the private file system cannot be renamed while they are open, nor
 * is a new one known to be there after a loss of power. So each file has a number for good, and this file says which number has which
 * name: one small write makes, renames or removes all at once.
 *
 *   settopfs │ crc u32 · length u32 · serial f64 │ JSON        at byte 0, and the state before, or after, at COPY_BYTES
 *
 * Of two sound copies the one with the higher serial counts. The copy that is known to be on the disk is never written over.
 */
import { corrupt, uuid } from '@settledb/core';
import { Bytes, crc32, moved, movedAll } from '@settledb/log';
import { type SyncHandle, written } from './handles';

export const NAMES = 'names';
const MAGIC = 'settopfs';
const CRC_AT = 8;
const LENGTH_AT = 12;
const SERIAL_AT = 16;
const JSON_AT = 24;
/** Some 2,000 files: packs for a million small contents. */
const COPY_BYTES = 64 * 1024;

/** What a state says. */
interface State {
  /**
   * Part of the names under which the files are stored: no other database, made anew in this one's place, has the same. Databases of
   * the first builds have none.
   */
  readonly id?: string;
  /** Whether a context has, or had, the database open and did not say that it ended. */
  readonly open: boolean;
  /** The number of the next file. */
  readonly next: number;
  readonly names: Readonly<Record<string, number>>;
}

export class Names {
  /** Empty for a database of the first builds. */
  readonly id: string;
  /** By name. */
  readonly numbers: Map<string, number>;
  open: boolean;
  readonly #handle: SyncHandle;
  #next: number;
  #serial: number;
  /** Where the next state is written. */
  #at: number;
  /** Whether the state is on the disk; and if not, whether it was written whole. */
  #isFlushed = true;
  #isWritten = true;

  /**
   * @param path for errors
   * @throws DatabaseError `corrupt` when there was a state and neither copy is whole
   */
  static read(handle: SyncHandle, path: string): Names {
    const copies = [0, COPY_BYTES].map((at) => copyAt(handle, at)).filter((copy) => copy !== undefined);
    copies.sort((a, b) => b.serial - a.serial);
    const [newest] = copies;
    // A first state may be torn: nothing relies on it before it is on the disk, and then there is always one that is whole.
    if (newest === undefined && handle.getSize() > COPY_BYTES)
      throw corrupt(`${path}: damaged: neither copy of the files' names is what was written there`);
    // What an owner that did not end wrote last may not be on the disk, and its copy is the next but one to be written over. Written anew,
    // because a system that failed to bring it there may take it for written (`Log.unsynced`).
    if (newest?.state.open === true) {
      writeAt(handle, newest.at, newest.data);
      handle.flush();
    }
    return new Names(handle, newest);
  }

  private constructor(handle: SyncHandle, newest: Copy | undefined) {
    const state = newest?.state;
    this.#handle = handle;
    this.#serial = newest?.serial ?? 0;
    this.#at = newest?.at === 0 ? COPY_BYTES : 0;
    this.id = state === undefined ? uuid() : (state.id ?? '');
    this.#next = state?.next ?? 1;
    this.open = state?.open ?? false;
    this.numbers = new Map(Object.entries(state?.names ?? {}));
  }

  /** A number that no file has, or had. */
  newNumber(): number {
    return this.#next++;
  }

  /** Writes the state; `flush` brings it to the disk. If it fails, the next of either does it. */
  write(): void {
    this.#isFlushed = false;
    this.#isWritten = false;
    const { id, open } = this;
    const state: State = { id, open, next: this.#next, names: Object.fromEntries(this.numbers) };
    const text = JSON.stringify(state);
    if (JSON_AT + text.length > COPY_BYTES)
      throw Object.assign(new Error('EFBIG: the database has too many files'), { code: 'EFBIG' });
    const copy = Bytes.alloc(JSON_AT + text.length);
    copy.write(MAGIC, 0, 'latin1');
    copy.writeUInt32LE(text.length, LENGTH_AT);
    copy.writeDoubleLE(this.#serial + 1, SERIAL_AT);
    copy.write(text, JSON_AT, 'latin1');
    copy.writeUInt32LE(crc32(copy.subarray(LENGTH_AT)), CRC_AT);
    writeAt(this.#handle, this.#at, copy);
    this.#serial++;
    this.#isWritten = true;
  }

  flush(): void {
    if (this.#isFlushed) return;
    if (!this.#isWritten) this.write();
    this.#isWritten = false; // if it fails
    this.#handle.flush();
    this.#isWritten = true;
    this.#isFlushed = true;
    this.#at = COPY_BYTES - this.#at;
  }
}

interface Copy {
  readonly at: number;
  readonly serial: number;
  readonly state: State;
  /** As it is stored. */
  readonly data: Bytes;
}

const writeAt = (handle: SyncHandle, at: number, copy: Bytes): void =>
  movedAll(copy.length, (done) => written(handle, copy.subarray(done), at + done));

function copyAt(handle: SyncHandle, at: number): Copy | undefined {
  const room = Bytes.alloc(COPY_BYTES);
  const length = moved(COPY_BYTES, (done) => handle.read(room.subarray(done), { at: at + done }));
  const data = room.subarray(0, length);
  if (data.length < JSON_AT || data.toString('latin1', 0, CRC_AT) !== MAGIC) return undefined;
  const end = JSON_AT + data.readUInt32LE(LENGTH_AT);
  if (data.readUInt32LE(CRC_AT) !== crc32(data.subarray(LENGTH_AT, end))) return undefined;
  return {
    at,
    serial: data.readDoubleLE(SERIAL_AT),
    state: JSON.parse(data.toString('latin1', JSON_AT, end)) as State,
    data: data.subarray(0, end),
  };
}
