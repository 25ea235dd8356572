/** Databases by what stands on a command line: the path of a folder, or a URL. */
import { readdirSync } from 'node:fs';
import { notFound } from '@settledb/core';
import { SettleDB } from '../entry.node';

const isUrl = (name: string): boolean => /^https?:\/\//i.test(name);

/** A database to write to; a folder is made if there is none. */
export function made(name: string): SettleDB {
  if (!isUrl(name)) return new SettleDB(name);
  const url = new URL(name);
  const password = process.env.SETTLEDB_PASSWORD;
  if (url.username === '' || url.password !== '' || password === undefined) return new SettleDB(name);
  const username = decodeURIComponent(url.username);
  url.username = '';
  return new SettleDB(url.href, { auth: { username, password } });
}

/** @throws DatabaseError `not_found` for a folder without a database: reading must not make one */
export function existing(name: string): SettleDB {
  if (!isUrl(name)) checkFolder(name);
  return made(name);
}

/** @throws DatabaseError `not_found` for a folder without a database */
export function checkFolder(folder: string): void {
  if (!hasLog(folder)) throw notFound(`there is no database in ${folder}`);
}

function hasLog(folder: string): boolean {
  try {
    return readdirSync(folder).some((name) => /^log\.\d+$/.test(name));
  } catch {
    return false;
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
