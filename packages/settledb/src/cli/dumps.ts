/** `settledb dump` and `load`: dumps in files, or as standard output and input. */
import { createWriteStream, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { SettleDB } from '../settledb';
import { withDatabase } from './open';

/** A file has its name only when it is whole: what was there before stays until then. */
export async function dump(db: SettleDB, path: string | undefined, isPlain: boolean): Promise<boolean> {
  const made = Readable.fromWeb(db.dump({ gzip: !isPlain }) as never);
  if (path === undefined) {
    if (process.stdout.isTTY && !isPlain)
      throw new Error('a compressed dump is nothing to look at: name a file, or give --plain');
    await pipeline(made, process.stdout, { end: false });
    return true;
  }
  const temporary = `${path}.tmp`;
  try {
    // On the disk before it has the name: a backup is needed after the power failed, too.
    await pipeline(made, createWriteStream(temporary, { flush: true }));
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  return true;
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
