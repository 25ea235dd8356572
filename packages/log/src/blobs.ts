/**
 * Content of attachments, in the folder `log.blobs` beside the log: small ones in packs (pack.ts), others in a file for each place.
 *
 *   settblob │ length u32 · crc u32 · bytes │ length · crc · bytes │ …      chunks of CHUNK_BYTES, the last one shorter
 *
 * The order on the disk: a file's bytes before the commit that names it; the commit that no longer names it before the file is
 * removed. So a loss of power may leave files that nobody names, but never a name without its file.
 */
import { CHUNK_BYTES, closed, corrupt, type DatabaseError, type Durability, ioError } from '@settledb/core';
import type { PlacedChunk } from '@settledb/engine';
import { closeQuietly, codeOf, type Files, join } from './files';
import { BLOBS, removeFolderIfEmpty, removeQuietly } from './folder';
import { isPacked, isPackFile, PACKED_BYTES, Packs } from './packs';
import { Bytes, crc32 } from './platform';
import { isOutOfFiles, trouble } from './trouble';
import { readFully, readFullySync, writeFully, writeFullySync } from './window';

const MAGIC = Bytes.from('settblob', 'latin1');
const CHUNK_HEADER_BYTES = 8;
const PLACE = /^[0-9a-f]{32}$/;
/** Up to this size a synchronous call costs less than an asynchronous one. */
const SYNC_BYTES = 128 * 1024;

const blobFolder = (folder: string): string => join(folder, BLOBS);

export class BlobFiles {
  readonly #files: Files;
  readonly #parent: string;
  readonly #folder: string;
  /** Places whose bytes the system has, but perhaps not the disk. */
  readonly #unsynced = new Set<string>();
  readonly #packs: Packs;
  /** Whether the folder's name, if the folder exists, is on the disk. */
  #isNamed: boolean;
  /** Resolves when the folder exists and its name is on the disk. */
  #made: Promise<void> | undefined;
  #isClosed = false;
  readonly #lost: (failure: DatabaseError) => DatabaseError;
  /** Of the sync that failed. */
  #failure: DatabaseError | undefined;

