/**
 * Handles as if each were in a tab or worker of its own: an adapter that never lets a realm share what is opened, so that every
 * handle has its own engine on the one storage, races the others for commits and catches up with theirs.
 */
import type { Adapter } from '@settledb/engine';

let contexts = 0;

/** The same storage, from a context of its own. */
export function apart(adapter: Adapter): Adapter {
  contexts += 1;
  const context = contexts;
  return {
    name: adapter.name,
    location: (name) => `${adapter.location(name)} in context ${context}`,
    open: (name, options) => adapter.open(name, options),
    destroy: (name) => adapter.destroy(name),
  };
}
