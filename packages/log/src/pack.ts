/**
 * One pack: a file shared by many small contents. Making a file costs 0.1 to 0.3 ms, and opening one half of that, whatever is in it
 * (decisions/0008).
 *
 *   settpack │ slot 0: offset u32 · length u32 · crc u32 · mark 8 bytes · check u32 │ slot 1 │ … │ slot 511 │ bytes …
 *
 * The bytes are written first, and then the slot that says where they are, which has its own checksum. So tearing or damage affects
 * one content and harms no other. The mark is part of the place's name: a slot that a loss of power emptied may be taken again, and is
 * then not what the old name means.
 */
import { corrupt } from '@settledb/core';
import { closeQuietly, type Files } from './files';
import { LOOK_MS } from './log';
import { Bytes, crc32 } from './platform';
import { notThere } from './trouble';
import { readFullySync, writeFullySync } from './window';

const MAGIC = Bytes.from('settpack', 'latin1');
/** The table is read whole when a pack is opened: 12 KB beside, for instance, 512 contents of 10 KB. */
export const SLOTS = 512;
const MARK_AT = 12;
const CHECK_AT = 20;
const SLOT_BYTES = 24;
const DATA_AT = MAGIC.length + SLOTS * SLOT_BYTES;
/** Stands in place of the offset: something was here, and is gone. */
const GONE = 0xffffffff;
/** Small contents are gathered to about this much per call. Linux takes four times as long per byte for calls of more than 100 KB. */
const RUN_BYTES = 64 * 1024;

/** A place within a pack. */
export interface Slot {
  readonly slot: number;
  /** 16 hexadecimal digits. */
  readonly mark: string;
}

interface SlotChunk extends Slot {
  readonly bytes: Uint8Array;
}

export class Pack {
  readonly path: string;
  /** Running calls that need it open. */
  users = 0;
  /** Writes since it was opened: compared by callers that prepared something meanwhile. */
  changes = 0;
  readonly #files: Files;
  readonly #table = Bytes.alloc(SLOTS * SLOT_BYTES);
  readonly #fd: number;
  #end: number;
  #lookedAt = 0;

  static async make(files: Files, path: string): Promise<Pack> {
    return new Pack(files, path, await files.make(path), true);
  }

  /** Fails with `ENOENT` if there is none. */
  static open(files: Files, path: string): Pack {
    return new Pack(files, path, files.open(path, 'r+'), false);
  }

