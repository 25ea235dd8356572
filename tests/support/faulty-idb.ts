/** The browser's IndexedDB, with handles that a test can make fail. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import type { Adapter, Journal } from '@settledb/engine';
import { onTestFinished } from 'vitest';
import { type Driver, platform } from '../../adapters/indexeddb/src/driver';

type Tampering = (tx: IDBTransaction, serial: number) => void;

export class FaultyIdb {
  /** Connections made so far, oldest first. */
  readonly handles: IDBDatabase[] = [];
  /** Called with each transaction made, from 1 on; may throw, or do something to it. */
  tamper: Tampering = () => {};
  #serial = 0;

  readonly openDB: Driver['openDB'] = async (...args) => {
    const db = await platform.openDB(...args);
    this.handles.push(db);
    db.transaction = (...args) => {
      const tx = IDBDatabase.prototype.transaction.apply(db, args);
      this.tamper(tx, ++this.#serial);
      return tx;
    };
    return db;
  };

  /** As the browser does it when the storage process died or the site's data were cleared. */
  terminate(): void {
    const handle = this.handles.at(-1);
    handle?.close();
    handle?.dispatchEvent(new Event('close'));
  }

  /** A database that is destroyed when the test ends. */
  async open(name: string): Promise<{ adapter: Adapter; journal: Journal }> {
    const adapter = indexeddb({ driver: { openDB: this.openDB } });
    onTestFinished(async () => {
      this.tamper = () => {};
      await journal.close();
      await adapter.destroy(name);
    });
    const journal = await adapter.open(name);
    return { adapter, journal };
  }
}

/** Throws as a handle does that was closed behind its owner's back. */
export function invalidState(tx: IDBTransaction): never {
  tx.abort();
  throw new DOMException('The database connection is closing.', 'InvalidStateError');
}

/** Aborts the transaction as a full disk does: no request fails, the reason stands on the transaction alone. */
export function abortAs(name: string): (tx: IDBTransaction) => void {
  return (tx) => {
    Object.defineProperty(tx, 'error', { value: new DOMException('simulated', name) });
    Object.defineProperty(tx, 'commit', { value: () => {} }); // which a real one comes after
    queueMicrotask(() => tx.abort());
  };
}
