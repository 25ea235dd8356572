/**
 * Content of attachments, in the folder `log.blobs` beside the log: little ones in packs (pack.ts), else a file for each place.
 *
 *   settblob │ length u32 · crc u32 · bytes │ length · crc · bytes │ …      chunks of CHUNK_BYTES, the last one shorter
 *
 * The order of the disk: a file's bytes before the commit that names it, the commit that names it no more before the file goes.
 * So a loss of power leaves files that nobody names, and never a name without its file.
 */
import { join } from 'node:path';
import { CHUNK_BYTES, closed, corrupt, type Durability } from '@settledb/core';
import type { PlacedChunk } from '@settledb/engine';
import { crc32 } from './crc32';
import { closeQuietly, codeOf, type Files } from './files';
import { BLOBS, removeFolderIfEmpty, removeQuietly } from './folder';
import { isPacked, isPackFile, PACKED_BYTES, Packs } from './packs';
import { isOutOfFiles, trouble } from './trouble';
import { readFully, writeFully } from './window';

const MAGIC = Buffer.from('settblob');
const CHUNK_HEADER_BYTES = 8;
const PLACE = /^[0-9a-f]{32}$/;
/** Up to here a call that waits costs less than one that does not. */
const SYNC_BYTES = 128 * 1024;

const blobFolder = (folder: string): string => join(folder, BLOBS);

export class BlobFiles {
  readonly #files: Files;
  readonly #folder: string;
  /** Places whose bytes the system has, but maybe not the disk. */
  readonly #unsynced = new Set<string>();
  readonly #packs: Packs;
  /** The name of the folder, if it is there, is on the disk. */
  #isNamed: boolean;
  /** The folder, with its name on the disk. */
  #made: Promise<void> | undefined;
  #isClosed = false;
  readonly #lost: (error: unknown) => Error;

