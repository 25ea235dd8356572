/**
 * An adapter whose journals take their time, differently each time: steps of several handles interleave in ways that a memory
 * journal, which does everything in one turn, never shows. Seeded; the seed is in the name of the suite that uses it.
 */
import type { Adapter, Journal } from '@settledb/engine';

/** Turns of the event loop a step may take at most; before and after it, as storage does. */
const TURNS_MAX = 3;

export function slow(adapter: Adapter, seed: number): Adapter {
  const random = mulberry32(seed);
  const dawdle = async (): Promise<void> => {
    for (let turns = Math.floor(random() * (TURNS_MAX + 1)); turns > 0; turns--) {
      await (random() < 0.5 ? undefined : new Promise((resolve) => setTimeout(resolve, 0)));
    }
  };
  const around = async <T>(step: () => Promise<T>): Promise<T> => {
    await dawdle();
    const result = await step();
    await dawdle();
    return result;
  };
  return {
    name: adapter.name,
    location: (name) => adapter.location(name),
    destroy: (name) => adapter.destroy(name),
    open: async (name, options) => slowJournal(await adapter.open(name, options), around),
  };
}

function slowJournal(journal: Journal, around: <T>(step: () => Promise<T>) => Promise<T>): Journal {
  return {
    shared: journal.shared,
    blobs: {
      put: (place, chunks, durability) => around(() => journal.blobs.put(place, chunks, durability)),
      get: (place, index) => around(() => journal.blobs.get(place, index)),
      drop: (places) => around(() => journal.blobs.drop(places)),
      places: () => around(() => journal.blobs.places()),
      dropUnnamed: (places, expected) => around(() => journal.blobs.dropUnnamed(places, expected)),
    },
    alone: () => journal.alone(),
    read: (known) => around(() => journal.read(known)),
    append: (commit, expected, durability) => around(() => journal.append(commit, expected, durability)),
    rewrite: (change, expected) => around(() => journal.rewrite(change, expected)),
    load: (ids) => around(() => journal.load(ids)),
    blockIds: () => around(() => journal.blockIds()),
    exclusively: (work) => journal.exclusively(work),
    listen: (listener) => journal.listen(listener),
    close: () => journal.close(),
  };
}

/** A small random generator (Tommy Ettinger's mulberry32, public domain): equal seeds, equal numbers. */
export function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
