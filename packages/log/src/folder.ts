/**
 * The logs of one database's folder: `log.<generation>` and its unfinished successor `log.<generation>.tmp`.
 *
 * A log gets its name only when its bytes are on the disk, and its name is on the disk before anything relies on it.
 */
import { corrupt } from '@settledb/core';
import { Contents } from './contents';
import { closeQuietly, codeOf, type Files, join } from './files';
import { encodeHeader, HEADER_BYTES, isLog, newHeader } from './header';
import type { Lock } from './lock';
import { Log } from './log';
import { notedPlaces, PLACES } from './places';
import { Bytes, random } from './platform';
import { recover } from './recovery';
import { trouble } from './trouble';
import { readFullySync, writeFully } from './window';

type LogLock = Pick<Lock, 'lostPower' | 'leftOpen' | 'isHeld'>;

/** The folder of attachments' content. No database within this one's folder is likely to have this name. */
export const BLOBS = 'log.blobs';
const LOG_NAME = /^log\.([1-9]\d*)(\.tmp)?$/;

export const logPath = (folder: string, generation: number): string => join(folder, `log.${generation}`);
export const temporaryPath = (folder: string, generation: number): string =>
  `${logPath(folder, generation)}.tmp`;

/** True for the names of what is made here and beside it: logs, their notes, and the folder of contents. */
export const isLogName = (name: string): boolean => LOG_NAME.test(name) || name === BLOBS || name === PLACES;

/** The generations that exist, oldest first. Only the newest counts; a vacuum that was killed may have left the one before. */
export function generations(files: Files, folder: string): number[] {
  return logs(files, folder)
    .filter((each) => !each.temporary)
    .map((each) => each.generation)
    .sort((a, b) => a - b);
}

/**
 * Opens the newest log, or makes the first; cuts off a torn end; removes what a killed vacuum left.
 *
 * @param lock says how the last owner ended: if its machine went down, what was not synced may be there in parts; otherwise all of it is
 *   there, and still to be synced
 * @throws DatabaseError `corrupt`, with nothing changed on disk
 */
export async function openLog(files: Files, folder: string, lock: LogLock): Promise<Log> {
  const generation = generations(files, folder).at(-1);
  const log =
    (generation === undefined ? undefined : await openGeneration(files, folder, generation, lock)) ??
    (await makeFirst(files, folder, lock));
  await removeLeftovers(files, folder, log.header.generation);
  return log;
}

/** No error, as in {@link removeQuietly}: nobody reads these files. */
async function removeLeftovers(files: Files, folder: string, generation: number): Promise<void> {
  try {
    const left = logs(files, folder).filter((each) => each.temporary || each.generation < generation);
    // A vacuum was killed before the newest log's name was on the disk: until it is, that has only the older one.
    if (left.some((each) => !each.temporary)) await files.syncFolder(folder);
    for (const { name } of left) {
      const path = join(folder, name);
      if (isOurs(files, path)) removeQuietly(files, path);
    }
  } catch {
    // They are found and removed by the next opening.
  }
}

/**
 * Removes every log of the database, damaged or not, and the notes about it. The caller holds the lock.
 *
 * @throws DatabaseError `corrupt`, having removed nothing, when a file has the name of a log but is not one
 */
export function removeLogs(files: Files, folder: string): void {
  // Oldest first: an interrupted removal must not bring back an older state.
  const ours = logs(files, folder).sort((a, b) => a.generation - b.generation);
  const paths = ours.map(({ name }) => join(folder, name));
  const foreign = paths.find((path) => !isOurs(files, path));
  if (foreign !== undefined) {
    throw corrupt(
      `${foreign} does not begin as a log of settledb does: remove it, or give it another name. Nothing was removed`,
    );
  }
  for (const path of paths) files.unlink(path);
  removeQuietly(files, join(folder, PLACES));
}

/** Looks into it only if it has to: for that no more files may be open. */
export function removeFolderIfEmpty(files: Files, folder: string): void {
  try {
    files.removeFolder(folder);
  } catch (error) {
    // If somebody put a file there the folder is theirs, whatever else keeps it from being removed.
    const isTheirs = ['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(codeOf(error) ?? '');
    if (!isTheirs && files.list(folder).length === 0) throw error;
  }
}

/** No error: a file that stays is found and removed when the database is opened again. */
export function removeQuietly(files: Files, path: string): void {
  try {
    files.unlink(path);
  } catch {
    // It is found and removed by the next opening.
  }
}

function logs(files: Files, folder: string): { name: string; generation: number; temporary: boolean }[] {
  return files.list(folder).flatMap((name) => {
    const match = LOG_NAME.exec(name);
    return match === null ? [] : [{ name, generation: Number(match[1]), temporary: match[2] !== undefined }];
  });
}

async function openGeneration(
  files: Files,
  folder: string,
  generation: number,
  lock: LogLock,
): Promise<Log | undefined> {
  const { lostPower, leftOpen } = lock;
  const path = logPath(folder, generation);
  const fd = files.open(path, 'r+');
  try {
    const noted = lostPower ? undefined : notedPlaces(files, folder, fd, path);
    const found = noted ?? (await recover(files, fd, path, generation, lostPower));
    if (found === undefined) {
      closeQuietly(files, fd);
      return undefined;
    }
    const isTorn = found.end < files.stat(fd).size;
    if (isTorn) {
      files.truncate(fd, found.end);
      await files.sync(fd);
    }
    const log = new Log(files, fd, lock, path, found.header, found.contents, found.end);
    if (noted !== undefined) log.noted();
    if (leftOpen) log.unsynced(found.syncedTo);
    return log;
  } catch (error) {
    closeQuietly(files, fd);
    throw trouble(path, error);
  }
}

async function makeFirst(files: Files, folder: string, lock: LogLock): Promise<Log> {
  const header = newHeader(1, random(16), HEADER_BYTES);
  const [path, temporary] = [logPath(folder, 1), temporaryPath(folder, 1)];
  const fd = await files.make(temporary);
  try {
    await writeFully(files, fd, encodeHeader(header), 0);
    await files.sync(fd);
    files.rename(temporary, path);
    await files.syncFolder(folder);
    return new Log(files, fd, lock, path, header, new Contents(), HEADER_BYTES);
  } catch (error) {
    closeQuietly(files, fd);
    removeQuietly(files, temporary);
    throw trouble(path, error);
  }
}

function isOurs(files: Files, path: string): boolean {
  const fd = files.open(path, 'r');
  try {
    const start = Bytes.alloc(HEADER_BYTES);
    return isLog(start.subarray(0, readFullySync(files, fd, start, 0)));
  } finally {
    closeQuietly(files, fd);
  }
}
