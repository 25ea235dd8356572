/**
 * The packs of a database: which pack small contents go into, and when one is rewritten or removed.
 *
 * A place is the number of a pack, a slot in it and a mark (`7.12.0f1e2d3c4b5a6978`), assigned before the content is written: so
 * nothing in memory says where contents are, and moving them within their pack changes no row. Only the last pack takes more.
 */
import { closed } from '@settledb/core';
import type { PlacedChunk } from '@settledb/engine';
import { codeOf, type Files, join } from './files';
import { removeQuietly } from './folder';
import { Pack, SLOTS, type Slot } from './pack';
import { random } from './platform';
import { trouble } from './trouble';

/** Content up to this size goes into packs. A file costs as much more as digest, checksum and copies of this many bytes. */
export const PACKED_BYTES = 64 * 1024;
/** A pack of this size takes no more, so that little is rewritten for what is gone from it. */
const PACK_BYTES = 8 * 1024 * 1024;
/** Packs open at a time: each takes a descriptor and 12 KB. */
const OPEN_MAX = 32;

const NAME = /^pack\.(\d{1,15})(\.tmp)?$/;
const PLACE = /^(\d{1,15})\.(\d{1,3})\.([0-9a-f]{16})$/;

/** True for the files made here. */
export const isPackFile = (name: string): boolean => NAME.test(name);

/** True for a place in a pack. */
export const isPacked = (place: string): boolean => PLACE.test(place);

/** The pack that takes new contents, and what is promised in it. */
interface Current {
  readonly pack: number;
  slot: number;
  bytes: number;
}

export class Packs {
  readonly #files: Files;
  readonly #folder: string;
  /** The least recently used comes first. */
  readonly #open = new Map<number, Pack>();
  readonly #making = new Map<number, Promise<void>>();
  /** Packs with content that may not be on the disk. */
  #unsynced = new Set<number>();
  /** Whether names came or went since the folder was synced. */
  #renamed = false;
  #syncing: Promise<void> | undefined;
  /** Packs that may have little left, or nothing. */
  readonly #untidy = new Set<number>();
  #tidying: Promise<void> | undefined;
  #current: Current | undefined;
  #isClosed = false;
  /** Part of the places assigned here: no other opening of the database assigns the same. */
  readonly #mark = random(8).toString('hex');

  /** @param leftOpen the last owner did not sync what is there */
  constructor(files: Files, folder: string, leftOpen: boolean) {
    this.#files = files;
    this.#folder = folder;
    if (!leftOpen) return;
    this.#unsynced = new Set(this.#numbers());
    this.#renamed = this.#unsynced.size > 0;
  }

  /** A new place for a content of this many bytes. Whether it is ever put there does not matter. */
  reserve(bytes: number): string {
    let current = this.#current ?? this.#last();
    if (current.slot >= SLOTS || (current.slot > 0 && current.bytes + bytes > PACK_BYTES)) {
      this.#untidy.add(current.pack);
      current = { pack: current.pack + 1, slot: 0, bytes: 0 };
    }
    this.#current = current;
    current.bytes += bytes;
    return `${current.pack}.${current.slot++}.${this.#mark}`;
  }

