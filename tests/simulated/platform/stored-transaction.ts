/**
 * A transaction where the storage is: its requests are done in the order in which they arrive, once it has begun, and undone if it does not
 * end well. Nobody else sees anything of it before.
 */
import type { Connection } from './connection';
import type { Key, KeyRange } from './keys';
import type { Records } from './records';
import type { Engine } from './storage';

export type Operation =
  | 'get'
  | 'getAll'
  | 'getAllKeys'
  | 'getKey'
  | 'count'
  | 'lastKey'
  | 'add'
  | 'put'
  | 'delete';

/** A request as it was sent, the value copied. */
export interface Asked {
  readonly operation: Operation;
  readonly store: string;
  readonly key: Key | undefined;
  readonly range: KeyRange;
  readonly value?: unknown;
  /** Told what it came to. */
  readonly answered: (result: unknown, error: DOMException | undefined) => void;
}

export interface Ended {
  complete(): void;
  /** @param error nothing if the browser says nothing */
  aborted(error: DOMException | undefined): void;
}

export class StoredTransaction {
  readonly connection: Connection;
  readonly #scope: readonly string[];
  readonly #mode: IDBTransactionMode;
  readonly #ended: Ended;
  #state: 'waiting' | 'running' | 'ended' = 'waiting';
  readonly #asked: Asked[] = [];
  readonly #undo: (() => void)[] = [];
  #isCommitting = false;
  #puts = false;

  constructor(connection: Connection, scope: readonly string[], mode: IDBTransactionMode, ended: Ended) {
    this.connection = connection;
    this.#scope = scope;
    this.#mode = mode;
    this.#ended = ended;
  }

  get isWaiting(): boolean {
    return this.#state === 'waiting';
  }

  /** @param other begun before this one */
  waitsFor(other: StoredTransaction): boolean {
    const isOneWriting = this.#mode !== 'readonly' || other.#mode !== 'readonly';
    return isOneWriting && this.#scope.some((store) => other.#scope.includes(store));
  }

  begin(): void {
    this.#state = 'running';
    for (const asked of this.#asked.splice(0)) this.#do(asked);
    if (this.#isCommitting) this.#end();
  }

  ask(asked: Asked): void {
    if (this.#state === 'running') this.#do(asked);
    else if (this.#state === 'waiting') this.#asked.push(asked);
  }

  /** Creates a store: of a change of the version. */
  create(store: string): void {
    const { database } = this.connection;
    database.createStore(store);
    this.#undo.push(() => database.stores.delete(store));
  }

  commit(): void {
    this.#isCommitting = true;
    if (this.#state === 'running') this.#end();
  }

  abort(error?: DOMException): void {
    if (this.#state === 'ended') return;
    this.undo();
    this.connection.tell(() => this.#ended.aborted(error));
  }

  /** Ends it without a word. */
  undo(): void {
    for (const undo of this.#undo.splice(0).reverse()) undo();
    if (this.#mode === 'versionchange') this.connection.endUpgrade(false);
    this.#leave();
  }

  /** Writing takes its time, in which the context may be killed, or its connection lost. */
  #end(): void {
    const { world } = this.connection.storage;
    world.at(world.latency(), () => {
      if (this.#state === 'ended') return;
      const { storage } = this.connection;
      if (this.#puts && (storage.isFull || world.random.chance(storage.refuses)))
        return this.abort(fullAtCommit(storage.engine));
      if (this.#puts) world.note(`${this.connection.tab.name} has written to ${this.#scope}`);
      this.connection.tell(() => this.#ended.complete());
      if (this.#mode === 'versionchange') this.connection.endUpgrade(true);
      this.#leave();
      if (!this.#puts || this.connection.breaks === undefined) return;
      this.connection.lose(true);
      this.connection.breaks();
    });
  }

  #leave(): void {
    this.#state = 'ended';
    const { database } = this.connection;
    database.transactions = database.transactions.filter((other) => other !== this);
    this.connection.releaseIfOver();
    database.beginNext();
  }

  #do({ answered, ...asked }: Asked): void {
    if (this.#state === 'ended') return;
    const { storage, database } = this.connection;
    const records = database.stores.get(asked.store)!;
    const isPut = asked.operation === 'put' || asked.operation === 'add';
    this.#puts ||= isPut;
    if (asked.operation === 'add' && records.has(asked.key!)) {
      this.#fail(answered, new DOMException('The key exists', 'ConstraintError'));
      return;
    }
    const result = structuredClone(this.#resultOf(asked, records));
    if (isPut && storage.engine === 'firefox' && storage.isFull)
      this.#fail(answered, new DOMException('There is no room', 'QuotaExceededError'));
    else this.connection.tell(() => answered(result, undefined));
  }

  /** Firefox completes a transaction of which a request failed after `commit()`. */
  #fail(answered: Asked['answered'], error: DOMException): void {
    if (this.#isCommitting && this.connection.storage.engine !== 'firefox') this.abort(error);
    else this.connection.tell(() => answered(undefined, error));
  }

  #resultOf({ operation, key, range, value }: Omit<Asked, 'answered'>, records: Records): unknown {
    switch (operation) {
      case 'get':
        return records.in(range)[0]?.value;
      case 'getKey':
        return records.in(range)[0]?.key;
      case 'getAll':
        return records.in(range).map((entry) => entry.value);
      case 'getAllKeys':
        return records.in(range).map((entry) => entry.key);
      case 'count':
        return records.in(range).length;
      case 'lastKey': {
        const last = records.in(range).at(-1);
        return last === undefined ? null : { key: last.key, primaryKey: last.key };
      }
      case 'add':
      case 'put':
        this.#undo.push(records.put(key!, value));
        return key;
      case 'delete':
        this.#undo.push(records.delete(range));
        return undefined;
    }
  }
}

/** WebKit says nothing at all if the commit failed. Chromium says it at the commit only, and Firefox at the request, unless it was refused later. */
const fullAtCommit = (engine: Engine): DOMException | undefined =>
  engine === 'webkit' ? undefined : new DOMException('There is no room', 'QuotaExceededError');
