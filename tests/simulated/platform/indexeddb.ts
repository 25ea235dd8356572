/**
 * IndexedDB as a program sees it. Transactions are active while they are made and while an event of theirs is told, microtasks included, and
 * commit when nothing is asked for any more.
 */
import type { Connection } from './connection';
import { SimulatedEvent, SimulatedTarget } from './events';
import { checkKey, KeyRange } from './keys';
import { type Asked, type Operation, StoredTransaction } from './stored-transaction';

const inactive = (): DOMException =>
  new DOMException('The transaction is not active', 'TransactionInactiveError');
const invalid = (why: string): DOMException => new DOMException(why, 'InvalidStateError');

export class SimulatedRequest extends SimulatedTarget {
  error: DOMException | null = null;
  transaction: SimulatedTransaction | null = null;
  #result: unknown;
  #isDone = false;

  get result(): unknown {
    if (!this.#isDone) throw invalid('The request has not finished');
    return this.#result;
  }

  settle(result: unknown, error: DOMException | null): void {
    this.#isDone = true;
    this.#result = result;
    this.error = error;
  }
}

export class SimulatedOpenRequest extends SimulatedRequest {}

export class SimulatedStore {
  readonly name: string;
  readonly #transaction: SimulatedTransaction;

  constructor(name: string, transaction: SimulatedTransaction) {
    this.name = name;
    this.#transaction = transaction;
  }

  readonly get = (query: unknown) => this.#ask('get', query);
  readonly getKey = (query: unknown) => this.#ask('getKey', query);
  readonly getAll = (query?: unknown) => this.#ask('getAll', query);
  readonly getAllKeys = (query?: unknown) => this.#ask('getAllKeys', query);
  readonly count = (query?: unknown) => this.#ask('count', query);
  readonly delete = (query: unknown) => this.#ask('delete', query);

  /** The last key and nothing after it, which is all that is asked for. */
  openKeyCursor(query: unknown, direction: IDBCursorDirection): SimulatedRequest {
    if (direction !== 'prev') throw new Error(`Cursors in the direction ${direction} are not simulated`);
    return this.#ask('lastKey', query);
  }

  readonly add = (value: unknown, key: unknown) => this.#put('add', value, key);
  readonly put = (value: unknown, key: unknown) => this.#put('put', value, key);

  #put(operation: 'add' | 'put', value: unknown, key: unknown): SimulatedRequest {
    const checked = checkKey(key);
    return this.#transaction.ask({
      operation,
      store: this.name,
      key: checked,
      range: KeyRange.only(checked),
      value: structuredClone(value),
    });
  }

  #ask(operation: Operation, query: unknown): SimulatedRequest {
    return this.#transaction.ask({ operation, store: this.name, key: undefined, range: KeyRange.of(query) });
  }
}

type State = 'open' | 'committing' | 'ended';

export class SimulatedTransaction extends SimulatedTarget {
  readonly db: SimulatedDatabase;
  readonly mode: IDBTransactionMode;
  error: DOMException | null = null;
  readonly #connection: Connection;
  readonly #stored: StoredTransaction;
  readonly #scope: readonly string[];
  readonly #pending = new Set<SimulatedRequest>();
  #state: State = 'open';
  #isActive = true;