  /**
   * @param leftOpen what is there was written by one who did not sync it
   * @param lost told when content that was put before may be lost: nothing more may be relied upon. Answers what to throw
   */
  constructor(files: Files, folder: string, leftOpen: boolean, lost: (error: unknown) => Error) {
    this.#files = files;
    this.#lost = lost;
    this.#isNamed = !leftOpen;
    this.#folder = blobFolder(folder);
    this.#packs = new Packs(files, this.#folder, leftOpen);
    if (leftOpen) for (const place of this.#places()) this.#unsynced.add(place);
  }

  /** A place in a pack, where one chunk of so many bytes is to lie there. */
  reserve(bytes: number): string | undefined {
    return bytes > PACKED_BYTES ? undefined : this.#packs.reserve(bytes);
  }

  /** Puts contents of one chunk each. After an error some may be there. */
  async putAll(contents: readonly PlacedChunk[], durability: Durability): Promise<void> {
    const packed = contents.filter(({ place }) => isPacked(place));
    if (packed.length > 0) {
      await this.#make();
      this.#packs.put(packed);
      if (durability === 'strict') await this.#syncPacks();
    }
    for (const { place, bytes } of contents) if (!isPacked(place)) await this.put(place, [bytes], durability);
  }

  async put(
    place: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    durability: Durability,
  ): Promise<void> {
    if (isPacked(place)) {
      for await (const bytes of chunks) await this.putAll([{ place, bytes }], durability);
      return;
    }
    const path = join(this.#folder, place);
    await this.#make();
    const fd = this.#try(path, () => this.#files.open(path, 'w+'));
    try {
      let end = 0;
      let start: Buffer = MAGIC;
      for await (const chunk of chunks) {
        end = await this.#write(path, fd, framed(start, chunk), end);
        start = Buffer.alloc(0);
      }
      if (durability === 'strict') await this.#files.sync(fd);
      this.#files.close(fd);
    } catch (error) {
      closeQuietly(this.#files, fd);
      removeQuietly(this.#files, path);
      // What the chunks threw is not the disk's.
      throw codeOf(error) === undefined ? error : trouble(path, error);
    }
    if (durability === 'strict') await this.#synced(this.#folder, () => this.#files.syncFolder(this.#folder));
    else this.#unsynced.add(place);
  }

  /** @throws DatabaseError `corrupt` when the bytes are not those put there */
  async get(place: string, index: number): Promise<Uint8Array | undefined> {
    if (isPacked(place)) return index === 0 ? this.#packs.get(place) : undefined;
    const path = join(this.#folder, place);
    const at = MAGIC.length + index * (CHUNK_HEADER_BYTES + CHUNK_BYTES);
    let fd: number;
    try {
      fd = this.#files.open(path, 'r');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw trouble(path, error);
    }
    try {
      const room = Buffer.allocUnsafe(
        Math.max(0, Math.min(CHUNK_HEADER_BYTES + CHUNK_BYTES, this.#files.stat(fd).size - at)),
      );
      if ((await this.#read(fd, room, at)) < room.length || !isSound(room)) {
        throw corrupt(`${path}: damaged at byte ${at}: this is not what was written there`);
      }
      return room.subarray(CHUNK_HEADER_BYTES);
    } catch (error) {
      throw trouble(path, error);
    } finally {
      closeQuietly(this.#files, fd);
    }
  }

  /** What cannot be removed stays, and is found again by the next sweep. */
  async drop(places: readonly string[]): Promise<void> {
    const packed = places.filter(isPacked);
    if (packed.length > 0) await this.#packs.drop(packed);
    for (const place of places) {
      if (isPacked(place)) continue;
      this.#unsynced.delete(place);
      removeQuietly(this.#files, join(this.#folder, place));
    }
  }

  async places(): Promise<string[]> {
    return [...this.#places(), ...(await this.#packs.places())];
  }

  /** Resolves when everything put before is on the disk. To be called before the log is synced, which names it. */
  async sync(): Promise<void> {
    await this.#syncPacks();
    if (this.#unsynced.size === 0) return;
    const places = [...this.#unsynced];
    for (const place of places) {
      const path = join(this.#folder, place);
      if (this.#unsynced.has(place)) await this.#synced(path, () => this.#syncFile(path));
    }
    await this.#synced(this.#folder, () => this.#files.syncFolder(this.#folder));
    for (const place of places) this.#unsynced.delete(place);
  }

  /** @param keep the database is not about to be removed */
  close(keep: boolean): Promise<void> {
    this.#isClosed = true;
    return this.#packs.close(keep);
  }

  /** Removes every file made here, and the folder when that leaves it empty. */
  static remove(files: Files, folder: string): void {
    const blobs = blobFolder(folder);
    for (const name of files.list(blobs))
      if (PLACE.test(name) || isPackFile(name)) files.unlink(join(blobs, name));
    removeFolderIfEmpty(files, blobs);
  }

  #places(): string[] {
    return this.#try(this.#folder, () => this.#files.list(this.#folder)).filter((name) => PLACE.test(name));
  }

  async #syncPacks(): Promise<void> {
    const syncing = this.#packs.sync();
    if (syncing !== undefined) await this.#synced(this.#folder, () => syncing);
  }

  /** @throws DatabaseError `closed` when the folder may be gone meanwhile */
  async #make(): Promise<void> {
    this.#made ??= this.#makeFolder().catch((error) => {
      this.#made = undefined;
      throw error;
    });
    await this.#made;
    if (this.#isClosed) throw closed();
  }

  async #makeFolder(): Promise<void> {
    // Who made it may have been killed before its name was on the disk.
    if (this.#try(this.#folder, () => this.#files.makeFolder(this.#folder)) !== undefined)
      this.#isNamed = false;
    if (this.#isNamed) return;
    const parent = join(this.#folder, '..');
    await this.#synced(parent, () => this.#files.syncFolder(parent));
    this.#isNamed = true;
  }

  async #write(path: string, fd: number, data: Buffer, position: number): Promise<number> {
    if (data.length > SYNC_BYTES) return writeFully(this.#files, fd, data, position);
    let done = 0;
    while (done < data.length) {
      const wrote = this.#files.writeSync(fd, data, done, data.length - done, position + done);
      if (wrote === 0) throw trouble(path, new Error('the system wrote nothing'));
      done += wrote;
    }
    return position + done;
  }

  async #read(fd: number, room: Buffer, at: number): Promise<number> {
    if (room.length > SYNC_BYTES) return readFully(this.#files, fd, room, at);
    let done = 0;
    while (done < room.length) {
      const got = this.#files.readSync(fd, room, done, room.length - done, at + done);
      if (got === 0) break;
      done += got;
    }
    return done;
  }

  async #syncFile(path: string): Promise<void> {
    const fd = this.#files.open(path, 'r+');
    try {
      await this.#files.sync(fd);
    } finally {
      closeQuietly(this.#files, fd);
    }
  }

  /**
   * A sync of what others rely upon, too. Once it failed nobody knows what the disk has, and a second would lie; unless it was not begun,
   * as no more files may be open.
   */
  async #synced(path: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const failure = trouble(path, error);
      throw isOutOfFiles(error) ? failure : this.#lost(failure);
    }
  }

  #try<T>(path: string, work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw trouble(path, error);
    }
  }
}

function framed(start: Buffer, chunk: Uint8Array): Buffer {
  const header = Buffer.alloc(CHUNK_HEADER_BYTES);
  header.writeUInt32LE(chunk.length, 0);
  header.writeUInt32LE(crc32(chunk), 4);
  return Buffer.concat([start, header, chunk]);
}

function isSound(frame: Buffer): boolean {
  if (frame.length < CHUNK_HEADER_BYTES) return false;
  const bytes = frame.subarray(CHUNK_HEADER_BYTES, CHUNK_HEADER_BYTES + frame.readUInt32LE(0));
  return bytes.length === frame.length - CHUNK_HEADER_BYTES && crc32(bytes) === frame.readUInt32LE(4);
}
