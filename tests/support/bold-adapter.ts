/**
 * An adapter whose journals believe themselves alone when they look for leftovers of content, whoever else is there: what keeps the
 * others' content then is only that a commit and a sweep exclude each other.
 */
import type { Adapter, Journal } from '@settledb/engine';

export function bold(adapter: Adapter): Adapter {
  return {
    ...adapter,
    async open(name, options) {
      const journal = await adapter.open(name, options);
      let isLooking = false;
      const listening: Journal['blobs'] = {
        put: (place, chunks, durability) => journal.blobs.put(place, chunks, durability),
        get: (place, index) => journal.blobs.get(place, index),
        drop: (places) => journal.blobs.drop(places),
        dropUnnamed: (places, expected) => journal.blobs.dropUnnamed(places, expected),
        async places() {
          const places = await journal.blobs.places();
          isLooking = true;
          return places;
        },
      };
      return new Proxy(journal, {
        get(_target, property) {
          if (property === 'blobs') return listening;
          if (property === 'alone') {
            return () => {
              const answer = isLooking || journal.alone();
              isLooking = false;
              return answer;
            };
          }
          const value: unknown = Reflect.get(journal, property, journal);
          return typeof value === 'function' ? value.bind(journal) : value;
        },
      });
    },
  };
}
