/**
 * One connection to IndexedDB that heals itself.
 *
 * Browsers close connections on their own: Safari after the storage process died, all of them when a user clears the site's
 * data. The handle is then useless, so it is dropped and a new one opened, once for each call that met this.
 */
import { after, closed, type DatabaseError, isDatabaseError, unref } from '@settledb/core';
import { Undo } from './commits';
import { isRefusal } from './failure';
import { beginFreshLog, doubtLog } from './fresh-log';
import { needsTurns, oneAtATime } from './one-at-a-time';
import { type OpenRequest, openDatabase, outdated } from './open';
import { PutAway } from './put-away';
import { readSmallState } from './reading';
import { connectionLost, noAnswer, type Scope, transaction, type Work } from './transaction';
import { Watchdog } from './watchdog';

interface ConnectionEvents {
  /** The browser closed the connection. The next call opens another. */
  terminated(): void;
  /** The database was deleted; `evicted`: it is missing, or replaced by another one, and nobody had announced that. */
  gone(evicted: boolean): void;
  /** Newer code wants to change the layout. */
  outdated(cause: DatabaseError): void;
}

type Request = Omit<OpenRequest, 'terminated' | 'blocking'>;

export class Connection {
  readonly #request: OpenRequest;
  readonly #events: ConnectionEvents;
  /** How to end running calls when the browser closes the connection, since it need not abort their transactions. */
  readonly #pending = new Set<(cause: unknown) => void>();
  #db: IDBDatabase | undefined;
  #reopening: Promise<IDBDatabase> | undefined;
  #identity: string | undefined;
  #over: unknown;
  readonly #watchdog: Watchdog;
  #takeTurn = needsTurns() ? oneAtATime() : undefined;

  constructor(request: Request, events: ConnectionEvents) {
    const { name, answerTimeoutMs } = request;
    this.#watchdog = new Watchdog(answerTimeoutMs, () => this.#giveUp(noAnswer(name, answerTimeoutMs)));
    this.#events = events;
    this.#request = {
      ...request,
      terminated: () => this.#terminated(),
      blocking: (newVersion) => this.#makeWay(newVersion),
    };
  }

  /** To be called once, and awaited before all other calls. */
  async open(): Promise<void> {
    this.#use(await openDatabase(this.#request));
  }

  #use(db: IDBDatabase): void {
    this.#db = db;
    beginFreshLog();
  }

  get connected(): boolean {
    return this.#db !== undefined;
  }

  /** The identity of the database, learned from the first state read; a reopened database must have the same. */
  identify(id: string): void {
    this.#identity ??= id;
  }

  /**
   * Runs `requests` in one transaction, on a new connection if there is none. Rejects with the platform's exceptions; if one says that
   * the handle may be dead, that handle is forgotten, but not one that was opened since.
   */
  async transact<Answer>(scope: Scope, requests: (work: Work<Answer>) => void): Promise<Answer> {
    if (this.#over !== undefined) throw this.#over;
    const db = this.#db ?? (await this.#reopen());
    try {
      return await this.#watched(db, scope, requests);
    } catch (cause) {
      if (this.#db === db && !isRefusal(cause) && !isUndone(cause)) {
        doubtLog();
        this.#drop();
      }
      throw cause;
    }
  }

  /** One transaction that always ends: by itself, with the connection, or when nothing answers any more. */
  #watched<Answer>(db: IDBDatabase, scope: Scope, requests: (work: Work<Answer>) => void): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      const end = (settle: () => void): void => {
        if (this.#pending.delete(give)) this.#watchdog.ended();
        settle();
      };
      const give = (cause: unknown): void => end(() => reject(cause));
      this.#pending.add(give);
      this.#watchdog.began();
      const begin = (ended?: () => void): void => {
        transaction(db, scope, requests, ended).then((answer) => end(() => resolve(answer)), give);
      };
      if (this.#takeTurn === undefined) begin();
      else this.#takeTurn((ended) => (this.#pending.has(give) ? begin(ended) : ended()));
    });
  }

  /**
   * As `transact`, for requests that may be repeated: tries once more, on a new handle, unless the storage refused; and as often as the
   * page is put away meanwhile.
   */
  async replay<Answer>(
    scope: Scope,
    requests: (work: Work<Answer>) => void,
    isAgain = false,
  ): Promise<Answer> {
    try {
      return await this.transact(scope, requests); // rejects if the connection is over
    } catch (cause) {
      const isAway = cause instanceof PutAway;
      if (!isAway && (isAgain || isRefusal(cause))) throw cause;
      return this.replay(scope, requests, isAgain || !isAway);
    }
  }

  /**
   * Forgets the handle: the next call opens another. Transactions on the old one end by themselves, or may never do: then they are given
   * up, as what ends on the next one says nothing of them, and do not keep those of that one waiting.
   */
  #drop(): void {
    const { name, answerTimeoutMs } = this.#request;
    this.#db?.close();
    this.#db = undefined;
    const left = [...this.#pending];
    if (left.length > 0)
      after(
        answerTimeoutMs,
        () => {
          for (const end of left) end(noAnswer(name, answerTimeoutMs));
        },
        unref,
      );
    if (this.#takeTurn !== undefined) this.#takeTurn = oneAtATime();
  }

  /** Ends the connection: calls from now on reject with `cause`. */
  close(cause: unknown): void {
    this.#over ??= cause;
    this.#drop();
    this.#watchdog.close();
  }

  #reopen(): Promise<IDBDatabase> {
    this.#reopening ??= this.#openAgain().finally(() => {
      this.#reopening = undefined;
    });
    return this.#reopening;
  }

  async #openAgain(): Promise<IDBDatabase> {
    const db = await openDatabase({ ...this.#request, mustExist: true }).catch((cause) => {
      if (isDatabaseError(cause) && cause.status === 404) this.#gone(true);
      throw this.#over ?? cause;
    });
    const same = await this.#isSame(db).catch((cause) => {
      db.close();
      throw cause;
    });
    if (!same) this.#gone(true);
    if (this.#over !== undefined) {
      db.close();
      throw this.#over;
    }
    this.#use(db);
    return db;
  }

  /** A database that was evicted and made anew by another tab must not pass for the old one. */
  async #isSame(db: IDBDatabase): Promise<boolean> {
    const { id } = await this.#watched(db, { stores: ['meta'], mode: 'readonly' }, readSmallState);
    this.identify(id);
    return this.#identity === id;
  }

  #terminated(): void {
    // The event may come from an earlier handle; an open one would keep others from deleting the database.
    this.#giveUp(connectionLost());
    if (this.#over === undefined) this.#events.terminated();
  }

  /** What runs on this handle does not come to an end by itself. */
  #giveUp(cause: DOMException): void {
    if (this.#over === undefined) doubtLog();
    this.#drop();
    for (const end of [...this.#pending]) end(cause);
  }

  #makeWay(newVersion: number | null): void {
    this.#drop();
    if (newVersion === null) this.#gone(false);
    if (this.#over !== undefined || newVersion === null) return;
    const cause = outdated(this.#request.name, newVersion);
    this.close(cause);
    this.#events.outdated(cause);
  }

  #gone(evicted: boolean): void {
    if (this.#over !== undefined) return;
    this.close(closed());
    this.#events.gone(evicted);
  }
}

/** Whether a transaction was undone on purpose, on a handle that works. */
const isUndone = (cause: unknown): boolean => cause instanceof Undo || cause instanceof PutAway;
