/** `settledb dump` and `load`: dumps in files, or as standard output and input. */
import { createReadStream, createWriteStream, renameSync, rmSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { SettleDB } from '../settledb';

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
    await pipeline(made, createWriteStream(temporary));
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  return true;
}

export const load = (db: SettleDB, path: string | undefined) =>
  db.load(Readable.toWeb(path === undefined ? process.stdin : createReadStream(path)) as never);
