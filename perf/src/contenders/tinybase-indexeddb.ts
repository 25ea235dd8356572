/** TinyBase kept in IndexedDB by its own persister: a record for each table, of which there is one. */
import { createIndexedDbPersister } from 'tinybase/persisters/persister-indexed-db';
import type { Keep } from './tinybase';

export const TINYBASE = 'TinyBase (memory, IndexedDB)';

const nameOf = (database: string): string => `tinybase-${database}`;

export const inIndexedDB: Keep = (store, database, failed) =>
  createIndexedDbPersister(store, nameOf(database), 1, failed);

export const removeIndexedDB = (database: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(nameOf(database));
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error);
  });
