/**
 * A disk that is full in WebKit (2.50), played where it runs elsewhere: it says that a record could not be stored, or nothing at all, and
 * what is queued behind a request that found no room is done by itself, and stays.
 */
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { raiseFence } from '../../adapters/indexeddb/src/commits';
import { transaction } from '../../adapters/indexeddb/src/transaction';
import { fill } from '../conformance/journal-bench';
import { FaultyIdb } from '../support/faulty-idb';

const WEBKIT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/60.5 Safari/605.1.15';

let serial = 0;
const newName = (): string => `not-taken-${Date.now()}-${serial++}`;

beforeEach(() => {
  const name = vi.spyOn(navigator, 'userAgent', 'get').mockReturnValue(WEBKIT);
  onTestFinished(() => name.mockRestore());
});

it('queues no write behind another of a rewrite, or of taking the lock by force', async () => {
  const idb = new FaultyIdb();
  const { journal } = await idb.open(newName());
  await fill(journal, 1, 9, 0, 2);
  const most = watchQueue(idb);
  const put = Array.from({ length: 4 }, (_, i) => ({ id: -1 - i, text: `put ${i}` }));
  expect(await journal.rewrite({ put }, { epoch: 0, n: 9 })).toBeUndefined();
  const drop = [-1, -3, 4096 + 1, 2 * 4096, 3 * 4096, 5 * 4096, 4 * 4096, 7 * 4096];
  const manifest = { text: 'm', through: 8 };
  expect(await journal.rewrite({ drop, manifest }, { epoch: 0, n: 9 })).toBeUndefined();
  await transaction(idb.handles.at(-1)!, { stores: ['log', 'meta'], mode: 'readwrite' }, raiseFence);
  expect(most()).toBe(1);
  const blocks = await journal.blockIds();
  expect(blocks.filter((id) => id < 0).sort()).toEqual([-2, -4]);
  expect(blocks.filter((id) => id > 0 && id % 4096 === 0)).toEqual([1, 6, 8, 9].map((n) => n * 4096));
});

/** @returns what tells how many writes were under way at once in one transaction, at most */
function watchQueue(idb: FaultyIdb): () => number {
  let most = 0;
  idb.tamper = (tx) => {
    let now = 0;
    const objectStore = tx.objectStore.bind(tx);
    tx.objectStore = (name) => {
      const store = objectStore(name);
      for (const write of ['add', 'put', 'delete'] as const)
        store[write] = (...given: [never]) => {
          const request: IDBRequest = Reflect.apply(IDBObjectStore.prototype[write], store, given);
          most = Math.max(most, ++now);
          request.addEventListener('success', () => now--, { capture: true });
          return request as never;
        };
      return store;
    };
  };
  return () => most;
}
