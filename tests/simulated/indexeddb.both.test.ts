/** That the simulated IndexedDB does what browsers do, wherever the adapter relies on it or has to live with it. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { heard, platformHere } from './here';

const { indexedDB, IDBKeyRange } = platformHere();

let serial = 0;
const newName = (): string => `simulated ${Date.now()} ${serial++}`;

/** Opens a database with the stores `a` and `b`. */
async function open(name = newName(), version = 1): Promise<IDBDatabase> {
  const request = indexedDB.open(name, version);
  request.onupgradeneeded = () => {
    for (const store of ['a', 'b'])
      if (!request.result.objectStoreNames.contains(store)) request.result.createObjectStore(store);
  };
  await heard(request, 'success');
  onTestFinished(() => request.result.close());
  return request.result;
}

/** What happens to a transaction and its requests, in order. */
function logged(tx: IDBTransaction, events: string[], as = ''): Promise<unknown> {
  return new Promise((resolve) => {
    for (const type of ['complete', 'abort'])
      tx.addEventListener(type, () => resolve(events.push(`${as}${type}`)));
  });
}

function noted(request: IDBRequest, events: string[], as: string): void {
  request.onsuccess = () => events.push(`${as} ${JSON.stringify(request.result)}`);
  request.onerror = () => events.push(`${as} ${request.error?.name}`);
}

async function valuesOf(db: IDBDatabase, store = 'a'): Promise<unknown[]> {
  const request = db.transaction(store).objectStore(store).getAll();
  await heard(request, 'success');
  return request.result;
}

describe('requests', () => {
  it('are answered in the order in which they were made', async () => {
    const db = await open();
    const tx = db.transaction(['a', 'b'], 'readwrite');
    const [a, b] = [tx.objectStore('a'), tx.objectStore('b')];
    const events: string[] = [];
    noted(a.put('x', 1), events, 'put');
    noted(b.get(1), events, 'get of b');
    noted(a.get(1), events, 'get');
    noted(a.add('y', 2), events, 'add');
    noted(a.delete(1), events, 'delete');
    noted(a.getAll(), events, 'all');
    await logged(tx, events);
    expect(events).toEqual([
      'put 1',
      'get of b undefined',
      'get "x"',
      'add 2',
      'delete undefined',
      'all ["y"]',
      'complete',
    ]);
  });

  it('have no result before they are done', async () => {
    const db = await open();
    const request = db.transaction('a').objectStore('a').get(1);
    expect(() => request.result).toThrow(expect.objectContaining({ name: 'InvalidStateError' }));
    await heard(request, 'success');
    expect(request.result).toBeUndefined();
  });

  it('take copies, and give copies', async () => {
    const db = await open();
    const value = { n: 1 };
    const put = db.transaction('a', 'readwrite').objectStore('a').put(value, 1);
    value.n = 2;
    await heard(put, 'success');
    const [found] = (await valuesOf(db)) as [typeof value];
    expect(found).toEqual({ n: 1 });
    found.n = 3;
    expect(await valuesOf(db)).toEqual([{ n: 1 }]);
  });

  it('are refused outside of the scope, and in a transaction that only reads', async () => {
    const db = await open();
    const tx = db.transaction('a');
    expect(() => tx.objectStore('b')).toThrow(expect.objectContaining({ name: 'NotFoundError' }));
    expect(() => tx.objectStore('a').put(1, 1)).toThrow(expect.objectContaining({ name: 'ReadOnlyError' }));
    expect(() => db.transaction(['a', 'c'])).toThrow(expect.objectContaining({ name: 'NotFoundError' }));
    await heard(tx, 'complete');
  });
});

describe('keys', () => {
  it('are in order: numbers, texts, lists', async () => {
    const db = await open();
    const keys = [['a', 1], 'b', 2, [], -1, 'a', 1.5, ['a'], ['a', []]] as const;
    const tx = db.transaction('a', 'readwrite');
    for (const key of keys) tx.objectStore('a').put('', key as IDBValidKey);
    const all = tx.objectStore('a').getAllKeys();
    const within = tx.objectStore('a').getAllKeys(IDBKeyRange.bound(['a'], ['a', []]));
    const after = tx.objectStore('a').getAllKeys(IDBKeyRange.lowerBound(1.5, true));
    const last = tx.objectStore('a').openKeyCursor(null, 'prev');
    const count = tx.objectStore('a').count(IDBKeyRange.upperBound('a'));
    const first = tx.objectStore('a').getKey(IDBKeyRange.bound(1, 2, false, true));
    const lastKey = new Promise((resolve) => {
      last.onsuccess = () => resolve(last.result?.key);
    });
    await heard(tx, 'complete');
    expect(all.result).toEqual([-1, 1.5, 2, 'a', 'b', [], ['a'], ['a', 1], ['a', []]]);
    expect(within.result).toEqual([['a'], ['a', 1], ['a', []]]);
    expect(after.result).toEqual([2, 'a', 'b', [], ['a'], ['a', 1], ['a', []]]);
    expect(await lastKey).toEqual(['a', []]);
    expect(count.result).toBe(4);
    expect(first.result).toBe(1.5);
  });

  it('are checked', async () => {
    const db = await open();
    const tx = db.transaction('a', 'readwrite');
    const dataError = expect.objectContaining({ name: 'DataError' });
    expect(() => tx.objectStore('a').put(1, Number.NaN)).toThrow(dataError);
    expect(() => tx.objectStore('a').put(1, [{}] as never)).toThrow(dataError);
    expect(() => IDBKeyRange.bound(2, 1)).toThrow(dataError);
    expect(() => IDBKeyRange.bound(1, 1, true, true)).toThrow(dataError);
    await heard(tx, 'complete');
  });
});

