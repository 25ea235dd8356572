/** `settledb dump` and `load`: dumps in files, or as standard output and input. */
import { randomBytes } from 'node:crypto';
import { createWriteStream, realpathSync, renameSync, rmSync, type Stats, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { SettleDB } from '../settledb';
import { withDatabase } from './open';

export async function dump(db: SettleDB, path: string | undefined, isPlain: boolean): Promise<boolean> {
  const made = Readable.fromWeb(db.dump({ gzip: !isPlain }) as never);
  if (path === undefined) {
    if (process.stdout.isTTY && !isPlain)
      throw new Error('a compressed dump is nothing to look at: name a file, or give --plain');
    await pipeline(made, process.stdout, { end: false });
    return true;
  }
  const there: Stats | undefined = statSync(path, { throwIfNoEntry: false });
  // A device or a pipe is written to, and not replaced; a folder refuses.
  if (there?.isFile() === false) await pipeline(made, createWriteStream(path));
  else await replace(there === undefined ? path : realpathSync(path), made);
  return true;
}

/** A file has its name only when it is whole: what was there before stays until then. */
async function replace(path: string, made: Readable): Promise<void> {
  const temporary = `${path}.${randomBytes(4).toString('hex')}.tmp`;
  // On the disk before it has the name: a backup is needed after the power failed, too.
  const file = createWriteStream(temporary, { flags: 'wx', flush: true });
  try {
    await pipeline(made, file);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** @param made makes the database, and perhaps a folder: not before the file is found to be there */
export async function load(path: string | undefined, made: () => SettleDB) {
  const file = path === undefined ? undefined : await open(path);
  const input = file?.createReadStream() ?? process.stdin;
  try {
    return await withDatabase(made(), (db) => db.load(Readable.toWeb(input) as never));
  } finally {
    await file?.close();
  }
}
