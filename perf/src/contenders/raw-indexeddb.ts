/** IndexedDB by hand, a record per document, no index: what a careful programmer without a database would write. */
import type { PerfDoc } from '../docs';
import type { Contender, Handle } from '../document-cases';

export const rawIndexedDB: Contender = { name: 'raw IndexedDB', open };

async function open(name: string): Promise<Handle> {
  const request = indexedDB.open(`raw-${name}`, 1);
  request.onupgradeneeded = () => request.result.createObjectStore('docs', { keyPath: '_id' });
  const db = await promised(request);
  const read = (): IDBObjectStore => db.transaction('docs').objectStore('docs');
  const write = (docs: readonly PerfDoc[]): Promise<void> => {
    const tx = db.transaction('docs', 'readwrite', { durability: 'relaxed' });
    const store = tx.objectStore('docs');
    for (const doc of docs) store.put(doc);
    return new Promise((resolve, reject) => {
      tx.oncomplete = () => resolve();
      tx.onabort = () => reject(tx.error);
    });
  };
  return {
    bulk: write,
    put: (doc) => write([doc]),
    get: (id) => promised(read().get(id)),
    allDocs: async (bodies) =>
      (bodies ? await promised(read().getAll()) : await promised(read().getAllKeys())).length,
    updateAll: async () => {
      const docs = await promised<PerfDoc[]>(read().getAll());
      await write(docs.map((doc) => ({ ...doc, changed: true })));
    },
    range: async (from, limit) =>
      (await promised<unknown[]>(read().getAll(IDBKeyRange.lowerBound(from), limit))).length,
    count: () => promised(read().count()),
    close: async () => db.close(),
    destroy: async () => {
      db.close();
      await promised(indexedDB.deleteDatabase(`raw-${name}`));
    },
  };
}

function promised<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
