/**
 * An adapter that calls back around each step of its journals. What a callback throws is what the step rejects with: `before`
 * stands for storage that did nothing, `after` for storage that did it and could not say so.
 */
import type { Adapter, Journal, Rewrite } from '@settledb/engine';

export type Step =
  | {
      readonly kind: 'read' | 'append' | 'blockIds' | 'put' | 'get' | 'drop' | 'places' | 'dropUnnamed';
    }
  | { readonly kind: 'load'; readonly ids: readonly number[] }
  | { readonly kind: 'rewrite'; readonly change: Rewrite };

export interface Hooks {
  before?: ((step: Step) => void | Promise<void>) | undefined;
  after?: ((step: Step) => void | Promise<void>) | undefined;
  /** No hint of what others do gets through, which a journal may do. */
  deaf?: boolean;
}

/** `hooks` may be changed at any time. */
export function hooked(adapter: Adapter, hooks: Hooks): Adapter {
  return {
    name: adapter.name,
    location: (name) => adapter.location(name),
    destroy: (name) => adapter.destroy(name),
    open: async (name, options) => hookedJournal(await adapter.open(name, options), hooks),
  };
}

function hookedJournal(journal: Journal, hooks: Hooks): Journal {
  const around = async <T>(step: Step, work: () => Promise<T>): Promise<T> => {
    await hooks.before?.(step);
    const result = await work();
    await hooks.after?.(step);
    return result;
  };
  return {
    shared: journal.shared,
    blobs: {
      put: (place, chunks, durability) =>
        around({ kind: 'put' }, () => journal.blobs.put(place, chunks, durability)),
      get: (place, index) => around({ kind: 'get' }, () => journal.blobs.get(place, index)),
      drop: (places) => around({ kind: 'drop' }, () => journal.blobs.drop(places)),
      places: () => around({ kind: 'places' }, () => journal.blobs.places()),
      dropUnnamed: (places, expected) =>
        around({ kind: 'dropUnnamed' }, () => journal.blobs.dropUnnamed(places, expected)),
    },
    alone: () => journal.alone(),
    read: (known) => around({ kind: 'read' }, () => journal.read(known)),
    append: (commit, expected, durability) =>
      around({ kind: 'append' }, () => journal.append(commit, expected, durability)),
    rewrite: (change, expected) =>
      around({ kind: 'rewrite', change }, () => journal.rewrite(change, expected)),
    load: (ids) => around({ kind: 'load', ids }, () => journal.load(ids)),
    blockIds: () => around({ kind: 'blockIds' }, () => journal.blockIds()),
    exclusively: (work) => journal.exclusively(work),
    listen: (listener) =>
      journal.listen((event) => {
        if (event.type !== 'commit' || hooks.deaf !== true) listener(event);
      }),
    close: () => journal.close(),
  };
}