  /** Puts all or none, if they are of one pack. The system then has them, but perhaps not the disk. */
  async put(contents: readonly PlacedChunk[]): Promise<void> {
    const chunks = contents.map(({ place, bytes }) => ({ ...slotOf(place), bytes }));
    for (const [number, each] of byPack(chunks)) {
      try {
        let pack = this.#pack(number);
        // Asked for again once it is made: meanwhile others may have closed it, or taken it for one with nothing left.
        while (pack === undefined) {
          await this.#make(number);
          pack = this.#pack(number);
        }
        this.#unsynced.add(number);
        pack.put(each);
      } catch (error) {
        throw trouble(this.#path(number), error);
      }
    }
  }

  /** @throws DatabaseError `corrupt` when the bytes are not those that were put there */
  get(place: string): Uint8Array | undefined {
    const slot = slotOf(place);
    return this.#try(slot.pack, () => this.#pack(slot.pack)?.get(slot));
  }

  /** For a sweep, or a caller that gives content back: its rows are gone already, so failing to remove it is not an error. */
  async drop(places: readonly string[]): Promise<void> {
    for (const [number, slots] of byPack(places.map(slotOf))) {
      this.#untidy.add(number);
      try {
        this.#pack(number)?.remove(slots);
      } catch {
        // It only takes room, and the next sweep finds it again.
      }
    }
    await this.#tidyUp();
  }

  /** Places that hold anything, of packs that can be read. Also clears up what earlier openings and a killed rewrite left. */
  async places(): Promise<string[]> {
    if (this.#tidying === undefined) {
      for (const name of this.#names())
        if (NAME.exec(name)?.[2] !== undefined) removeQuietly(this.#files, join(this.#folder, name));
    }
    const numbers = this.#numbers();
    for (const number of numbers) this.#untidy.add(number);
    await this.#tidyUp();
    return numbers.flatMap((number) => {
      try {
        return (this.#pack(number)?.taken() ?? []).map(({ slot, mark }) => `${number}.${slot}.${mark}`);
      } catch {
        return []; // What cannot be read cannot be cleared up either; whoever asks for a content in it is told.
      }
    });
  }

  /** Whether the pack of `place` may not be on the disk as it is. */
  isUnsynced(place: string): boolean {
    return this.#unsynced.has(slotOf(place).pack);
  }

  /** Resolves when everything put before is on the disk. After a failure nobody knows what the disk has; a second sync would lie. */
  sync(): Promise<void> | undefined {
    if (this.#unsynced.size === 0 && !this.#renamed && this.#syncing === undefined) return undefined;
    const before = this.#syncing;
    const syncing = before === undefined ? this.#sync() : before.then(() => this.#sync());
    const settled = syncing
      .catch(() => {})
      .then(() => {
        if (this.#syncing === settled) this.#syncing = undefined;
      });
    this.#syncing = settled;
    return syncing;
  }

  /** @param tidy removes packs with nothing left: the database is closed, but not about to be removed */
  async close(tidy: boolean): Promise<void> {
    await this.#tidying;
    await this.#syncing;
    while (this.#making.size > 0) await Promise.allSettled(this.#making.values());
    if (tidy && this.#current !== undefined) this.#untidy.add(this.#current.pack);
    for (const number of tidy ? this.#untidy : []) {
      try {
        if (this.#pack(number)?.taken().length === 0) this.#remove(number);
      } catch {
        // It stays, empty, until the next compaction: closing has done what it must.
      }
    }
    this.#isClosed = true;
    for (const number of [...this.#open.keys()]) this.#close(number);
  }

  async #sync(): Promise<void> {
    for (const number of [...this.#unsynced]) {
      // What is put meanwhile waits for the next sync.
      this.#unsynced.delete(number);
      try {
        const pack = this.#try(number, () => this.#pack(number));
        if (pack !== undefined) await this.#using(pack, () => pack.sync());
      } catch (error) {
        this.#unsynced.add(number); // the sync may not have begun
        throw error;
      }
    }
    if (!this.#renamed) return;
    this.#renamed = false;
    try {
      await this.#files.syncFolder(this.#folder);
    } catch (error) {
      this.#renamed = true;
      throw error;
    }
  }

  /** Only one runs at a time; packs added meanwhile are handled by it. */
  async #tidyUp(): Promise<void> {
    this.#tidying ??= this.#tidyAll().finally(() => {
      this.#tidying = undefined;
    });
    await this.#tidying;
  }

  async #tidyAll(): Promise<void> {
    for (const number of this.#untidy) {
      if (number === this.#current?.pack) continue;
      this.#untidy.delete(number);
      await this.#tidy(number).catch(() => {});
    }
  }

  /** Removes a pack that has nothing left, and rewrites one that has little. */
  async #tidy(number: number): Promise<void> {
    const pack = this.#pack(number);
    if (pack === undefined || pack.users > 0) return;
    if (pack.taken().length === 0) this.#remove(number);
    else if (pack.isMostlyGone) await this.#using(pack, () => this.#rewrite(number, pack));
  }

  /** If it is killed, the old file or the new one remains, with the same contents. */
  async #rewrite(number: number, pack: Pack): Promise<void> {
    const temporary = `${pack.path}.tmp`;
    const { changes } = pack;
    try {
      await pack.copyTo(temporary);
      // Others had their turn meanwhile. A drop among them has made the pack untidy again.
      if (pack.changes !== changes || pack.users > 1) throw new Error('in use');
      this.#close(number);
      this.#files.rename(temporary, pack.path);
      this.#renamed = true;
    } catch (error) {
      removeQuietly(this.#files, temporary);
      throw error;
    }
  }

  async #using(pack: Pack, work: () => Promise<void>): Promise<void> {
    pack.users++;
    try {
      await work();
    } catch (error) {
      throw trouble(pack.path, error);
    } finally {
      pack.users--;
    }
  }

  #remove(number: number): void {
    this.#close(number);
    this.#unsynced.delete(number);
    removeQuietly(this.#files, this.#path(number));
  }

  #last(): Current {
    const pack = this.#numbers().reduce((most, each) => Math.max(most, each), 0);
    try {
      const { next: slot = 0, end: bytes = 0 } = this.#pack(pack) ?? {};
      return { pack, slot, bytes };
    } catch {
      return { pack: pack + 1, slot: 0, bytes: 0 };
    }
  }

  /** `undefined` if there is none. */
  #pack(number: number): Pack | undefined {
    const known = this.#open.get(number);
    if (known !== undefined) {
      this.#open.delete(number);
      this.#open.set(number, known);
      return known;
    }
    // It must not be opened a second time: its table is in memory.
    if (this.#making.has(number)) return undefined;
    // A write that the database was removed under: nobody would close what it opens.
    if (this.#isClosed) throw closed();
    try {
      return this.#keep(number, Pack.open(this.#files, this.#path(number)));
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** One that is being made is waited for. */
  async #make(number: number): Promise<void> {
    let making = this.#making.get(number);
    if (making === undefined) {
      this.#renamed = true;
      making = Pack.make(this.#files, this.#path(number))
        .then((pack) => void this.#keep(number, pack))
        .finally(() => this.#making.delete(number));
      this.#making.set(number, making);
    }
    await making;
  }

  #keep(number: number, pack: Pack): Pack {
    for (const [other, { users }] of this.#open) {
      if (this.#open.size < OPEN_MAX) break;
      if (users === 0) this.#close(other);
    }
    this.#open.set(number, pack);
    return pack;
  }

  #close(number: number): void {
    this.#open.get(number)?.close();
    this.#open.delete(number);
  }

  #numbers(): number[] {
    return this.#names().flatMap((name) => {
      const [, number, temporary] = NAME.exec(name) ?? [];
      return number === undefined || temporary !== undefined ? [] : [Number(number)];
    });
  }

  #names(): string[] {
    return this.#try(undefined, () => this.#files.list(this.#folder));
  }

  #path(number: number): string {
    return join(this.#folder, `pack.${number}`);
  }

  #try<T>(number: number | undefined, work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw trouble(number === undefined ? this.#folder : this.#path(number), error);
    }
  }
}

interface PackSlot extends Slot {
  readonly pack: number;
}

function slotOf(place: string): PackSlot {
  const [, pack, slot, mark = ''] = PLACE.exec(place) ?? [];
  return { pack: Number(pack), slot: Number(slot), mark };
}

function byPack<T extends PackSlot>(slots: readonly T[]): Map<number, T[]> {
  const packs = new Map<number, T[]>();
  for (const slot of slots) {
    const known = packs.get(slot.pack);
    if (known === undefined) packs.set(slot.pack, [slot]);
    else known.push(slot);
  }
  return packs;
}
