/**
 * One connection to IndexedDB that heals itself.
 *
 * Browsers close connections on their own: Safari after the storage process died, all of them when a user clears the site's
 * data. The handle is useless from then on, so it is dropped and a new one opened, once for each call that met it.
 */
import { closed, isDatabaseError } from '@settledb/core';
import { isRefusal } from './failure';
import { type OpenRequest, openDatabase, outdated } from './open';
import { checkState } from './schema';
import { connectionLost, type Scope, transaction, type Work } from './transaction';

export interface ConnectionEvents {
  /** The browser closed the connection. The next call opens another. */
  terminated(): void;
  /** The database was deleted, or another stands in its place. */
  gone(): void;
  /** Newer code wants to change the layout. */
  outdated(cause: unknown): void;
}

type Request = Omit<OpenRequest, 'terminated' | 'blocking'>;

export class Connection {
  readonly #request: OpenRequest;
  readonly #events: ConnectionEvents;
  /** How to end the calls under way when the browser closes the connection: it need not fire their aborts. */
  readonly #pending = new Set<(cause: unknown) => void>();
  #db: IDBDatabase | undefined;
  #reopening: Promise<IDBDatabase> | undefined;
  #identity: string | undefined;
  #over: unknown;

  private constructor(request: Request, events: ConnectionEvents) {
    this.#events = events;
    this.#request = {
      ...request,
      terminated: () => this.#terminated(),
      blocking: (newVersion) => this.#makeWay(newVersion),
    };
  }

  static async open(request: Request, events: ConnectionEvents): Promise<Connection> {
    const connection = new Connection(request, events);
    connection.#db = await openDatabase(connection.#request);
    return connection;
  }

  get connected(): boolean {
    return this.#db !== undefined;
  }

  /** Which database this is, learned with the first state read; a reopened one must be the same. */
  identify(id: string): void {
    this.#identity ??= id;
  }

  /** Runs `requests` in one transaction, on a new connection if there is none. Rejects with the platform's exceptions. */
  async transact<Answer>(scope: Scope, requests: (work: Work<Answer>) => void): Promise<Answer> {
    if (this.#over !== undefined) throw this.#over;
    const db = this.#db ?? (await this.#reopen());
    let end: ((cause: unknown) => void) | undefined;
    try {
      return await new Promise<Answer>((resolve, reject) => {
        end = reject;
        this.#pending.add(reject);
        transaction(db, scope, requests).then(resolve, reject);
      });
    } finally {
      if (end !== undefined) this.#pending.delete(end);
    }
  }

  /** As `transact`, for what may be done twice: once more, on a new handle, unless the storage refused. */
  async replay<Answer>(scope: Scope, requests: (work: Work<Answer>) => void): Promise<Answer> {
    try {
      return await this.transact(scope, requests);
    } catch (cause) {
      if (this.#over !== undefined || isRefusal(cause)) throw this.#over ?? cause;
      this.drop();
      return this.transact(scope, requests);
    }
  }

  /** Forgets the handle: the next call opens another. What runs on the old one ends by itself. */
  drop(): void {
    this.#db?.close();
    this.#db = undefined;
  }

  /** Ends it: calls from now on reject with `cause`. */
  close(cause: unknown): void {
    this.#over ??= cause;
    this.drop();
  }

  #reopen(): Promise<IDBDatabase> {
    this.#reopening ??= this.#openAgain().finally(() => {
      this.#reopening = undefined;
    });
    return this.#reopening;
  }

  async #openAgain(): Promise<IDBDatabase> {
    const db = await openDatabase({ ...this.#request, mustExist: true }).catch((cause) => {
      if (isDatabaseError(cause) && cause.status === 404) this.#gone();
      throw this.#over ?? cause;
    });
    const same = await this.#isSame(db).catch((cause) => {
      db.close();
      throw cause;
    });
    if (!same) this.#gone();
    if (this.#over !== undefined) {
      db.close();
      throw this.#over;
    }
    this.#db = db;
    return db;
  }

  /** A database that was evicted and made anew by another tab must not pass for the one we knew. */
  async #isSame(db: IDBDatabase): Promise<boolean> {
    const id = await transaction<string>(
      db,
      { stores: ['meta'], mode: 'readonly' },
      ({ meta, after, answer }) => {
        const state = meta.get('state');
        after(state, () => answer(checkState(state.result).id));
      },
    );
    this.#identity ??= id;
    return this.#identity === id;
  }

  #terminated(): void {
    this.#db = undefined;
    const cause = connectionLost();
    for (const end of [...this.#pending]) end(cause);
    if (this.#over === undefined) this.#events.terminated();
  }

  #makeWay(newVersion: number | null): void {
    this.drop();
    if (newVersion === null) this.#gone();
    if (this.#over !== undefined || newVersion === null) return;
    const cause = outdated(this.#request.name, newVersion);
    this.close(cause);
    this.#events.outdated(cause);
  }

  #gone(): void {
    if (this.#over !== undefined) return;
    this.close(closed());
    this.#events.gone();
  }
}