describe('transactions', () => {
  it('wait for those before them on the same store, if one of both writes', async () => {
    const db = await open();
    const other = await open(db.name);
    const events: string[] = [];
    const ask = (from: IDBDatabase, mode: IDBTransactionMode, as: string): Promise<unknown> => {
      const tx = from.transaction('a', mode, { durability: 'relaxed' });
      if (mode === 'readwrite') tx.objectStore('a').put(as, 1);
      noted(tx.objectStore('a').get(1), events, as);
      return logged(tx, events, `${as} `);
    };
    await Promise.all([
      ask(db, 'readonly', 'r'),
      ask(db, 'readwrite', 'w1'),
      ask(db, 'readwrite', 'w2'),
      ask(db, 'readonly', 'r2'),
    ]);
    expect(events).toEqual([
      'r undefined',
      'r complete',
      'w1 "w1"',
      'w1 complete',
      'w2 "w2"',
      'w2 complete',
      'r2 "w2"',
      'r2 complete',
    ]);
    const late = ask(other, 'readwrite', 'w3');
    await late;
    expect(await valuesOf(db)).toEqual(['w3']);
  });

  it('go on beside those of another store, and readers beside readers', async () => {
    const db = await open();
    const kept = (mode: IDBTransactionMode, store: string): { let: () => void; over: Promise<Event> } => {
      const tx = db.transaction(store, mode);
      let isOver = false;
      const again = (): void => {
        if (!isOver) tx.objectStore(store).get(1).onsuccess = again;
      };
      again();
      return {
        let: () => {
          isOver = true;
        },
        over: heard(tx, 'complete'),
      };
    };
    const reader = kept('readonly', 'a');
    const writer = kept('readwrite', 'b');
    expect(await valuesOf(db, 'a')).toEqual([]);
    reader.let();
    writer.let();
    await Promise.all([reader.over, writer.over]);
  });

  it('commit when nothing is asked of them in a turn', async () => {
    const db = await open();
    const tx = db.transaction('a', 'readwrite');
    const request = tx.objectStore('a').put('x', 1);
    await heard(request, 'success');
    // In the microtasks of an event of its own it is active still.
    const second = tx.objectStore('a').put('y', 2);
    await heard(second, 'success');
    await heard(tx, 'complete');
    expect(() => tx.objectStore('a')).toThrow(expect.objectContaining({ name: 'InvalidStateError' }));
    expect(() => tx.abort()).toThrow(expect.objectContaining({ name: 'InvalidStateError' }));
    await heard(db.transaction('a'), 'complete'); // which nothing was asked of at all
    expect(await valuesOf(db)).toEqual(['x', 'y']);
  });

  it('take no request when control has returned', async () => {
    const db = await open();
    const tx = db.transaction('a', 'readwrite');
    const store = tx.objectStore('a');
    const first = heard(store.put('x', 1), 'success');
    // An event of something else, while the transaction is under way.
    const other = db.transaction('b');
    let thrown: unknown;
    other.objectStore('b').get(1).onsuccess = () => {
      try {
        store.put('y', 2);
      } catch (error) {
        thrown = error;
      }
    };
    await Promise.all([first, heard(other, 'complete')]);
    expect(thrown).toMatchObject({ name: 'TransactionInactiveError' });
  });

  it('take no request after `commit()`, and end without waiting for answers to be heard', async () => {
    const db = await open();
    const tx = db.transaction('a', 'readwrite');
    const events: string[] = [];
    const store = tx.objectStore('a');
    noted(store.put('x', 1), events, 'put');
    tx.commit();
    expect(() => store.put('y', 2)).toThrow(expect.objectContaining({ name: 'TransactionInactiveError' }));
    expect(() => tx.commit()).toThrow(expect.objectContaining({ name: 'InvalidStateError' }));
    expect(() => tx.abort()).toThrow(expect.objectContaining({ name: 'InvalidStateError' }));
    await logged(tx, events);
    expect(events).toEqual(['put 1', 'complete']);
  });

  it('are undone whole when a request fails, unless that is prevented', async () => {
    const db = await open();
    const tx = db.transaction('a', 'readwrite');
    const events: string[] = [];
    noted(tx.objectStore('a').put('x', 1), events, 'put');
    noted(tx.objectStore('a').add('y', 1), events, 'add');
    noted(tx.objectStore('a').delete(IDBKeyRange.lowerBound(0)), events, 'delete');
    await logged(tx, events);
    expect(events.slice(0, 2)).toEqual(['put 1', 'add ConstraintError']);
    expect(events.at(-1)).toBe('abort');
    expect(tx.error).toMatchObject({ name: 'ConstraintError' });
    expect(await valuesOf(db)).toEqual([]);

    const second = db.transaction('a', 'readwrite');
    second.objectStore('a').put('x', 1);
    const add = second.objectStore('a').add('y', 1);
    add.onerror = (event) => {
      event.preventDefault();
      second.objectStore('a').put('z', 2);
    };
    await logged(second, events);
    expect(events.at(-1)).toBe('complete');
    expect(await valuesOf(db)).toEqual(['x', 'z']);
  });

  it('that were undone by the program end their requests first, and have no error', async () => {
    const db = await open();
    await heard(db.transaction('a', 'readwrite').objectStore('a').put('x', 1), 'success');
    const tx = db.transaction('a', 'readwrite');
    const events: string[] = [];
    tx.addEventListener('error', () => events.push('error'));
    noted(tx.objectStore('a').put('y', 1), events, 'put');
    noted(tx.objectStore('a').delete(1), events, 'delete');
    tx.abort();
    expect(events).toEqual([]);
    await logged(tx, events);
    expect(events).toEqual(['put AbortError', 'error', 'delete AbortError', 'error', 'abort']);
    expect(tx.error).toBeNull();
    expect(await valuesOf(db)).toEqual(['x']);
  });

  it('end the same way in Chromium when a request fails after `commit()`', async () => {
    const db = await open();
    await heard(db.transaction('a', 'readwrite').objectStore('a').put('x', 1), 'success');
    const tx = db.transaction('a', 'readwrite');
    const add = tx.objectStore('a').add('y', 1);
    let name: string | undefined;
    add.onerror = () => {
      name = add.error?.name;
    };
    tx.commit();
    await logged(tx, []);
    expect(name).toMatch(/ConstraintError|AbortError/);
    expect(await valuesOf(db)).toEqual(['x']);
  });
});

