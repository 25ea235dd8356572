/**
 * `settledb recover`. A part must never pass for all there is, however this process ends: so a folder gets its name when all is in it.
 *
 *   notes.part │ documents … │ → closed → notes
 */
import { existsSync, lstatSync, readdirSync, realpathSync, renameSync, rmdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { isOwnName } from '@settledb/adapter-file';
import { badRequest, type DatabaseInfo, whyOf } from '@settledb/core';
import { addressOf, isUrl } from '../options';
import { hasDocuments, NOT_EMPTY, type Recovered, type RecoverTarget, recover } from '../recover';
import type { SettleDB } from '../settledb';
import { checkFolder, existing, hasLog, restored } from './open';
import { complain } from './say';
import { unlessAsked } from './until-asked';

export async function recovery(folder: string, name: string): Promise<Recovered> {
  checkFolder(folder);
  addressOf(name, {}); // refuses a mistyped URL, which as a path of its own would be a folder
  const target = isUrl(name) ? new Target(name) : new FolderTarget(name, realpathSync(folder));
  try {
    const recovered = await unlessAsked((signal) => recover(folder, target, { signal }));
    await target.finish();
    return recovered;
  } catch (error) {
    if (target.has === 'a part')
      complain(`${target.shown} has only a part of it: remove it before you try again`);
    throw error;
  } finally {
    await target.close();
  }
}

/** A database behind a URL, which has its name from the beginning. */
class Target implements RecoverTarget {
  has: 'nothing' | 'a part' | 'all' = 'nothing';
  protected db: SettleDB | undefined;

  /** @param name of the database that is written to */
  constructor(readonly name: string) {}

  /** The name without what may be a password, once there is the database. */
  get shown(): string {
    return this.db!.name;
  }

  /** First asked once the source was read, and while that is locked: it may be the same, and an opening to write may cut off its end. */
  async info(): Promise<DatabaseInfo> {
    this.db ??= restored(this.name);
    const info = await this.db.info();
    if (this.has === 'nothing' && hasDocuments(info))
      throw badRequest(
        `${NOT_EMPTY}: if a recovery to it was interrupted, it has a part; remove it before you try again`,
      );
    return info;
  }

  readonly bulkDocs: RecoverTarget['bulkDocs'] = (...given) => {
    this.has = 'a part';
    return this.db!.bulkDocs(...given); // after `info`
  };

  async finish(): Promise<void> {
    this.has = 'all';
  }

  async close(): Promise<void> {
    await this.db?.close();
  }
}

class FolderTarget extends Target {
  readonly #folder: string;
  readonly #source: string;
  /** A database that has the name, and no documents. It is kept open, so that nobody else writes to it. */
  #before: SettleDB | undefined;

  /** @param source the path of what is read, without links */
  constructor(name: string, source: string) {
    const folder = existsSync(name) ? realpathSync(name) : resolve(name);
    super(`${folder}.part`);
    this.#folder = folder;
    this.#source = source;
  }

  override async info(): Promise<DatabaseInfo> {
    return this.db === undefined ? ((await this.#occupied()) ?? super.info()) : super.info();
  }

  /**
   * What there is of the database that has the name, if it has documents. What would be in the way in the end is found now, before
   * anything is written.
   *
   * @throws if something is
   */
  async #occupied(): Promise<DatabaseInfo | undefined> {
    const folder = this.#folder;
    const isDatabase = hasLog(folder);
    if (isDatabase) {
      this.#before = existing(folder);
      const info = await this.#before.info();
      if (hasDocuments(info)) return info;
    } else if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink())
      throw new Error(`${folder} is a link to nothing: remove it, or name another target`);
    const names = existsSync(folder) ? readdirSync(folder) : undefined;
    const other = names?.find((each) => !(isDatabase && isOwnName(each)));
    if (other !== undefined)
      throw new Error(`${folder} has other files (${other}): name a folder that is empty, or not there`);
    this.#checkPart();
    if (names?.length === 0) removeEmpty(folder);
    return undefined;
  }

  #checkPart(): void {
    const { name } = this;
    if (!existsSync(name)) return;
    if (realpathSync(name) === this.#source)
      throw new Error(`${name} is what is read, and what would be written to: name another target`);
    throw new Error(
      `${name} is there, with what a recovery brought that was interrupted, or is under way, or all of it: remove it, or rename it if it is whole, before you try again`,
    );
  }

  override async finish(): Promise<void> {
    await this.db?.close();
    this.has = 'all';
    try {
      await this.#before?.destroy();
      renameSync(this.name, this.#folder);
    } catch (cause) {
      throw new Error(`all of it is in ${this.name}, which could not be given its name: ${whyOf(cause)}`, {
        cause,
      });
    }
  }

  override async close(): Promise<void> {
    // If it could not be made, that is the error.
    if (this.has === 'nothing') await this.db?.destroy().catch(() => {});
    await super.close();
    await this.#before?.close();
  }
}

/**
 * Windows does not replace an empty folder, and no system one that another disk is mounted on. It goes before anything is written: if the
 * recovery then fails, an empty folder is gone, and nothing with it.
 */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (cause) {
    const advice = (cause as NodeJS.ErrnoException).code === 'EBUSY' ? ': name a folder within it' : '';
    throw new Error(`${folder} is empty, and cannot be replaced: ${whyOf(cause)}${advice}`, { cause });
  }
}
