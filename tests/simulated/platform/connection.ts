/** A tab's connection to a database, as the storage has it. */
import type { Storage, StoredDatabase } from './storage';
import type { StoredTransaction } from './stored-transaction';
import type { Tab } from './tab';

/** How often a lost connection's last answers are lost with it, and how often those of its open transactions are ended by nobody. */
const SILENT = 0.5;

export class Connection {
  readonly tab: Tab;
  readonly storage: Storage;
  readonly database: StoredDatabase;
  /** Called in the tab when the browser has closed it. */
  lost: () => void = () => {};
  /** Called in the tab when another context waits for it to be closed. */
  inTheWay: (newVersion: number | null) => void = () => {};
  /** Called in the storage when the change of the version that it was made for has ended. */
  upgraded: ((isDone: boolean) => void) | undefined;
  /** Called as soon as something was written, before anybody is told: it is lost then. */
  breaks: (() => void) | undefined;
  /** Its owner wants no more transactions. */
  #isClosing = false;
  /** The storage knows nothing of it any more. */
  #isGone = false;
  #isSilent = false;

  constructor(tab: Tab, storage: Storage, database: StoredDatabase) {
    this.tab = tab;
    this.storage = storage;
    this.database = database;
    database.connections.add(this);
    tab.connections.add(this);
  }

  get world() {
    return this.storage.world;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Runs it in the tab, after all that it was told before. */
  tell(what: () => void): void {
    this.tab.fromStorage.send(() => {
      if (!this.#isSilent) what();
    });
  }

  /**
   * Runs it in the storage, after all that the tab has asked for before.
   *
   * @param stores if it begins to write to them
   */
  ask(what: () => void, stores?: string): void {
    this.tab.hasAsked(stores);
    this.tab.toStorage.send(() => {
      if (!this.#isGone) what();
    });
  }

  begin(transaction: StoredTransaction): void {
    this.database.transactions.push(transaction);
    this.database.beginNext();
  }

  endUpgrade(isDone: boolean): void {
    const { upgraded } = this;
    this.upgraded = undefined;
    upgraded?.(isDone);
  }

  /** It goes when its transactions have ended. */
  close(): void {
    this.#isClosing = true;
    this.releaseIfOver();
  }

  releaseIfOver(): void {
    if (!this.#isClosing || this.#isGone) return;
    if (!this.database.transactions.some(({ connection }) => connection === this)) this.#release();
  }

  /** The browser closes it, as when its storage process ends. Nobody is told what became of all that was on its way. */
  lose(isSilent = this.world.random.chance(SILENT)): void {
    if (this.#isGone) return;
    const { random } = this.world;
    this.#isSilent = isSilent;
    this.#isClosing = true;
    this.#undoAll((transaction) => {
      const isTold = random.chance(SILENT);
      if (isTold) transaction.abort(new DOMException('The connection was lost', 'AbortError'));
      else transaction.undo();
    });
    this.tab.fromStorage.send(() => this.lost());
  }

  /** Its tab is gone. */
  end(): void {
    this.#isClosing = true;
    this.#undoAll((transaction) => transaction.undo());
  }

  #undoAll(undo: (transaction: StoredTransaction) => void): void {
    for (const transaction of [...this.database.transactions])
      if (transaction.connection === this) undo(transaction);
    this.releaseIfOver();
  }

  #release(): void {
    this.#isGone = true;
    this.endUpgrade(false);
    this.tab.connections.delete(this);
    this.database.connections.delete(this);
    this.database.released();
  }
}