describe('connections', () => {
  it('take no transaction when they are closed, and end those they have', async () => {
    const db = await open();
    const tx = db.transaction('a', 'readwrite');
    tx.objectStore('a').put('x', 1);
    db.close();
    expect(() => db.transaction('a')).toThrow(expect.objectContaining({ name: 'InvalidStateError' }));
    await heard(tx, 'complete');
    expect(await valuesOf(await open(db.name))).toEqual(['x']);
  });

  it('are told that somebody wants to delete the database, and are in the way until they close', async () => {
    const db = await open();
    const events: string[] = [];
    db.onversionchange = ({ oldVersion, newVersion }) => events.push(`told ${oldVersion} ${newVersion}`);
    const deleting = indexedDB.deleteDatabase(db.name);
    deleting.onblocked = () => {
      events.push('blocked');
      db.close();
    };
    const opening = open(db.name); // behind it
    await heard(deleting, 'success');
    events.push('deleted');
    expect(events).toEqual(['told 1 null', 'blocked', 'deleted']);
    expect(await valuesOf(await opening)).toEqual([]);
  });

  it('are not in the way if they close when they are told', async () => {
    const db = await open();
    db.onversionchange = () => db.close();
    const deleting = indexedDB.deleteDatabase(db.name);
    let isBlocked = false;
    deleting.onblocked = () => {
      isBlocked = true;
    };
    await heard(deleting, 'success');
    expect(deleting.result).toBeUndefined();
    expect(isBlocked).toBe(false);
  });

  it('are open before they are told so of a database that they have just made', async () => {
    const name = newName();
    const events: string[] = [];
    const request = indexedDB.open(name, 1);
    request.onsuccess = () => {
      events.push('open');
      request.result.onversionchange = () => {
        events.push('told');
        request.result.close();
      };
    };
    await heard(indexedDB.deleteDatabase(name), 'success');
    expect(events).toEqual(['open', 'told']);
  });

  it('make way for another version, and older ones are refused', async () => {
    const db = await open();
    db.onversionchange = ({ newVersion }) => {
      expect(newVersion).toBe(2);
      db.close();
    };
    const newer = await open(db.name, 2);
    expect(newer.version).toBe(2);
    await expect(open(db.name, 1)).rejects.toMatchObject({ name: 'VersionError' });
    const request = indexedDB.open(db.name);
    await heard(request, 'success');
    expect(request.result.version).toBe(2);
    request.result.close();
  });

  it('are none, and no database is made, if the program undoes its making', async () => {
    const name = newName();
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore('a').put('x', 1);
      request.transaction!.abort();
    };
    await expect(heard(request, 'success')).rejects.toMatchObject({ name: 'AbortError' });
    const again = indexedDB.open(name, 1);
    again.onupgradeneeded = ({ oldVersion }) => {
      expect(oldVersion).toBe(0);
      again.result.createObjectStore('a');
    };
    await heard(again, 'success');
    expect(await valuesOf(again.result)).toEqual([]);
    again.result.close();
  });
});
