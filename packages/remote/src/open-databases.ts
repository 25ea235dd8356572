/**
 * The open databases of a server: all that are in use, and of the others those that were used last.
 *
 * Creating, destroying and closing a database take turns, by name, and a use waits for them. So there are never two handles of one
 * database at a time: a request for one that is being closed gets it opened anew, with all that was written to it.
 */
import { closed, type Database, Turns } from '@settledb/core';
import { checkWhole } from './check-option';
import type { UsedDatabase } from './server-context';
import { systemCode } from './server-errors';

/**
 * Databases kept open: as many as CouchDB keeps. A small one takes a file or two and half a megabyte, and a millisecond or two to open; a
 * large one takes as much as its pages in memory.
 */
const MAX_OPEN = 500;

/** Of the process, and of the whole machine. */
const OUT_OF_FILES: readonly (string | undefined)[] = ['EMFILE', 'ENFILE'];

/** Opens the database of a name; undefined if it does not exist. */
type Open = (name: string) => Promise<Database | undefined>;

interface OpenDatabasesOptions {
  /** Most databases that are kept open, those in use among them: then the one that nobody has used for longest is closed. Default 500. */
  readonly most?: number | undefined;
  /** Called when more are in use than are kept open, and again whenever that number has doubled. */
  readonly warn?: ((line: string) => void) | undefined;
}

/** A database that is open, or about to be. */
interface Held {
  readonly name: string;
  readonly opening: Promise<Database | undefined>;
  /** Uses that have not ended; a database opened for good counts as one use. */
  uses: number;
  isForGood: boolean;
  /** Open, and not chosen to be closed. */
  isCounted: boolean;
}

export class OpenDatabases {
  readonly #open: Open;
  readonly #most: number;
  readonly #warn: ((line: string) => void) | undefined;
  readonly #held = new Map<string, Held>();
  /** Databases that nobody uses, the longest unused first. */
  readonly #idle = new Set<Held>();
  /** By name. */
  readonly #turns = new Turns();
  /** Number of held databases with `isCounted`. */
  #count = 0;
  #warnedOf: number;
  /** While databases are closed for others to be opened. */
  #makingRoom: Promise<void> | undefined;
  #isClosed = false;

  /** @throws TypeError */
  constructor(open: Open, { most = MAX_OPEN, warn }: OpenDatabasesOptions = {}) {
    checkWhole('max_dbs_open', most);
    this.#open = open;
    this.#most = most;
    this.#warnedOf = most;
    this.#warn = warn;
  }

  /** The database until its `release`; undefined if it does not exist. */
  async use(name: string): Promise<UsedDatabase | undefined> {
    const held = this.#turns.pending(name) ? await this.#begin(name) : this.#hold(name);
    const database = await held.opening;
    if (database === undefined) return undefined;
    let isOver = false;
    const release = (): void => {
      if (!isOver) this.#end(held);
      isOver = true;
    };
    return { database, release };
  }

  /** Like {@link use}, until the database is destroyed or dropped, or all are closed. */
  async openForGood(name: string): Promise<Database | undefined> {
    const held = await this.#begin(name);
    const database = await held.opening;
    if (held.isForGood) this.#end(held);
    held.isForGood = true;
    return database;
  }