  /** @param ended told when it has ended, after its own listeners */
  constructor(
    db: SimulatedDatabase,
    connection: Connection,
    scope: readonly string[],
    mode: IDBTransactionMode,
  ) {
    super();
    this.db = db;
    this.mode = mode;
    this.#connection = connection;
    this.#scope = scope;
    this.#stored = new StoredTransaction(connection, scope, mode, {
      complete: () => this.#end('complete'),
      aborted: (error) => this.#aborted(error ?? null),
    });
    connection.ask(() => connection.begin(this.#stored), mode === 'readwrite' ? scope.join() : undefined);
    this.#restLater();
  }

  objectStore(name: string): SimulatedStore {
    if (this.#state === 'ended') throw invalid('The transaction has ended');
    if (!this.#scope.includes(name) && this.mode !== 'versionchange')
      throw new DOMException(`${name} is not in the scope`, 'NotFoundError');
    return new SimulatedStore(name, this);
  }

  create(name: string): SimulatedStore {
    if (!this.#isActive) throw inactive();
    this.#connection.ask(() => this.#stored.create(name));
    return new SimulatedStore(name, this);
  }

  ask(asked: Omit<Asked, 'answered'>): SimulatedRequest {
    if (!this.#isActive || this.#state !== 'open') throw inactive();
    const writes = ['add', 'put', 'delete'].includes(asked.operation);
    if (writes && this.mode === 'readonly') throw new DOMException('It only reads', 'ReadOnlyError');
    const request = new SimulatedRequest();
    request.transaction = this;
    this.#pending.add(request);
    const answered: Asked['answered'] = (result, error) => this.#answered(request, result, error);
    this.#connection.ask(() => this.#stored.ask({ ...asked, answered }));
    return request;
  }

  commit(): void {
    if (this.#state !== 'open' || !this.#isActive) throw invalid('The transaction is not active');
    this.#commit();
  }

  abort(): void {
    if (this.#state !== 'open') throw invalid('The transaction has ended');
    this.#abort(null);
  }

  /** When control returns to the browser; if nothing was asked for, that is the end. */
  #restLater(): void {
    this.#connection.world.afterTask(() => {
      this.#isActive = false;
      if (this.#state === 'open' && this.#pending.size === 0) this.#commit();
    });
  }

  #commit(): void {
    this.#state = 'committing';
    this.#connection.ask(() => this.#stored.commit());
  }

  #abort(error: DOMException | null): void {
    this.error = error;
    this.#state = 'ended';
    this.#connection.ask(() => this.#stored.abort(error ?? undefined));
  }

  #answered(request: SimulatedRequest, result: unknown, error: DOMException | undefined): void {
    // Of one that the program has undone nothing is told but that.
    if (this.#state === 'ended' || !this.#pending.delete(request)) return;
    request.settle(result, error ?? null);
    this.#isActive = true;
    this.#restLater();
    const event = new SimulatedEvent(error === undefined ? 'success' : 'error', {
      bubbles: error !== undefined,
    });
    request.dispatch(event, this, this.db);
    if (error !== undefined && !event.defaultPrevented && this.#state === 'open') this.#abort(error);
  }

  #aborted(error: DOMException | null): void {
    this.error ??= error;
    this.#state = 'ended';
    for (const request of this.#pending) {
      request.settle(undefined, new DOMException('The transaction was aborted', 'AbortError'));
      request.dispatch(new SimulatedEvent('error', { bubbles: true }), this, this.db);
    }
    this.#pending.clear();
    this.#end('abort');
  }

  #end(how: 'complete' | 'abort'): void {
    this.#state = 'ended';
    this.dispatch(new SimulatedEvent(how, { bubbles: how === 'abort' }), this.db);
  }
}

export class SimulatedDatabase extends SimulatedTarget {
  readonly name: string;
  version: number;
  readonly #connection: Connection;
  readonly #stores: Set<string>;
  #upgrading: SimulatedTransaction | undefined;
  #isClosed = false;

  constructor(name: string, connection: Connection) {
    super();
    this.name = name;
    this.version = connection.database.version;
    this.#connection = connection;
    this.#stores = new Set(connection.database.stores.keys());
    connection.lost = () => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      this.dispatch(new SimulatedEvent('close'));
    };
    connection.inTheWay = (newVersion) => {
      const fields = { oldVersion: this.version, newVersion };
      if (!this.#isClosed) this.dispatch(new SimulatedEvent('versionchange', fields));
    };
  }

  get objectStoreNames(): Pick<DOMStringList, 'length' | 'contains'> {
    return { length: this.#stores.size, contains: (name) => this.#stores.has(name) };
  }

  transaction(
    stores: string | readonly string[],
    mode: IDBTransactionMode = 'readonly',
  ): SimulatedTransaction {
    if (this.#isClosed) throw invalid('The database connection is closing.');
    const scope = [stores].flat();
    for (const name of scope)
      if (!this.#stores.has(name)) throw new DOMException(`There is no store ${name}`, 'NotFoundError');
    return new SimulatedTransaction(this, this.#connection, scope, mode);
  }

  createObjectStore(name: string): SimulatedStore {
    if (this.#upgrading === undefined) throw invalid('The version is not being changed');
    this.#stores.add(name);
    return this.#upgrading.create(name);
  }

  /** Begins the transaction that changes the version. Nobody else is connected. */
  upgrade(version: number): SimulatedTransaction {
    this.version = version;
    this.#upgrading = new SimulatedTransaction(this, this.#connection, [], 'versionchange');
    const over = (): void => {
      this.#upgrading = undefined;
    };
    this.#upgrading.addEventListener('complete', over);
    this.#upgrading.addEventListener('abort', over);
    return this.#upgrading;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.ask(() => this.#connection.close());
  }
}
