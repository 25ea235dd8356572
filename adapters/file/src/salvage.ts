/**
 * What can still be read of a damaged database: every sound frame of its log, wherever it stands, and the contents of attachments.
 * Nothing in the folder is changed.
 *
 * A log grows at its end only, and what a checkpoint replaces stays in it until the next vacuum. So it may have several directories, and
 * the database can be seen through each of them and the commits since: where a page of the newest is lost, an older one may have its
 * rows.
 */
import { notFound } from '@settledb/core';
import {
  BlobFiles,
  closeQuietly,
  FrameReader,
  generations,
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
  /** The parts of the log that are not what was written there, in order. */
  readonly damage: readonly DamagedPart[];
  /** The database through each directory that can be read, the newest first. Not to be closed. */
  views(): Iterable<SalvagedJournal>;
  /** The database without a directory, to be given one. Not to be closed. */
  bare(): SalvagedJournal;
  close(): Promise<void>;
}

/**
 * Reads the log of the database in `folder` from its first byte to its last, with the folder's lock held until it is closed.
 *
 * @throws DatabaseError `not_found` if there is no log; `locked`; `corrupt` if there is nothing sound in it; `io` for a newer format, or what is no
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
    const generation = generations(files, path).at(-1);
    if (generation === undefined) throw notFound(`there is no database in ${folder}`);
    // A dead owner's lock stays, and says how it ended to whoever opens the database next.
    const release = await lockToRead(files, path);
    return await opened(files, path, generation, release, signal).catch((error) => {
      release();
      throw error;
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw trouble(folder, error);
  }
}

async function opened(
  files: NodeFiles,
  folder: string,
  generation: number,
  release: () => void,
  signal: AbortSignal | undefined,
): Promise<Salvage> {
  const path = logPath(folder, generation);
  const fd = files.open(path, 'r');
  try {
    const reads = new PastErrors(files, signal);
    const noted = (salt: number): number => notedSize(files, folder, salt);
    const log = await soundLog(new Window(reads, fd, files.stat(fd).size), path, generation, noted);
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
      damage: log.damage,
      views: () => viewsOf(log, through),
      bare: () => through(),
      async close() {
        await blobs.close(false);
        closeQuietly(files, fd);
        release();
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
