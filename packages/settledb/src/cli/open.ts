/** Databases by what stands on a command line: the path of a folder, or a URL. */
import { readdirSync } from 'node:fs';
import { badRequest, notFound } from '@settledb/core';
import { SettleDB } from '../entry.node';
import { addressOf, isUrl } from '../options';

/** A database to write to; it is made if there is none. */
export function made(name: string): SettleDB {
  return isUrl(name) ? behind(name, {}) : new SettleDB(name);
}

/** As {@link made}, for what is brought back: histories stay as long as they are, whatever limit they were kept within. */
export const restored = (name: string): SettleDB =>
  isUrl(name) ? made(name) : new SettleDB(name, { revs_limit: Number.MAX_SAFE_INTEGER });

/** A database to write to; a folder is made if there is none. */
export const madeIfFolder = (name: string): SettleDB => (isUrl(name) ? existing(name) : made(name));

/** Reading must not make a database: behind a URL without one, calls are answered by `not_found`. @throws that for a folder */
export function existing(name: string): SettleDB {
  if (isUrl(name)) return behind(name, { skip_setup: true });
  checkFolder(name);
  return new SettleDB(name);
}

function behind(name: string, options: { readonly skip_setup?: boolean }): SettleDB {
  const url = new URL(name);
  const password = process.env.SETTLEDB_PASSWORD;
  if (url.username === '' || url.password !== '' || password === undefined)
    return new SettleDB(name, options);
  const username = decodeURIComponent(url.username);
  url.username = '';
  return new SettleDB(url.href, { ...options, auth: { username, password } });
}

/** @throws DatabaseError `not_found` for a folder without a database; as {@link checkFolderName} */
export function checkFolder(folder: string): void {
  checkFolderName(folder);
  if (!hasLog(folder)) throw notFound(`there is no database in ${folder}`);
}

/** @throws DatabaseError `bad_request` for a URL, also a mistyped one: it may hold a password, which is not repeated */
export function checkFolderName(folder: string): void {
  checkPath('what is read', 'folder', folder);
  addressOf(folder, {});
}

/** @throws DatabaseError `bad_request` for a URL, which is not repeated */
export function checkPath(what: string, kind: 'file' | 'folder', path: string): void {
  if (isUrl(path)) throw badRequest(`${what} must be the path of a ${kind}, not a URL`);
}

export function hasLog(folder: string): boolean {
  try {
    return readdirSync(folder).some((name) => /^log\.\d+$/.test(name));
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR'].includes(code)) return false;
    throw error;
  }
}

/** Closes the database in the end, however that comes. */
export async function withDatabase<R>(db: SettleDB, work: (db: SettleDB) => Promise<R>): Promise<R> {
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}
