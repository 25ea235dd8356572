/** TinyBase kept in a JSON file by its own persister. */
import { createFilePersister } from 'tinybase/persisters/persister-file';
import type { Keep } from './tinybase';

export const inFile =
  (pathOf: (database: string) => string): Keep =>
  (store, database, failed) =>
    createFilePersister(store, pathOf(database), failed);
