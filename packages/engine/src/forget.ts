/** Removes from the recent entries what a checkpoint has taken in. */
import type { SortKey } from '@settledb/core';
import type { Recent } from './recent';

/** Removes the entries that have not changed since. @param keys in order; `values[i]` belongs to `keys[i]` */
export function forget<Value>(
  recent: Recent<Value>,
  keys: readonly SortKey[],
  values: readonly (Value | null)[],
): void {
  const all = recent.keys();
  const left: SortKey[] = [];
  const leftValues: Value[] = [];
  const gone: SortKey[] = [];
  let at = 0;
  for (let i = 0; i < all.length; i++) {
    const key = all[i]!;
    const value = recent.at(i);
    while (at < keys.length && keys[at]! < key) at++;
    if (keys[at] === key && values[at] === value) continue;
    if (value === null) gone.push(key);
    else {
      left.push(key);
      leftValues.push(value);
    }
  }
  recent.clear();
  for (const key of gone) recent.set(key, null);
  // Many may have been written during the checkpoint: they are added as a run, not one by one.
  recent.add(left, leftValues);
}
