/**
 * The databases of a server as folders below one folder. Node only.
 *
 * What a database is made of is not known here: whoever starts the server says how to open one.
 */
import { mkdir, open, readdir, readFile, rmdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Database, ioError, isDatabaseError, uuid as makeUuid } from '@settledb/core';
import { fromFolderName, isStoredName, toFolderName } from './names';
import type { Databases } from './server-context';

/** Opens the database in the folder `path`, or makes one there unless it must exist (then `not_found`). */
export type OpenDatabase = (
  path: string,
  options: { readonly name: string; readonly mustExist: boolean },
) => Promise<Database>;

/** No database's folder: their names have no dot. */
const IDENTITY_FILE = 'server.json';

export class FolderDatabases implements Databases {
  readonly #dir: string;
  readonly #openDatabase: OpenDatabase;
  readonly #held = new Map<string, Promise<Database | undefined>>();
  /** The last of what creates, destroys or closes a database: these take turns, by name. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(dir: string, openDatabase: OpenDatabase) {
    this.#dir = dir;
    this.#openDatabase = openDatabase;
  }

  open(name: string): Promise<Database | undefined> {
    const turn = this.#turns.get(name);
    return turn === undefined ? this.#openHeld(name) : turn.then(() => this.#openHeld(name));
  }

  #openHeld(name: string): Promise<Database | undefined> {
    return this.#held.get(name) ?? this.#hold(name, this.#openExisting(name));
  }

  create(name: string): Promise<boolean> {
    return this.#inTurn(name, async () => {
      if ((await (this.#held.get(name) ?? this.#hold(name, this.#openExisting(name)))) !== undefined)
        return false;
      await this.#hold(name, this.#openDatabase(this.#path(name), { name, mustExist: false }));
      return true;
    });
  }

  destroy(name: string): Promise<boolean> {
    return this.#inTurn(name, async () => {
      const database = await (this.#held.get(name) ?? this.#openExisting(name));
      if (database === undefined) return false;
      this.#held.delete(name);
      await database.destroy();
      // The adapter takes away what it made; an empty folder would still be listed.
      await rmdir(this.#path(name)).catch(() => {});
      return true;
    });
  }

  async list(): Promise<string[]> {
    const entries = await readdir(this.#dir, { withFileTypes: true });
    const names = entries.map((entry) => (entry.isDirectory() ? fromFolderName(entry.name) : undefined));
    return names.filter((name) => name !== undefined).sort();
  }

  drop(name: string, database: Database): void {
    void this.#inTurn(name, async () => {
      if ((await this.#held.get(name)) !== database) return;
      this.#held.delete(name);
      await database.close();
    }).catch(() => {});
  }

  /** Closes all of them. Those that fail to are left: there is nobody to tell who could do anything about it. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#turns.values());
    const held = [...this.#held.values()];
    this.#held.clear();
    await Promise.allSettled(held.map(async (database) => (await database)?.close()));
  }

  /** What is absent or fails to open is asked for anew next time. */
  #hold(name: string, opening: Promise<Database | undefined>): Promise<Database | undefined> {
    this.#held.set(name, opening);
    const forget = (): void => {
      if (this.#held.get(name) === opening) this.#held.delete(name);
    };
    opening.then((database) => database ?? forget(), forget);
    return opening;
  }

  async #openExisting(name: string): Promise<Database | undefined> {
    const path = this.#path(name);
    if (!(await isFolder(path))) return undefined;
    try {
      return await this.#openDatabase(path, { name, mustExist: true });
    } catch (error) {
      if (isDatabaseError(error) && error.status === 404) return undefined;
      throw error;
    }
  }

  #inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#turns.get(name) ?? Promise.resolve()).then(work, work);
    const ended = turn.then(
      () => {},
      () => {},
    );
    this.#turns.set(name, ended);
    void ended.then(() => {
      if (this.#turns.get(name) === ended) this.#turns.delete(name);
    });
    return turn;
  }

  #path(name: string): string {
    // Names are checked where they arrive; this is the last place at which a path could be made of anything else.
    if (!isStoredName(name)) throw ioError('A database name that is none reached the disk');
    return join(this.#dir, toFolderName(name));
  }
}

/** The identity of the server in `dir`, made on first use. Replications know their checkpoints by it. */
export async function serverUuid(dir: string): Promise<string> {
  await makeFolder(resolve(dir)).catch((cause: unknown) => {
    throw ioError(`Cannot make the folder ${dir}`, cause);
  });
  const path = join(dir, IDENTITY_FILE);
  try {
    const file = await open(path, 'wx');
    const uuid = makeUuid();
    try {
      await file.writeFile(`${JSON.stringify({ uuid })}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    return uuid;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw ioError(`Cannot write ${path}`, error);
  }
  return readUuid(path, await readFile(path, 'utf8'));
}

/** Not by `recursive`: Node tries for ever where the system answers ENOENT, as it does below /proc. */
async function makeFolder(path: string): Promise<void> {
  if (await isFolder(path)) return;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  await mkdir(path).catch(async (error: unknown) => {
    // Another process made it meanwhile.
    if (!(await isFolder(path))) throw error;
  });
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

function readUuid(path: string, text: string): string {
  try {
    const { uuid } = JSON.parse(text) as { uuid?: unknown };
    if (typeof uuid === 'string' && uuid !== '') return uuid;
  } catch {}
  throw ioError(
    `${path} is damaged. It holds this server's identity; delete it, and replications begin anew`,
  );
}
