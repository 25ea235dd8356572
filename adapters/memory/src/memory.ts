/**
 * An adapter that keeps databases in memory. Every call of {@link memory} makes a world of its own: within it a name means one
 * database, with any number of journals open on it; two worlds share nothing.
 *
 * Several journals of one world behave as tabs and workers do over IndexedDB (races, epochs, hints), so tests simulate those here.
 */
import { notFound } from '@settledb/core';
import type { Adapter } from '@settledb/engine';
import { MemoryDatabase } from './memory-database';
import { MemoryJournal } from './memory-journal';

let worlds = 0;

/**
 * Makes an adapter whose databases live as long as the adapter does: closing a database keeps it, `destroy` forgets it.
 * Nothing outlives the program or is seen by another adapter.
 */
export function memory(): Adapter {
  const databases = new Map<string, MemoryDatabase>();
  // The random part keeps worlds apart if a page holds two copies of this module.
  const world = `memory:${++worlds}.${Math.random().toString(36).slice(2)}:`;
  return {
    name: 'memory',
    location: (name) => world + name,
    async open(name, options) {
      let database = databases.get(name);
      if (database === undefined) {
        if (options?.mustExist === true) throw notFound();
        database = new MemoryDatabase();
        databases.set(name, database);
      }
      return new MemoryJournal(database);
    },
    async destroy(name) {
      const database = databases.get(name);
      databases.delete(name);
      database?.destroy();
    },
  };
}
