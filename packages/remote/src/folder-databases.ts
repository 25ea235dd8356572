/**
 * The databases of a server as folders below one folder. Node only.
 *
 * This file does not know what a database is made of: the program that starts the server says how to open one.
 */
import { closeSync, fsyncSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import {
  type Database,
  ioError,
  isDatabaseError,
  uuid as makeUuid,
  unlessMissing,
  whyOf,
} from '@settledb/core';
import { fromFolderName, isStoredName, toFolderName } from './names';
import { OpenDatabases } from './open-databases';
import type { Databases, UsedDatabase } from './server-context';

/** Opens the database in the folder `path`, or makes one there unless it must exist (then `not_found`). */
export type OpenDatabase = (
  path: string,
  options: { readonly name: string; readonly mustExist: boolean },
) => Promise<Database>;

/** Not the folder of a database: their names have no dot. */
const IDENTITY_FILE = 'server.json';
/** Longer than a running process takes between creating that file and writing it. */
const UNWRITTEN_MS = 250;

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
    return this.#open.create(name, () =>
      this.#openDatabase(this.#path(name), { name, mustExist: false }).catch(throwOwn),
    );
  }

  destroy(name: string): Promise<boolean> {
    return this.#open.destroy(name, async (database) => {
      await database.destroy();
      // The adapter removes what it made; an empty folder would still be listed.
      await rmdir(this.#path(name)).catch(() => {});
    });
  }

  async list(): Promise<string[]> {
    const entries = await readdir(this.#dir, { withFileTypes: true });
    const names = entries.map((entry) => (entry.isDirectory() ? fromFolderName(entry.name) : undefined));
    return names.filter((name) => name !== undefined).sort();
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
    if (!(await isFolder(path))) return undefined;
    return this.#openDatabase(path, { name, mustExist: true }).catch(unlessMissing);
  }

  #path(name: string): string {
    // Names are checked where they arrive; this is the last place where an unchecked one could become a path.
    if (!isStoredName(name)) throw ioError('An invalid database name reached the disk');
    return join(this.#dir, toFolderName(name));
  }
}

/** A folder that the adapter does not take, as it has others' files in it, is no mistake of the request, which gave a valid name. */
function throwOwn(error: unknown): never {
  throw isDatabaseError(error) && error.status === 400 ? ioError(error.reason, error) : error;
}

/** The identity of the server in `dir`, made on first use. Replications recognize their checkpoints by it. */
export async function serverUuid(dir: string): Promise<string> {
  await makeFolder(resolve(dir)).catch((cause: unknown) => {
    throw ioError(`Cannot make the folder ${dir}: ${whyOf(cause)}`, cause);
  });
  const path = join(dir, IDENTITY_FILE);
  try {
    return makeIdentity(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw ioError(`Cannot write ${path}: ${whyOf(error)}`, error);
  }
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw ioError(`Cannot read ${path}: ${whyOf(cause)}`, cause);
  });
  if (text !== '') return readUuid(path, text);
  // Another process is about to write it, or was killed before it could; then nobody has learnt an identity from it.
  await new Promise((resolve) => setTimeout(resolve, UNWRITTEN_MS));
  if ((await readFile(path, 'utf8').catch(() => '')) === '') await removeEmpty(path);
  return serverUuid(dir);
}

/** @throws if it cannot be removed, because the caller would try for ever */
async function removeEmpty(path: string): Promise<void> {
  await unlink(path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT') throw ioError(`Cannot remove the empty ${path}: ${whyOf(cause)}`, cause);
  });
}

/**
 * A file that could not be written whole is removed: every later start would take it for damaged. Synchronous, because it happens once
 * per folder, and because a `FileHandle` has no `sync` where the package manager stands before the file system (Yarn's Plug'n'Play).
 */
function makeIdentity(path: string): string {
  const uuid = makeUuid();
  const fd = openSync(path, 'wx');
  try {
    writeFileSync(fd, `${JSON.stringify({ uuid })}\n`);
    fsyncSync(fd);
  } catch (error) {
    try {
      unlinkSync(path);
    } catch {
      // The first error is the one to report.
    }
    throw error;
  } finally {
    closeSync(fd);
  }
  return uuid;
}

/** Without `recursive`: Node tries for ever where the system answers ENOENT, as it does below /proc. */
async function makeFolder(path: string): Promise<void> {
  if (await isFolder(path)) return;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  await mkdir(path).catch(async (error: unknown) => {
    // Another process created it meanwhile.
    if (!(await isFolder(path))) throw error;
  });
}

/** What the system says of a path where nothing is. */
const NOT_THERE: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'];

/** @throws io where that cannot be told: a database whose disk fails is not a database that does not exist */
const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    (cause: NodeJS.ErrnoException) => {
      if (NOT_THERE.includes(cause.code)) return false;
      throw ioError(`Cannot look for the folder ${path}: ${whyOf(cause)}`, cause);
    },
  );

function readUuid(path: string, text: string): string {
  const damaged = (cause?: unknown) =>
    ioError(
      `${path} is damaged. It holds this server's identity; delete it, and replications begin anew`,
      cause,
    );
  let read: { uuid?: unknown } | null;
  try {
    read = JSON.parse(text);
  } catch (error) {
    throw damaged(error);
  }
  if (typeof read?.uuid !== 'string' || read.uuid === '') throw damaged();
  return read.uuid;
}
