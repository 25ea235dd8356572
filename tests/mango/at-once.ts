/** A database with two planners of finds. */
import { memory } from '@settledb/adapter-memory';
import { LocalDatabase, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { Indexes, Mango } from '../../packages/query/src';

let count = 0;

/** `quick` answers at once where it can, `long` has a reader that only reads. */
export async function openedTwice() {
  const journal = await memory().open(`at-once-${Date.now()}-${++count}`);
  const database = await LocalDatabase.open<Record<string, unknown>>(await openLogStore(journal, schema), {
    name: 'at-once',
    adapter: 'memory',
  });
  const indexes = new Indexes(database);
  /** Reads of indexes by the long way. */
  const reads = { count: 0 };
  const reader = { read: indexes.read.bind(indexes) };
  const counting = new Proxy(indexes, {
    get(target, name) {
      if (name === 'read') reads.count++;
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const [quick, long] = [new Mango(database, counting), new Mango(database, reader)];
  return { database, indexes, quick, long, reads };
}
