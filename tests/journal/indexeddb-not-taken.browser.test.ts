/**
 * A disk that is full in WebKit (2.50), played where it runs elsewhere: it says that a record could not be stored, or nothing at all, and
 * what is queued behind a request that found no room is done by itself, and stays.
 */
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { raiseFence } from '../../adapters/indexeddb/src/commits';
import { transaction } from '../../adapters/indexeddb/src/transaction';
import { commit, fill, noiseText } from '../conformance/journal-bench';
import { FaultyIdb } from '../support/faulty-idb';
import { estimateIs, newName, numbers, START } from './support';

const WEBKIT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/60.5 Safari/605.1.15';
const FULL = { name: 'quota_exceeded', status: 507, cause: { name: 'Error' } };

beforeEach(() => {
  const name = vi.spyOn(navigator, 'userAgent', 'get').mockReturnValue(WEBKIT);
  onTestFinished(() => name.mockRestore());
});

/** Undoes writes as WebKit does: with all requests done, and no word; or, given one, with it. */
function untaken(message?: string): (tx: IDBTransaction) => void {
  return (tx) => {
    if (tx.mode !== 'readwrite') return;
    Object.defineProperty(tx, 'commit', { value: () => {} }); // which a real one comes after
    if (message !== undefined)
      Object.defineProperty(tx, 'error', { value: new DOMException(message, 'UnknownError') });
    const store = tx.objectStore(tx.objectStoreNames[0]!);
    store.count().onsuccess = () => {
      store.count().onsuccess = () => tx.abort();
    };
  };
}

it.each([
  undefined,
  'Unable to store record in object store',
])('rejects quota_exceeded when the storage does not take a write (%s), and goes on when it does', async (message) => {
  const idb = new FaultyIdb();
  const { journal } = await idb.open(newName());
  await fill(journal, 1, 1);
  idb.tamper = untaken(message);
  for (const segments of [0, 3])
    await expect(journal.append(commit(2, segments), { epoch: 0, n: 1 }, 'relaxed')).rejects.toMatchObject(
      FULL,
    );
  await expect(journal.rewrite({ drop: [-1] }, { epoch: 0, n: 1 })).rejects.toMatchObject(FULL);
  const content = [new Uint8Array(10)];
  await expect(journal.blobs.put('0'.repeat(32), content, 'relaxed')).rejects.toMatchObject(FULL);
  expect(await numbers(journal)).toEqual([1]);
  idb.tamper = () => {};
  await fill(journal, 2, 3);
  expect(await numbers(journal)).toEqual([1, 2, 3]);
});

it('does once more what was not taken once, and keeps what was kept back', async () => {
  const idb = new FaultyIdb();
  const { journal } = await idb.open(newName());
  estimateIs({ usage: 0, quota: 1e9 });
  journal.keepBack!(256 * 1024);
  await vi.waitFor(async () => expect(await reserveOf(idb)).toBe(1));
  for (let n = 0, isNext = true; n < 4; n++, isNext = true) {
    idb.tamper = (tx) => {
      if (tx.mode === 'readwrite' && isNext) untaken()(tx);
      isNext &&= tx.mode !== 'readwrite';
    };
    expect(await journal.append(commit(n + 1, n % 2), { epoch: 0, n }, 'relaxed', 'now')).toBeUndefined();
  }
  expect(await numbers(journal)).toEqual([1, 2, 3, 4]);
  expect(await reserveOf(idb)).toBe(1);
});

it('gives what was kept back to writes that make room and are not taken again', async () => {
  const idb = new FaultyIdb();
  const { journal } = await idb.open(newName());
  estimateIs({ usage: 0, quota: 1e9 });
  journal.keepBack!(3 * 256 * 1024);
  await vi.waitFor(async () => expect(await reserveOf(idb)).toBe(3));
  let refusals = 3;
  idb.tamper = (tx) => {
    if (tx.objectStoreNames.contains('log') && tx.mode === 'readwrite' && refusals-- > 0) untaken()(tx);
  };
  expect(await journal.append(commit(1, 0), START, 'relaxed', 'now')).toBeUndefined();
  expect(await reserveOf(idb)).toBe(1);
});

it('tells a connection that died from it', async () => {
  const idb = new FaultyIdb();
  const { journal } = await idb.open(newName());
  idb.tamper = untaken('Connection to Indexed Database server lost. Refresh the page to try again');
  await expect(journal.append(commit(1, 0), START, 'relaxed')).rejects.toMatchObject({ name: 'io' });
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

it('queues nothing of a large commit behind another: pieces without their record would damage the log', async () => {
  const idb = new FaultyIdb();
  const { journal } = await idb.open(newName());
  const most = watchQueue(idb);
  const segments = [
    { id: 4097, text: 'x'.repeat(6 * 1024 * 1024) },
    { id: 4098, text: noiseText(150_000, 1) },
  ];
  const large = { ...commit(1), head: noiseText(150_000, 2), segments };
  expect(await journal.append(large, START, 'relaxed')).toBeUndefined();
  expect([await reserveOf(idb), most()]).toEqual([4, 1]);
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

async function reserveOf(idb: FaultyIdb): Promise<number> {
  const tx = IDBDatabase.prototype.transaction.call(idb.handles.at(-1)!, ['meta']);
  const count = tx.objectStore('meta').count(IDBKeyRange.bound(0, 100));
  return new Promise((resolve) => {
    count.onsuccess = () => resolve(count.result);
  });
}
