/** `settledb dump` and `load`: dumps in files, or as standard output and input. */
import { randomBytes } from 'node:crypto';
import { createWriteStream, realpathSync, renameSync, rmSync, type Stats, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { nodeFiles } from '@settledb/adapter-file';
import type { DumpOptions } from '@settledb/dump';
import type { SettleDB } from '../settledb';
import { checkPath, withDatabase } from './open';

export async function dump(
  db: SettleDB,
  path: string | undefined,
  options: Pick<DumpOptions, 'gzip' | 'local'>,
): Promise<boolean> {
  if (path !== undefined) checkPath('what is written to', 'file', path);
  const made = Readable.fromWeb(db.dump(options) as never);
  if (path === undefined) {
    if (process.stdout.isTTY && options.gzip !== false)
      throw new Error('a compressed dump is nothing to look at: name a file, or give --plain');
    await pipeline(made, process.stdout, { end: false });
    return true;
  }
  const there: Stats | undefined = statSync(path, { throwIfNoEntry: false });
  // A device or a pipe is written to, and not replaced; a folder refuses.
  if (there?.isFile() === false) await pipeline(made, createWriteStream(path));
  else await replace(there === undefined ? path : realpathSync(path), made, there?.mode);
  return true;
}

/** By which a process is asked to end, and does. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * A file has its name only when it is whole: what was there before stays until then.
 *
 * @param mode of that: whom it was kept from may not read its successor either
 */
async function replace(path: string, made: Readable, mode: number | undefined): Promise<void> {
  const temporary = `${path}.${randomBytes(4).toString('hex')}.tmp`;
  const remove = (): void => rmSync(temporary, { force: true });
  const asked = (signal: NodeJS.Signals): void => {
    remove();
    forget();
    process.kill(process.pid, signal); // ends it as it would have ended
  };
  const forget = (): void => {
    for (const signal of ENDING) process.off(signal, asked);
  };
  for (const signal of ENDING) process.on(signal, asked);
  // On the disk before it has the name, and then the name too: a backup is needed after the power failed.
  const file = createWriteStream(temporary, { flags: 'wx', flush: true, mode });
  try {
    await pipeline(made, file);
    await nodeFiles.syncFolder(dirname(path), () => renameSync(temporary, path));
  } catch (error) {
    remove();
    throw error;
  } finally {
    forget();
  }
}

/** @param made makes the database, and perhaps a folder: not before the file is found to be there, and to be one */
export async function load(path: string | undefined, made: () => SettleDB) {
  if (path !== undefined) checkPath('what is read', 'file', path);
  const file = path === undefined ? undefined : await open(path);
  try {
    if ((await file?.stat())?.isDirectory()) throw new Error(`${path} is a folder: name a file`);
    const input = file?.createReadStream() ?? process.stdin;
    // Not by `Readable.toWeb`: left amid what it reads, it throws where nobody can catch that (Node 20).
    return await withDatabase(made(), (db) => db.load(input));
  } finally {
    await file?.close();
  }
}
