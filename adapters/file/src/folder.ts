/** A database's folder among others: which may be one, and what is made on the way to it. */
import { dirname, join } from 'node:path';
import { badRequest } from '@settledb/core';
import { codeOf, type Files, generations, isLogName } from '@settledb/log';
import { isLockName } from './lock';

/** Whether a database has something of that name in its folder: a log and what goes with it, or a lock. */
export const isOwnName = (name: string): boolean => isLogName(name) || isLockName(name);

/** True when the folder has traces of a database, or of one being made. */
export const hasTraces = (files: Files, folder: string): boolean => files.list(folder).some(isOwnName);

/**
 * A database's files never lie among others' files: a name such as `.` would put them into the project that uses it. Folders
 * may be there (databases may lie in one another), and files whose names begin with a dot.
 *
 * @throws DatabaseError `bad_request` for a folder with other files and no database
 */
export function checkFolder(files: Files, folder: string): void {
  if (hasTraces(files, folder)) return;
  const other = files
    .list(folder)
    .find((name) => !name.startsWith('.') && !isFolder(files, join(folder, name)));
  if (other === undefined) return;
  throw badRequest(
    `${folder} holds no database, but other files (${other}): a database needs a folder of its own`,
  );
}

function isFolder(files: Files, path: string): boolean {
  try {
    files.list(path);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ENOTDIR';
  }
}

/**
 * Makes the folder with its parents, brings their names to the disk, and runs `work` in it. If that fails, what was made is removed: a
 * folder left behind would be taken for one whose name is on the disk, and a server would list it as a database.
 */
export async function inFolder<R>(files: Files, folder: string, work: () => Promise<R>): Promise<R> {
  const first = files.makeFolder(folder);
  if (first === undefined) {
    if (generations(files, folder).length === 0) await syncName(files, folder);
    return work();
  }
  const made: string[] = [];
  for (let each = folder; made.at(-1) !== first; each = dirname(each)) made.push(each);
  try {
    for (const each of made) await files.syncFolder(dirname(each));
    return await work();
  } catch (error) {
    try {
      // Without looking into it, for which no more files may be open: one with something in it stays.
      for (const each of made) files.removeFolder(each);
    } catch {
      // Somebody else has made something there.
    }
    throw error;
  }
}

/** Of a folder that is there: whoever made it may have been killed before its name was on the disk. It may lie where nobody may look. */
async function syncName(files: Files, folder: string): Promise<void> {
  try {
    await files.syncFolder(dirname(folder));
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes(codeOf(error) ?? '')) throw error;
  }
}