  /** False if there is one; otherwise `make` makes it. */
  create(name: string, make: () => Promise<Database>): Promise<boolean> {
    return this.#turns.take(name, async () => {
      const there = await this.#usedFor(name);
      return there === undefined && (await this.#usedFor(name, make)) !== undefined;
    });
  }

  /** False if there is none. `destroy` gets a database that is no longer held, and will not be held before it is done. */
  destroy(name: string, destroy: (database: Database) => Promise<void>): Promise<boolean> {
    return this.#turns.take(name, async () => {
      const held = this.#held.get(name);
      const database = await (held === undefined ? this.#opened(name) : held.opening);
      if (database === undefined) return false;
      if (held !== undefined) this.#forget(held);
      await destroy(database);
      return true;
    });
  }

  /** Closes `database`, though it may be in use: the next use opens it anew. */
  drop(name: string, database: Database): void {
    void this.#turns
      .take(name, async () => {
        const held = this.#held.get(name);
        if (held === undefined || (await held.opening) !== database) return;
        this.#forget(held);
        await database.close();
      })
      .catch(() => {}); // It had failed before: closing it could lose nothing more.
  }

  /** Closes all databases, and opens no more. Failures to close are ignored: nobody is left who could act on them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#turns.over();
    const held = [...this.#held.values()];
    for (const each of held) this.#forget(each);
    await Promise.allSettled(held.map(async ({ opening }) => (await opening)?.close()));
  }

  async #begin(name: string): Promise<Held> {
    for (let turn = this.#turns.pending(name); turn; turn = this.#turns.pending(name)) await turn;
    return this.#hold(name);
  }

  /** Begins a use. A database that is absent or fails to open is not held: the next use asks for it anew. */
  #hold(name: string, open: Open = this.#open): Held {
    if (this.#isClosed) throw closed();
    const held = this.#held.get(name) ?? this.#add(name, this.#opened(name, open));
    if (held.uses++ === 0) this.#idle.delete(held);
    return held;
  }

  /** Where the system has no more files to open, room is made once: nothing else would, and only what is open already would be answered. */
  async #opened(name: string, open: Open = this.#open): Promise<Database | undefined> {
    try {
      return await open(name);
    } catch (error) {
      if (!OUT_OF_FILES.includes(systemCode(error))) throw error;
      if (this.#makingRoom === undefined && this.#idle.size === 0) throw error;
      // For all that wait at once: each closing a half would close all, and leave the last of them none.
      this.#makingRoom ??= this.#makeRoom();
      await this.#makingRoom;
      return open(name);
    }
  }

  /** Closes half of those that nobody uses. */
  async #makeRoom(): Promise<void> {
    const idle = this.#idle.size;
    await this.#closeIdle(this.#count - Math.ceil(idle / 2));
    this.#makingRoom = undefined;
    this.#warn?.(
      `The system opens no more files: of ${idle} databases that nobody used half were closed. Raise its limit (ulimit -n), or lower max_dbs_open`,
    );
  }

  #end(held: Held): void {
    if (--held.uses > 0 || !held.isCounted) return;
    this.#idle.add(held);
    if (this.#count > this.#most) void this.#closeIdle();
  }

  #add(name: string, opening: Promise<Database | undefined>): Held {
    const opened = async (): Promise<Database | undefined> => {
      const database = await opening.catch((error: unknown) => {
        this.#forget(held);
        throw error;
      });
      if (database === undefined) this.#forget(held);
      else if (this.#held.get(name) === held) {
        held.isCounted = true;
        this.#count++;
        // Awaited, so that a caller that opens many never has more open than are kept.
        await this.#closeIdle();
      }
      return database;
    };
    const held: Held = { name, opening: opened(), uses: 0, isForGood: false, isCounted: false };
    this.#held.set(name, held);
    return held;
  }

  async #usedFor(name: string, open?: Open): Promise<Database | undefined> {
    const held = this.#hold(name, open);
    try {
      return await held.opening;
    } finally {
      this.#end(held);
    }
  }

  /** Closes the longest idle ones until no more are open than are kept, or all are in use. */
  async #closeIdle(most = this.#most): Promise<void> {
    const closing: Promise<void>[] = [];
    for (const held of this.#idle) {
      if (this.#count <= most) break;
      this.#uncount(held);
      closing.push(this.#turns.take(held.name, () => this.#closeNow(held)));
    }
    if (this.#count > this.#most) this.#tell();
    // Nothing was under way in them: what they acknowledged is stored, even if tidying up failed.
    if (closing.length > 0) await Promise.allSettled(closing);
  }

  /** Closes it, unless another turn has removed it. */
  async #closeNow(held: Held): Promise<void> {
    if (this.#held.get(held.name) !== held) return;
    this.#forget(held);
    await (await held.opening)?.close();
  }

  #forget(held: Held): void {
    if (this.#held.get(held.name) === held) this.#held.delete(held.name);
    this.#uncount(held);
  }

  #uncount(held: Held): void {
    this.#idle.delete(held);
    if (held.isCounted) this.#count--;
    held.isCounted = false;
  }

  #tell(): void {
    if (this.#count <= this.#warnedOf) return;
    this.#warnedOf = this.#count * 2;
    this.#warn?.(
      `${this.#count} databases are in use and open, more than max_dbs_open, which is ${this.#most}`,
    );
  }
}