  /**
   * @param leftOpen the last owner did not sync what is there
   * @param lost told when content put before may be lost, so that nothing more may be relied upon. Answers the error to throw
   */
  constructor(
    files: Files,
    folder: string,
    leftOpen: boolean,
    lost: (failure: DatabaseError) => DatabaseError,
  ) {
    this.#files = files;
    this.#lost = lost;
    this.#isNamed = !leftOpen;
    this.#parent = folder;
    this.#folder = blobFolder(folder);
    this.#packs = new Packs(files, this.#folder, leftOpen);
    if (leftOpen) for (const place of this.#places()) this.#unsynced.add(place);
  }

  /** A place in a pack, if one chunk of this many bytes is to lie in a pack. */
  reserve(bytes: number): string | undefined {
    return bytes > PACKED_BYTES ? undefined : this.#packs.reserve(bytes);
  }

  /** Puts contents of one chunk each. After an error some of them may be there. */
  async putAll(contents: readonly PlacedChunk[], durability: Durability): Promise<void> {
    const packed = contents.filter(({ place }) => isPacked(place));
    if (packed.length > 0) {
      await this.#make();
      await this.#packs.put(packed);
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
    const fd = await this.#onDisk(path, () => this.#files.make(path));
    const closing = (): void => this.#try(path, () => this.#files.close(fd));
    try {
      await this.#fill(fd, path, chunks, durability).finally(closing);
    } catch (error) {
      removeQuietly(this.#files, path);
      throw error;
    }
    if (durability === 'strict') await this.#synced(this.#folder, () => this.#files.syncFolder(this.#folder));
    else this.#unsynced.add(place);
  }

  /** @throws DatabaseError `corrupt` when the bytes are not those that were put there; `io` when a failed sync lost them */
  async get(place: string, index: number): Promise<Uint8Array | undefined> {
    try {
      return await this.#get(place, index);
    } catch (error) {
      const isLost = this.#unsynced.has(place) || this.#packs.isUnsynced(place);
      if (this.#failure === undefined || !isLost || trouble(place, error).name !== 'corrupt') throw error;
      throw ioError(`An attachment's content is lost: ${this.#failure.reason}`, this.#failure);
    }
  }

  async #get(place: string, index: number): Promise<Uint8Array | undefined> {
    if (isPacked(place)) return index === 0 ? this.#packs.get(place) : undefined;
    const path = join(this.#folder, place);
    const at = MAGIC.length + index * (CHUNK_HEADER_BYTES + CHUNK_BYTES);
    let fd: number;
    try {
      fd = await this.#files.openLater(path, 'r');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw trouble(path, error);
    }
    try {
      const room = Bytes.allocUnsafe(
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

  /** What cannot be removed stays, and the next sweep finds it again. */
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
    await this.#onDisk(this.#folder, () => this.#files.prepareList?.(this.#folder));
    return [...this.#places(), ...(await this.#packs.places())];
  }

  /** Resolves when everything put before is on the disk. To be called before syncing the log, which names it. */
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

  /** @param keep whether the database stays, and is not about to be removed */
  close(keep: boolean): Promise<void> {
    this.#isClosed = true;
    return this.#packs.close(keep);
  }

  /** Removes every file made here, and then the folder if it is empty. */
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

  /** @throws DatabaseError `closed` when the folder may have gone meanwhile */
  async #make(): Promise<void> {
    this.#made ??= this.#makeFolder().catch((error) => {
      this.#made = undefined;
      throw error;
    });
    await this.#made;
    if (this.#isClosed) throw closed();
  }

  async #makeFolder(): Promise<void> {
    // Whoever made the folder may have been killed before its name was on the disk.
    if (this.#try(this.#folder, () => this.#files.makeFolder(this.#folder)) !== undefined)
      this.#isNamed = false;
    if (this.#isNamed) return;
    await this.#synced(this.#parent, () => this.#files.syncFolder(this.#parent));
    this.#isNamed = true;
  }

  #write(fd: number, data: Bytes, position: number): number | Promise<number> {
    if (data.length > SYNC_BYTES) return writeFully(this.#files, fd, data, position);
    writeFullySync(this.#files, fd, data, position);
    return position + data.length;
  }

  async #read(fd: number, room: Bytes, at: number): Promise<number> {
    if (room.length > SYNC_BYTES) return readFully(this.#files, fd, room, at);
    return readFullySync(this.#files, fd, room, at);
  }

  /** Step by step: an error thrown by the chunks is not the disk's, whatever code it has. */
  async #fill(
    fd: number,
    path: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    durability: Durability,
  ): Promise<void> {
    let end = 0;
    let start: Bytes = MAGIC;
    for await (const chunk of chunks) {
      end = await this.#onDisk(path, () => this.#write(fd, framed(start, chunk), end));
      start = Bytes.alloc(0);
    }
    if (durability === 'strict') await this.#onDisk(path, () => this.#files.sync(fd));
  }

  async #syncFile(path: string): Promise<void> {
    const fd = await this.#files.openLater(path, 'r+');
    try {
      await this.#files.sync(fd);
    } finally {
      closeQuietly(this.#files, fd);
    }
  }

  /**
   * A sync that others rely upon too. Once it has failed nobody knows what the disk has, and a second sync would lie; unless it never
   * began, because no more files may be open.
   */
  async #synced(path: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const failure = trouble(path, error);
      if (isOutOfFiles(error)) throw failure;
      this.#failure = this.#lost(failure);
      throw this.#failure;
    }
  }

  async #onDisk<T>(path: string, work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw trouble(path, error);
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

function framed(start: Bytes, chunk: Uint8Array): Bytes {
  const header = Bytes.alloc(CHUNK_HEADER_BYTES);
  header.writeUInt32LE(chunk.length, 0);
  header.writeUInt32LE(crc32(chunk), 4);
  return Bytes.concat([start, header, chunk]);
}

function isSound(frame: Bytes): boolean {
  if (frame.length < CHUNK_HEADER_BYTES) return false;
  const bytes = frame.subarray(CHUNK_HEADER_BYTES, CHUNK_HEADER_BYTES + frame.readUInt32LE(0));
  return bytes.length === frame.length - CHUNK_HEADER_BYTES && crc32(bytes) === frame.readUInt32LE(4);
}