  private constructor(files: Files, path: string, fd: number, isNew: boolean) {
    this.#files = files;
    this.path = path;
    this.#fd = fd;
    try {
      if (isNew) this.#write(MAGIC, 0);
      else this.#read(this.#table, MAGIC.length);
      this.#end = Math.max(DATA_AT, files.stat(this.#fd).size);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Where the next bytes go. */
  get end(): number {
    return this.#end;
  }

  /** The first slot after all those that are, or were, taken. */
  get next(): number {
    let slot = SLOTS;
    while (slot > 0 && this.#isBlank(slot - 1)) slot--;
    return slot;
  }

  /** Slots that hold anything, even if it is damaged. */
  taken(): Slot[] {
    const slots: Slot[] = [];
    for (let slot = 0; slot < SLOTS; slot++)
      if (this.#isTaken(slot)) slots.push({ slot, mark: this.#mark(slot) });
    return slots;
  }

  /** Whether more than half of the bytes belong to nothing. */
  get isMostlyGone(): boolean {
    let live = 0;
    for (const { slot } of this.taken()) if (this.#isSound(slot)) live += this.#field(slot, 1);
    return this.#end - DATA_AT > 2 * live;
  }

  /** Puts all, or none; those put by an earlier attempt stay. The system then has them, but perhaps not the disk. */
  put(chunks: readonly SlotChunk[]): void {
    const fresh = chunks.filter(({ slot }) => !this.#isTaken(slot));
    if (fresh.length === 0) return;
    if (Math.abs(Date.now() - this.#lookedAt) >= LOOK_MS) this.#look();
    this.changes++;
    const end = this.#append(fresh.map(({ bytes }) => bytes));
    let at = this.#end;
    for (const chunk of fresh) {
      this.#set(chunk, at);
      at += chunk.bytes.length;
    }
    try {
      this.#writeSlots(fresh.map(({ slot }) => slot));
    } catch (error) {
      for (const { slot } of fresh) this.#clear(slot);
      throw error;
    }
    this.#end = end;
  }

  /** @throws DatabaseError `corrupt` when the bytes are not those that were put there */
  get({ slot, mark }: Slot): Bytes | undefined {
    if (!this.#isTaken(slot)) return undefined;
    if (!this.#isSound(slot)) throw this.#damaged(MAGIC.length + slot * SLOT_BYTES);
    if (this.#mark(slot) !== mark) return undefined;
    const [offset, length, crc] = [this.#field(slot, 0), this.#field(slot, 1), this.#field(slot, 2)];
    const bytes = Bytes.allocUnsafe(length);
    if (this.#read(bytes, offset) < length || crc32(bytes) !== crc) throw this.#damaged(offset);
    return bytes;
  }

  /** The bytes stay until the pack is rewritten. */
  remove(slots: readonly Slot[]): void {
    const there = slots.filter(({ slot, mark }) => this.#isTaken(slot) && this.#mark(slot) === mark);
    if (there.length === 0) return;
    this.changes++;
    for (const { slot } of there) {
      this.#clear(slot);
      this.#table.writeUInt32LE(GONE, slot * SLOT_BYTES);
    }
    this.#writeSlots(there.map(({ slot }) => slot));
  }

  async sync(): Promise<void> {
    await this.#files.sync(this.#fd);
    this.#look();
  }

  /** Writes what is left, damaged or not, to another file, and brings it to the disk. */
  async copyTo(path: string): Promise<void> {
    const fd = await this.#files.make(path);
    try {
      const table = Bytes.from(this.#table);
      let at = DATA_AT;
      for (const { slot } of this.taken()) {
        if (!this.#isSound(slot)) continue;
        const bytes = Bytes.alloc(this.#field(slot, 1));
        this.#read(bytes, this.#field(slot, 0));
        writeFullySync(this.#files, fd, bytes, at);
        table.writeUInt32LE(at, slot * SLOT_BYTES);
        table.writeUInt32LE(check(table, slot), slot * SLOT_BYTES + CHECK_AT);
        at += bytes.length;
      }
      writeFullySync(this.#files, fd, Bytes.concat([MAGIC, table]), 0);
      await this.#files.sync(fd);
    } finally {
      this.#files.close(fd);
    }
  }

  close(): void {
    closeQuietly(this.#files, this.#fd);
  }

  /** @throws DatabaseError when what is put would go where nobody finds it */
  #look(): void {
    this.#lookedAt = Date.now();
    if (!this.#files.isAt(this.#fd, this.path)) throw notThere(this.path);
  }

  /** @returns where they end */
  #append(all: readonly Uint8Array[]): number {
    let at = this.#end;
    let run: Uint8Array[] = [];
    let runBytes = 0;
    try {
      for (const [i, bytes] of all.entries()) {
        run.push(bytes);
        runBytes += bytes.length;
        if (runBytes < RUN_BYTES && i < all.length - 1) continue;
        this.#write(run.length === 1 ? run[0]! : Bytes.concat(run), at);
        at += runBytes;
        run = [];
        runBytes = 0;
      }
    } catch (error) {
      this.#giveBack();
      throw error;
    }
    return at;
  }

  /** A full disk needs the room back. */
  #giveBack(): void {
    try {
      this.#files.truncate(this.#fd, this.#end);
    } catch {
      // The next bytes overwrite these. The caller is told of the earlier failure.
    }
  }

  #writeSlots(slots: readonly number[]): void {
    const [first, last] = [Math.min(...slots), Math.max(...slots)];
    this.#write(
      this.#table.subarray(first * SLOT_BYTES, (last + 1) * SLOT_BYTES),
      MAGIC.length + first * SLOT_BYTES,
    );
  }

  #set({ slot, mark, bytes }: SlotChunk, offset: number): void {
    const at = slot * SLOT_BYTES;
    this.#table.writeUInt32LE(offset, at);
    this.#table.writeUInt32LE(bytes.length, at + 4);
    this.#table.writeUInt32LE(crc32(bytes), at + 8);
    this.#table.write(mark, at + MARK_AT, 'hex');
    this.#table.writeUInt32LE(check(this.#table, slot), at + CHECK_AT);
  }

  #clear(slot: number): void {
    this.#table.fill(0, slot * SLOT_BYTES, (slot + 1) * SLOT_BYTES);
  }

  #field(slot: number, field: number): number {
    return this.#table.readUInt32LE(slot * SLOT_BYTES + field * 4);
  }

  #mark(slot: number): string {
    return this.#table.toString('hex', slot * SLOT_BYTES + MARK_AT, slot * SLOT_BYTES + CHECK_AT);
  }

  #isTaken(slot: number): boolean {
    return this.#field(slot, 0) !== GONE && !this.#isBlank(slot);
  }

  #isBlank(slot: number): boolean {
    for (let field = 0; field < SLOT_BYTES / 4; field++) if (this.#field(slot, field) !== 0) return false;
    return true;
  }

  #isSound(slot: number): boolean {
    return this.#table.readUInt32LE(slot * SLOT_BYTES + CHECK_AT) === check(this.#table, slot);
  }

  #damaged(at: number): Error {
    return corrupt(`${this.path}: damaged at byte ${at}: this is not what was written there`);
  }

  #write(data: Uint8Array, position: number): void {
    writeFullySync(this.#files, this.#fd, data, position);
  }

  /** @returns how many bytes there were */
  #read(data: Bytes, position: number): number {
    return readFullySync(this.#files, this.#fd, data, position);
  }
}

/** Starts from the slot's number, so that another slot is never taken for this one. */
const check = (table: Bytes, slot: number): number =>
  crc32(table.subarray(slot * SLOT_BYTES, slot * SLOT_BYTES + CHECK_AT), slot + 1);
