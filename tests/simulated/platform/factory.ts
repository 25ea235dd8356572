/** Opening and deleting: one after the other for each name, and only when nobody is in the way. */
import { Connection } from './connection';
import { SimulatedEvent } from './events';
import { SimulatedDatabase, SimulatedOpenRequest } from './indexeddb';
import { StoredDatabase } from './storage';
import type { Tab } from './tab';

export class SimulatedFactory {
  readonly #tab: Tab;

  constructor(tab: Tab) {
    this.#tab = tab;
  }

  open(name: string, version?: number): SimulatedOpenRequest {
    if (version !== undefined && !(version >= 1)) throw new TypeError(`${version} is no version`);
    return this.#ask(name, (request, done) => this.#open(request, name, version, done));
  }

  deleteDatabase(name: string): SimulatedOpenRequest {
    return this.#ask(name, (request, done) => this.#delete(request, name, done));
  }

  #ask(name: string, work: (request: SimulatedOpenRequest, done: () => void) => void): SimulatedOpenRequest {
    const request = new SimulatedOpenRequest();
    const { toStorage, browser } = this.#tab;
    toStorage.send(() => browser.storage.inTurn(name, (done) => this.#soon(done, () => work(request, done))));
    return request;
  }

  /** Unless the tab is gone by then. */
  #soon(done: () => void, work: () => void): void {
    const { world } = this.#tab.browser;
    world.at(world.latency(), () => (this.#tab.isDead ? done() : work()));
  }

  #open(request: SimulatedOpenRequest, name: string, version: number | undefined, done: () => void): void {
    const { storage } = this.#tab.browser;
    const database = storage.databases.get(name) ?? new StoredDatabase();
    const wanted = version ?? Math.max(database.version, 1);
    if (wanted < database.version) {
      this.#fail(request, new DOMException('There is a newer version', 'VersionError'));
      done();
    } else if (wanted === database.version) {
      const connection = new Connection(this.#tab, storage, database);
      this.#tab.fromStorage.send(() => this.#succeed(request, new SimulatedDatabase(name, connection)));
      done();
    } else
      this.#whenAlone(request, database, wanted, done, () =>
        this.#upgrade(request, name, database, wanted, done),
      );
  }

  /** @param done called when the change of the version has ended, or its tab with it */
  #upgrade(
    request: SimulatedOpenRequest,
    name: string,
    database: StoredDatabase,
    version: number,
    done: () => void,
  ): void {
    const { storage } = this.#tab.browser;
    const connection = new Connection(this.#tab, storage, database);
    const before = database.version;
    let opened: SimulatedDatabase;
    this.#tab.fromStorage.send(() => {
      opened = new SimulatedDatabase(name, connection);
      const transaction = opened.upgrade(version);
      request.transaction = transaction;
      transaction.addEventListener('abort', () => {
        opened.close();
        this.#end(request, undefined, new DOMException('The upgrade was aborted', 'AbortError'));
      });
      request.settle(opened, null);
      request.dispatch(new SimulatedEvent('upgradeneeded', { oldVersion: before, newVersion: version }));
    });
    connection.upgraded = (isDone) => {
      database.version = isDone ? version : before;
      if (isDone) storage.databases.set(name, database);
      // After the word that it is complete, and before that of whoever is next in turn, and wants it closed.
      if (isDone) connection.tell(() => this.#end(request, opened, null));
      done();
    };
  }

  #delete(request: SimulatedOpenRequest, name: string, done: () => void): void {
    const { storage } = this.#tab.browser;
    const database = storage.databases.get(name);
    const oldVersion = database?.version ?? 0;
    const end = (): void => {
      if (storage.databases.get(name) === database) storage.databases.delete(name);
      this.#tab.fromStorage.send(() => this.#succeed(request, undefined, { oldVersion, newVersion: null }));
      done();
    };
    if (database === undefined) end();
    else this.#whenAlone(request, database, null, done, end);
  }

  /** Asks those who are connected to go, and waits until they have. @param done called if the tab is gone before */
  #whenAlone(
    request: SimulatedOpenRequest,
    database: StoredDatabase,
    newVersion: number | null,
    done: () => void,
    work: () => void,
  ): void {
    let asked = database.connections.size;
    let isOver = false;
    const look = (): void => {
      if (isOver || (database.connections.size > 0 && !this.#tab.isDead)) return;
      isOver = true;
      database.released = () => {};
      if (this.#tab.isDead) done();
      else work();
    };
    const oldVersion = database.version;
    const blocked = (): void => {
      if (--asked > 0 || isOver) return;
      this.#tab.fromStorage.send(() => {
        if (!isOver) request.dispatch(new SimulatedEvent('blocked', { oldVersion, newVersion }));
      });
    };
    for (const connection of database.connections)
      connection.tell(() => {
        connection.inTheWay(newVersion);
        // Who closes at once is not in the way.
        connection.tab.toStorage.send(blocked);
      });
    database.released = look;
    this.#tab.whenEnded(look);
    look();
  }

  #fail(request: SimulatedOpenRequest, error: DOMException): void {
    this.#tab.fromStorage.send(() => this.#end(request, undefined, error));
  }

  #succeed(request: SimulatedOpenRequest, result: unknown, fields: Record<string, unknown> = {}): void {
    this.#end(request, result, null, fields);
  }

  #end(
    request: SimulatedOpenRequest,
    result: unknown,
    error: DOMException | null,
    fields: Record<string, unknown> = {},
  ): void {
    request.settle(result, error);
    request.transaction = null;
    const isError = error !== null;
    request.dispatch(new SimulatedEvent(isError ? 'error' : 'success', { bubbles: isError, ...fields }));
  }
}
