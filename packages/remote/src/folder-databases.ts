/**
 * The databases of a server as folders below one folder. Node only.
 *
 * This file does not know what a database is made of: the program that starts the server says how to open one.
 */
import type { Dirent } from 'node:fs';
import { lstat, readdir, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, ioError, isDatabaseError, unlessMissing, whyOf } from '@settledb/core';
import { fromFolderName, isStoredName, toFolderName } from './names';
import { OpenDatabases } from './open-databases';
import type { Databases, UsedDatabase } from './server-context';

/** Opens the database in the folder `path`, or makes one there unless it must exist (then `not_found`). */
export type OpenDatabase = (
  path: string,
  options: { readonly name: string; readonly mustExist: boolean },
) => Promise<Database>;

export interface FolderOptions {
  /**
   * How many databases are kept open, as CouchDB's `max_dbs_open`. Default 500. When there is one more, the one that was unused for longest is
   * closed, and is opened again when it is next asked for. A request, a feed, a replication or an attachment that is still being read keeps its
   * database open: more than these are open while more are in use.
   */
  readonly max_dbs_open?: number | undefined;
}

export class FolderDatabases implements Databases {
  readonly #dir: string;
  readonly #openDatabase: OpenDatabase;
  readonly #open: OpenDatabases;
  /** Databases that were made here and have no folder: their adapter keeps them elsewhere, as in memory. */
  readonly #elsewhere = new Set<string>();

  /** @param warn called when more than `max_dbs_open` are in use. @throws TypeError */
  constructor(
    dir: string,
    openDatabase: OpenDatabase,
    { max_dbs_open }: FolderOptions = {},
    warn?: (line: string) => void,
  ) {
    this.#dir = dir;
    this.#openDatabase = openDatabase;
    this.#open = new OpenDatabases((name) => this.#openExisting(name), { most: max_dbs_open, warn });
  }

  /** The database, which stays open until `close()`, however many others are open. */
  open(name: string): Promise<Database | undefined> {
    return this.#open.openForGood(name);
  }

  /** The database until its `release`. */
  use(name: string): Promise<UsedDatabase | undefined> {
    return this.#open.use(name);
  }

  create(name: string): Promise<boolean> {
    return this.#open.create(name, async () => {
      const path = this.#path(name);
      const database = await this.#openDatabase(path, { name, mustExist: false }).catch(throwOwn);
      if (!(await isFolder(path))) this.#elsewhere.add(name);
      return database;
    });
  }

  destroy(name: string): Promise<boolean> {
    return this.#open.destroy(name, async (database) => {
      await database.destroy();
      this.#elsewhere.delete(name);
      await removeRest(this.#path(name)).catch(() => {});
    });
  }

  async list(): Promise<string[]> {
    const entries = await readdir(this.#dir, { withFileTypes: true });
    const names = await Promise.all(entries.map((entry) => this.#nameOf(entry)));
    return [...names.filter((name) => name !== undefined), ...this.#elsewhere].sort();
  }

  drop(name: string, database: Database): void {
    this.#open.drop(name, database);
  }

  /** Closes all of them; asking for one after that is refused (`closed`). */
  close(): Promise<void> {
    return this.#open.close();
  }

  async #openExisting(name: string): Promise<Database | undefined> {
    const path = this.#path(name);
    if (!this.#elsewhere.has(name) && !(await isFolder(path))) return undefined;
    return this.#openDatabase(path, { name, mustExist: true }).catch(unlessMissing);
  }

  /** Of the database there; a folder may be a link to another disk. */
  async #nameOf(entry: Dirent): Promise<string | undefined> {
    const name = fromFolderName(entry.name);
    if (name === undefined || entry.isDirectory()) return name;
    // One that cannot be looked for is there: who asks for it is told what is wrong.
    const isThere = entry.isSymbolicLink() && (await isFolder(this.#path(name)).catch(() => true));
    return isThere ? name : undefined;
  }

  #path(name: string): string {
    // Names are checked where they arrive; this is the last place where an unchecked one could become a path.
    if (!isStoredName(name)) throw ioError('An invalid database name reached the disk');
    return join(this.#dir, toFolderName(name));
  }
}

/** The adapter removes what it made. An empty folder would still be listed, and a link to the one that went be in the way of another. */
async function removeRest(path: string): Promise<void> {
  const isLink = (await lstat(path)).isSymbolicLink();
  if (!isLink) await rmdir(path);
  else if (!(await isFolder(path))) await unlink(path);
}

/** A folder that the adapter does not take, as it has others' files in it, is no mistake of the request, which gave a valid name. */
function throwOwn(error: unknown): never {
  throw isDatabaseError(error) && error.status === 400 ? ioError(error.reason, error) : error;
}

/** What the system says of a path where nothing is. */
const NOT_THERE: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'];

/** @throws io where that cannot be told: a database whose disk fails is not a database that does not exist */
export const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    (cause: NodeJS.ErrnoException) => {
      if (NOT_THERE.includes(cause.code)) return false;
      throw ioError(`Cannot look for the folder ${path}: ${whyOf(cause)}`, cause);
    },
  );
