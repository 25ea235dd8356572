/**
 * What can still be read of a damaged database: every sound frame of its log, wherever it stands, and the contents of attachments.
 * Nothing in the folder is changed.
 *
 * A log grows at its end only, and what a checkpoint replaces stays in it until the next vacuum. So it may have several directories, and
 * the database can be seen through each of them and the commits since: where a page of the newest is lost, an older one may have its
 * rows. If nothing of the log is sound, the one before may still be there: a vacuum that was killed has left it, whole.
 */
import { corrupt, DatabaseError, notFound } from '@settledb/core';
import {
  BlobFiles,
  closeQuietly,
  FrameReader,
  generations,
  HEADER_BYTES,
  logPath,
  notedSize,
  trouble,
  Window,
} from '@settledb/log';
import { lockToRead } from './lock';
import { type NodeFiles, nodeFiles } from './node-files';
import { onNode } from './node-platform';
import { PastErrors } from './past-errors';
import { realPath } from './real-path';
import { SalvagedJournal } from './salvaged-journal';
import { type DamagedPart, type Directory, type SoundLog, soundLog } from './sound-log';
import { TornBlocks } from './torn-blocks';

export type { DamagedPart } from './sound-log';

export interface Salvage {
  /** The parts of the log that are not what was written there, in order; then whole logs that came after it. */
  readonly damage: readonly DamagedPart[];
  /** The database through each directory that can be read, the newest first. Not to be closed. */
  views(): Iterable<SalvagedJournal>;
  /** The database without a directory, to be given one. Not to be closed. */
  bare(): SalvagedJournal;
  close(): Promise<void>;
}

/**
 * Reads the log of the database in `folder` from its first byte to its last, with the folder's lock held until it is closed: the newest of
 * which anything is sound.
 *
 * @throws DatabaseError `not_found` if there is no log; `locked`; `corrupt` if there is nothing sound in any; `io` for a newer format, or what is no
 *   folder; `bad_request` for an impossible name; the reason of a signal that is aborted
 */
export async function salvage(
  folder: string,
  signal?: AbortSignal | undefined,
  files: NodeFiles = nodeFiles,
): Promise<Salvage> {
  onNode();
  try {
    const path = realPath(folder);
    const newestFirst = generations(files, path).reverse();
    if (newestFirst.length === 0) throw notFound(`there is no database in ${folder}`);
    // A dead owner's lock stays, and says how it ended to whoever opens the database next.
    const release = await lockToRead(files, path);
    try {
      const sound = await firstSound(files, path, newestFirst, signal);
      return { ...sound, close: () => sound.close().finally(release) };
    } catch (error) {
      release();
      throw error;
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw trouble(folder, error);
  }
}

/** @param generations newest first @throws what the newest is refused with, if nothing is sound in any */
async function firstSound(
  files: NodeFiles,
  folder: string,
  generations: readonly number[],
  signal: AbortSignal | undefined,
): Promise<Salvage> {
  const oldest = generations.at(-1)!;
  const unsound: [path: string, bytes: number][] = [];
  let failure: unknown;
  for (const generation of generations) {
    try {
      const { log, ...salvage } = await opened(files, folder, generation, signal, generation > oldest);
      for (const later of unsound) log.cameBefore(...later);
      return salvage;
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.name !== 'corrupt') throw error;
      failure ??= error;
      const path = logPath(folder, generation);
      unsound.push([path, sizeOf(files, path)]);
    }
  }
  throw failure;
}

function sizeOf(files: NodeFiles, path: string): number {
  const fd = files.open(path, 'r');
  try {
    return files.stat(fd).size;
  } finally {
    closeQuietly(files, fd);
  }
}

/**
 * @param hasOlder whether another may have more than one of which only the header is sound
 * @throws DatabaseError `corrupt` if nothing of this log is sound
 */
async function opened(
  files: NodeFiles,
  folder: string,
  generation: number,
  signal: AbortSignal | undefined,
  hasOlder: boolean,
): Promise<Salvage & { readonly log: SoundLog }> {
  const path = logPath(folder, generation);
  const fd = files.open(path, 'r');
  try {
    const reads = new PastErrors(files, signal);
    const noted = (salt: number): number => notedSize(files, folder, salt);
    const log = await soundLog(new Window(reads, fd, files.stat(fd).size), path, generation, noted);
    if (hasOlder && log.frames === 0)
      throw corrupt(`${path}: damaged at byte ${HEADER_BYTES}: nothing is sound`);
    const frames = new FrameReader({
      files: reads,
      fd,
      path,
      header: log.header,
      enter: () => () => {},
    });
    const torn = new TornBlocks(log, frames);
    // Packs are opened to be written to, which a disk, or a backup, may not allow.
    const toRead: NodeFiles = { ...files, open: (name) => files.open(name, 'r') };
    const blobs = new BlobFiles(toRead, folder, false, (failure) => failure);
    const through = (directory?: Directory) => new SalvagedJournal(log, torn, frames, blobs, directory);
    return {
      log,
      damage: log.damage,
      views: () => viewsOf(log, through),
      bare: () => through(),
      async close() {
        await blobs.close(false);
        closeQuietly(files, fd);
      },
    };
  } catch (error) {
    closeQuietly(files, fd);
    throw error;
  }
}

function* viewsOf(
  { header, directories, commits }: SoundLog,
  through: (directory?: Directory) => SalvagedJournal,
): Generator<SalvagedJournal> {
  for (const directory of [...directories].reverse()) yield through(directory);
  // A log that was never vacuumed had all commits, from the first one on.
  if (header.generation === 1 || commits.has(1)) yield through();
}
