/** Long lists of one request, worked through in portions: between these, other requests have their turn. */
import { nextTask } from '@settledb/core';

export async function* portionsOf<Item>(
  items: readonly Item[],
  size: number,
): AsyncGenerator<Item[], void, void> {
  for (let at = 0; at < items.length; at += size) {
    if (at > 0) await nextTask();
    yield items.slice(at, at + size);
  }
}
