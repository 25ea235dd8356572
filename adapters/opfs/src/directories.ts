/** Where databases lie: each in a directory of its own, in the directory `settledb`. */
import { badRequest } from '@settledb/core';
import { nameOf } from './handles';

type Storage = () => Promise<FileSystemDirectoryHandle>;

const ROOT = 'settledb';
/** Bytes of a name that every file system takes. */
const NAME_MAX = 255;
/** How browsers refuse to make a directory in one that is gone; the second is Firefox's word (153). */
const CLEARED = ['NotFoundError', 'UnknownError'];

/** What the browser's storage answered: asking costs as much as opening a file. */
let known: Promise<FileSystemDirectoryHandle> | undefined;

export class Directories {
  readonly #storage: Storage | undefined;

  /** @param storage stands in for the browser's, in tests */
  constructor(storage: Storage | undefined) {
    this.#storage = storage;
  }

  /** @throws NotFoundError if there is none, and none is to be made */
  async get(name: string, create: boolean): Promise<FileSystemDirectoryHandle> {
    const own = directoryName(name);
    try {
      return await (await this.#root(create)).getDirectoryHandle(own, { create });
    } catch (error) {
      if (!create || !CLEARED.includes(nameOf(error) ?? '')) throw error;
      // The site's data was cleared since the root was asked for.
      known = undefined;
      return (await this.#root(create)).getDirectoryHandle(own, { create });
    }
  }

  /** @throws NotFoundError if there is none */
  async remove(name: string): Promise<void> {
    await (await this.#root(false)).removeEntry(directoryName(name), { recursive: true });
  }

  #root(create: boolean): Promise<FileSystemDirectoryHandle> {
    if (this.#storage !== undefined) return rootOf(this.#storage, create);
    known ??= rootOf(() => navigator.storage.getDirectory(), create).catch((error) => {
      known = undefined;
      throw error;
    });
    return known;
  }
}

const rootOf = async (storage: Storage, create: boolean): Promise<FileSystemDirectoryHandle> =>
  (await storage()).getDirectoryHandle(ROOT, { create });

/**
 * No two names have the same directory, also where a file system takes `A` and `a` for one: what is no small letter, digit, `-` or `_` is
 * written as four hexadecimal digits for each UTF-16 unit.
 *
 * @throws DatabaseError `bad_request` for a name that becomes too long
 */
function directoryName(name: string): string {
  const escaped = name.replace(
    /[^a-z0-9_-]/g,
    (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  if (escaped.length > NAME_MAX) throw badRequest(`the database's name is too long for a directory: ${name}`);
  return escaped;
}
