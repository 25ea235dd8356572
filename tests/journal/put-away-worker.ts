/** Puts transactions away as the page's going would, before they are known to have begun, and after. Posts what became of each. */
import { undoWhenPutAway } from '../../adapters/indexeddb/src/put-away';

const open = indexedDB.open(`put away worker ${Math.random()}`, 1);
open.onupgradeneeded = () => open.result.createObjectStore('store');
open.onsuccess = async () => {
  const outcomes = [];
  for (const isBegun of [false, true]) outcomes.push(await putAway(open.result, isBegun));
  open.result.close();
  postMessage(outcomes);
};

function putAway(db: IDBDatabase, isBegun: boolean): Promise<{ isRefused: boolean; blamed: boolean }> {
  return new Promise((resolve) => {
    let isRefused = false;
    let blamed = false;
    const tx = db.transaction('store', 'readwrite');
    undoWhenPutAway(tx, () => {
      blamed = true;
    });
    tx.onabort = () => resolve({ isRefused, blamed });
    const hide = (): void => {
      const event = Object.assign(new Event('pagehide', { cancelable: true }), { persisted: true });
      isRefused = !dispatchEvent(event);
    };
    const request = tx.objectStore('store').put(1, 1);
    if (isBegun) request.onsuccess = hide;
    else hide();
  });
}
