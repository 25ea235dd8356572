/**
 * What the server stores about databases, and about itself, in a database of its own that no path leads to: security
 * objects, revision limits, purges, the secret of its cookies. It is created when there is first something to store.
 *
 * Settings are read once and then kept in memory, at most {@link MAX_KNOWN} of them: one handler serves a set of databases.
 */
import { type Database, type ExistingDoc, notFound, Turns, unlessMissing, uuid } from '@settledb/core';
import type { Databases } from './server-context';
import { withDatabase } from './server-uses';

/**
 * Databases whose settings are held in memory; those held longest make room. More than most servers have, and a few MB, since
 * administrators' settings are small: if one is not held, the next request for it has to read a document.
 */
export const MAX_KNOWN = 10_000;

/** A name that no client can use. */
export const SETTINGS_DATABASE = '_settings';

/** CouchDB's security object: who may do what with a database. Other members are kept. */
export interface Security {
  readonly admins?: Names | undefined;
  readonly members?: Names | undefined;
  readonly [more: string]: unknown;
}
export interface Names {
  readonly names?: readonly string[] | undefined;
  readonly roles?: readonly string[] | undefined;
}

/** CouchDB 3's default: for server administrators alone. */
export const DEFAULT_SECURITY: Security = { members: { roles: ['_admin'] }, admins: { roles: ['_admin'] } };

/** What is kept about one database. */
export interface DatabaseSettings {
  readonly security?: Security;
  readonly revs_limit?: number;
  readonly purged_infos_limit?: number;
  /** Oldest first. */
  readonly purged_infos?: readonly { readonly id: string; readonly revs: readonly string[] }[];
}

type Row = ExistingDoc<Record<string, unknown>>;

export class Settings {
  readonly #databases: Databases;
  readonly #known = new Map<string, DatabaseSettings>();
  /** Changes of a document take turns: each is based on the result of the one before. */
  readonly #turns = new Turns();
  #secret: Promise<string> | undefined;

  constructor(databases: Databases) {
    this.#databases = databases;
  }

  /** The settings of the database `name`, which must exist: made-up names are not looked up. Empty if nothing was set. */
  async of(name: string): Promise<DatabaseSettings> {
    // In turn, so that settings read before a change are not kept after it.
    return this.#known.get(name) ?? this.#inTurn(name, () => this.#load(name));
  }

  async #load(name: string): Promise<DatabaseSettings> {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const { settings = {} } = ((await this.#read(`db:${name}`)) ?? {}) as { settings?: DatabaseSettings };
    this.#keep(name, settings);
    return settings;
  }

  #keep(name: string, settings: DatabaseSettings): void {
    this.#known.delete(name);
    if (this.#known.size >= MAX_KNOWN) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(name, settings);
  }

  /** @param database of that name. @throws closed, or not_found if it was deleted meanwhile: the settings would be those of another */
  async change(
    name: string,
    change: (before: DatabaseSettings) => DatabaseSettings,
    database?: Database,
  ): Promise<void> {
    await this.#inTurn(name, async () => {
      const id = await database?.id();
      const settings = change(await this.#load(name));
      await this.#set(name, settings);
      if (id === undefined || (await withDatabase(this.#databases, name, (now) => now.id())) === id) return;
      await this.#forget(name);
      throw notFound('Database does not exist.');
    });
  }

  /**
   * Forgets what was set for a database, and destroys it: another one of the same name begins with the defaults. In one turn, because what
   * is set between the two would be that of the other one.
   *
   * @param isLeft whether a database that could not be destroyed is still there: then its members must be able to enter it as before
   */
  forgetWith<T>(name: string, destroy: () => Promise<T>, isLeft: () => Promise<boolean>): Promise<T> {
    return this.#inTurn(name, async () => {
      const before = await this.#forget(name);
      try {
        return await destroy();
      } catch (error) {
        if (before !== undefined && (await isLeft())) await this.#set(name, before).catch(() => {});
        throw error;
      }
    });
  }

  async #set(name: string, settings: DatabaseSettings): Promise<void> {
    await this.#write(`db:${name}`, { settings });
    this.#keep(name, settings);
  }

  async #forget(name: string): Promise<DatabaseSettings | undefined> {
    const id = `db:${name}`;
    const before = await this.#read(id);
    // Not deleted: a tombstone for each name that ever was would stay for good.
    if (before !== undefined)
      await withDatabase(this.#databases, SETTINGS_DATABASE, (settings) => settings.purge(id, before._rev));
    this.#known.delete(name);
    return before?.settings as DatabaseSettings | undefined;
  }

  /** Signs cookies. It is stored, so that a restart logs nobody out. */
  secret(): Promise<string> {
    this.#secret ??= this.#turns
      .take('secret', async () => {
        const kept = (await this.#read('secret'))?.secret;
        if (typeof kept === 'string' && kept.length >= 32) return kept;
        const secret = uuid() + uuid();
        await this.#write('secret', { secret });
        return secret;
      })
      .catch((error: unknown) => {
        this.#secret = undefined;
        throw error;
      });
    return this.#secret;
  }

  #inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.#turns.take(`db:${name}`, work);
  }

  async #read(id: string): Promise<Row | undefined> {
    return withDatabase(this.#databases, SETTINGS_DATABASE, (database) =>
      (database.get(id) as Promise<Row>).catch(unlessMissing),
    );
  }

  async #write(id: string, content: Record<string, unknown>): Promise<void> {
    const before = await this.#read(id);
    const doc = { ...content, _id: id, ...(before === undefined ? {} : { _rev: before._rev }) };
    const put = (): Promise<unknown> =>
      withDatabase(this.#databases, SETTINGS_DATABASE, (database) => database.put(doc));
    if ((await put()) !== undefined) return;
    await this.#turns.take('', () => this.#databases.create(SETTINGS_DATABASE));
    if ((await put()) === undefined) throw new Error('The database of settings was made, and is not there');
  }
}
