/** IndexedDB on a disk that is full: what is refused, what room is kept back, and who gets it. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { BLOCKS_PER_COMMIT } from '@settledb/engine';
import { deleteDB, openDB } from 'idb';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Driver, platform } from '../../adapters/indexeddb/src/driver';
import { commit, fill } from '../conformance/journal-bench';
import { abortAs, FaultyIdb } from '../support/faulty-idb';
import { estimateIs, holdTime, newName, numbers, START } from './support';

describe('indexeddb when the disk is full', () => {
  it('rejects quota_exceeded when only the abort says so, and stays readable and writable', async () => {
    const idb = new FaultyIdb();
    const { journal } = await idb.open(newName());
    await fill(journal, 1, 1);
    idb.tamper = (tx) => tx.mode === 'readwrite' && abortAs('QuotaExceededError')(tx);
    for (const segments of [0, 3]) {
      await expect(journal.append(commit(2, segments), { epoch: 0, n: 1 }, 'strict')).rejects.toMatchObject({
        name: 'quota_exceeded',
        status: 507,
        cause: { name: 'QuotaExceededError' },
      });
    }
    expect(await numbers(journal)).toEqual([1]);
    idb.tamper = () => {};
    expect(await journal.rewrite({ drop: [-1] }, { epoch: 0, n: 1 })).toBeUndefined();
    await fill(journal, 2, 2);
    expect(idb.handles).toHaveLength(1);
  });

  const reserveOf = async (name: string): Promise<number> => {
    const db = await openDB(`settledb:${name}`);
    const count = await db.count('meta', IDBKeyRange.bound(0, 100));
    db.close();
    return count;
  };

  it('gives what was kept back to writes that make room, record by record, and the last of it to compactions', async () => {
    estimateIs({ usage: 0, quota: 1e9 });
    const idb = new FaultyIdb();
    const name = newName();
    const { journal } = await idb.open(name);
    const reserve = () => reserveOf(name);
    // By which the browser is made to give back what it keeps of what is gone.
    const tidied = () => idb.handles.filter((db) => db.name === 'settledb tidies up').length;
    await fill(journal, 1, 1);
    journal.keepBack!(2 ** 40);
    await vi.waitFor(async () => expect(await reserve()).toBe(16));
    // One record is not enough, and is gone each time.
    let refusals = 0;
    const full = (times: number): void => {
      refusals = times;
      idb.tamper = (tx) => {
        const takes = tx.mode === 'readwrite' && tx.objectStoreNames.contains('log');
        if (takes && refusals-- > 0) abortAs('QuotaExceededError')(tx);
      };
    };
    const refused = { name: 'quota_exceeded' };
    full(3);
    await expect(journal.append(commit(2, 0), { epoch: 0, n: 1 }, 'strict')).rejects.toMatchObject(refused);
    expect(await reserve()).toBe(16);
    expect(tidied()).toBe(0);
    expect(await journal.append(commit(2, 0), { epoch: 0, n: 1 }, 'strict', 'later')).toBeUndefined();
    expect(tidied()).toBe(1);
    expect(await reserve()).toBe(15);
    full(100);
    await expect(journal.append(commit(3, 3), { epoch: 0, n: 2 }, 'strict', 'later')).rejects.toMatchObject(
      refused,
    );
    expect(await reserve()).toBe(4);
    const change = { put: [{ id: -1, text: 'p' }], makesRoom: true };
    const before = tidied();
    full(3);
    expect(await journal.rewrite(change, { epoch: 0, n: 2 })).toBeUndefined();
    expect(tidied()).toBe(before + 1);
    expect(await reserve()).toBe(2);
    full(100);
    await expect(journal.append(commit(3, 0), { epoch: 0, n: 2 }, 'strict', 'now')).rejects.toMatchObject(
      refused,
    );
    await expect(journal.rewrite(change, { epoch: 0, n: 2 })).rejects.toMatchObject(refused);
    expect(await reserve()).toBe(0);
    idb.tamper = () => {};
    await fill(journal, 3, 3);
    journal.keepBack!(600 * 1024);
    await vi.waitFor(async () => expect(await reserve()).toBe(2));
    expect(idb.handles).toHaveLength(1 + tidied());
    expect((await indexedDB.databases()).some((each) => each.name === 'settledb tidies up')).toBe(false);
  });

  it('tries a write on for a while that finds no room right after what a compaction made free, and no other', async () => {
    holdTime();
    const idb = new FaultyIdb();
    const { journal } = await idb.open(newName());
    await fill(journal, 1, 1);
    let refusals = 0;
    idb.tamper = (tx) => {
      const takes = tx.mode === 'readwrite' && tx.objectStoreNames.contains('log');
      if (takes && refusals-- > 0) abortAs('QuotaExceededError')(tx);
    };
    let n = 1;
    const write = () => journal.append(commit(n + 1, 0), { epoch: 0, n }, 'strict');
    const refused = { name: 'quota_exceeded' };
    refusals = 1;
    await expect(write()).rejects.toMatchObject(refused);
    await journal.vacuum!({ force: true });
    refusals = 100;
    await expect(write()).rejects.toMatchObject(refused);
    expect(100 - refusals).toBe(9);
    await journal.vacuum!({ force: true });
    refusals = 3;
    expect(await write()).toBeUndefined();
    n++;
    // A machine that stands still, however long, finds no more than one timer due, and the browser has counted nothing meanwhile.
    refusals = 1;
    const next = write();
    vi.advanceTimersByTime(1_000);
    expect(await next).toBeUndefined();
    n++;
    refusals = 2;
    expect(await write()).toBeUndefined();
    n++;
    vi.advanceTimersByTime(1_000);
    refusals = 1;
    await expect(write()).rejects.toMatchObject(refused);
    expect(await numbers(journal)).toEqual([1, 2, 3, 4]);
  });

  it('has the browser tidy up again before long, though all stood still while it did', async () => {
    let ms = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => ms);
    onTestFinished(() => clock.mockRestore());
    const idb = new FaultyIdb();
    let tidied = 0;
    const slow: Driver['openDB'] = (which, ...rest) => {
      if (which === 'settledb tidies up') {
        tidied++;
        ms += 3_000;
      }
      return idb.openDB(which, ...rest);
    };
    const name = newName();
    const adapter = indexeddb({ driver: { openDB: slow } });
    const journal = await adapter.open(name);
    idb.tamper = (tx) => {
      if (tx.mode === 'readwrite' && tx.objectStoreNames.contains('log')) abortAs('QuotaExceededError')(tx);
    };
    for (const times of [1, 1, 2]) {
      if (times > 1) ms += 5_000;
      const removal = journal.append(commit(1, 0), START, 'strict', 'later');
      await expect(removal).rejects.toMatchObject({ name: 'quota_exceeded' });
      expect(tidied).toBe(times);
    }
    idb.tamper = () => {};
    await journal.close();
    await adapter.destroy(name);
  });

  it('deletes no database of another program, though it has the name of the one that comes and goes', async () => {
    const theirs = await openDB('settledb tidies up', 3, { upgrade: (db) => void db.createObjectStore('x') });
    await theirs.put('x', 'precious', 1);
    theirs.close();
    const idb = new FaultyIdb();
    const { journal } = await idb.open(newName());
    idb.tamper = (tx) => {
      if (tx.mode === 'readwrite' && tx.objectStoreNames.contains('log')) abortAs('QuotaExceededError')(tx);
    };
    const refused = { name: 'quota_exceeded' };
    await expect(journal.append(commit(1, 0), { epoch: 0, n: 0 }, 'strict', 'now')).rejects.toMatchObject(
      refused,
    );
    const again = await openDB('settledb tidies up');
    expect(await again.get('x', 1)).toBe('precious');
    again.close();
    await deleteDB('settledb tidies up');
  });

  it('gives removals half of what little was kept back', async () => {
    estimateIs({ usage: 0, quota: 1e9 });
    const idb = new FaultyIdb();
    const name = newName();
    const { journal } = await idb.open(name);
    await fill(journal, 1, 1);
    journal.keepBack!(800 * 1024);
    await vi.waitFor(async () => expect(await reserveOf(name)).toBe(3));
    idb.tamper = (tx) => {
      if (tx.mode === 'readwrite' && tx.objectStoreNames.contains('log')) abortAs('QuotaExceededError')(tx);
    };
    const removal = journal.append(commit(2, 0), { epoch: 0, n: 1 }, 'strict', 'later');
    await expect(removal).rejects.toMatchObject({ name: 'quota_exceeded' });
    expect(await reserveOf(name)).toBe(1);
  });

  it('keeps room back before a commit after which there may be none', async () => {
    const idb = new FaultyIdb();
    const name = newName();
    const { journal } = await idb.open(name);
    const reserves: Promise<number>[] = [];
    idb.tamper = (tx) => {
      if (tx.objectStoreNames.contains('block')) reserves.push(reserveOf(name));
    };
    const text = 'x'.repeat(4 * 1024 * 1024);
    const segments = [{ id: BLOCKS_PER_COMMIT + 1, text }];
    const large = { n: 1, head: 'h', tail: '', segments };
    expect(await journal.append(large, { epoch: 0, n: 0 }, 'relaxed')).toBeUndefined();
    expect(await Promise.all(reserves)).toEqual([2]);
  });

  it('keeps nothing back where there is no room for it', async () => {
    const estimate = estimateIs({ usage: 1e6, quota: 1.4e6 });
    const idb = new FaultyIdb();
    const { journal } = await idb.open(newName());
    let begun = 0;
    idb.tamper = () => {
      begun++;
    };
    journal.keepBack!(2 ** 40);
    await vi.waitFor(() => expect(estimate).toHaveBeenCalled());
    await fill(journal, 1, 1);
    expect(begun).toBe(1);
  });

  it('rejects an open that makes the database with quota_exceeded, and makes it when there is room', async () => {
    const name = newName();
    let isFull = true;
    const full: Driver['openDB'] = (which, version, events = {}) =>
      platform.openDB(which, version, {
        ...events,
        upgrade(db, oldVersion, upgrading) {
          events.upgrade?.(db, oldVersion, upgrading);
          if (isFull) abortAs('QuotaExceededError')(upgrading);
        },
      });
    const adapter = indexeddb({ driver: { openDB: full } });
    await expect(adapter.open(name)).rejects.toMatchObject({
      name: 'quota_exceeded',
      status: 507,
      cause: { name: 'QuotaExceededError' },
    });
    isFull = false;
    const journal = await adapter.open(name);
    await fill(journal, 1, 1);
    await journal.close();
    await adapter.destroy(name);
  });
});
