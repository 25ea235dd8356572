/** Content of a database in memory: chunks in a map, copied on their way in and out, as they would be on a disk. */
import type { BlobJournal } from '@settledb/engine';
import type { MemoryDatabase } from './memory-database';

/** @param check throws when the journal can no longer be used */
export function memoryBlobs(database: MemoryDatabase, check: () => void): BlobJournal {
  const { blobs } = database;
  const drop = (places: readonly string[]): void => {
    for (const place of places) blobs.delete(place);
  };
  return {
    async put(place, chunks) {
      const kept: Uint8Array[] = [];
      for await (const chunk of chunks) kept.push(new Uint8Array(chunk));
      check();
      blobs.set(place, kept);
    },
    async get(place, index) {
      check();
      const chunk = blobs.get(place)?.[index];
      return chunk && new Uint8Array(chunk);
    },
    async drop(places) {
      check();
      drop(places);
    },
    async places() {
      check();
      return [...blobs.keys()];
    },
    async dropUnnamed(places, expected) {
      check();
      if (!database.isAt(expected)) return false;
      drop(places);
      return true;
    },
  };
}
