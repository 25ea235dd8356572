/** What IndexedDB does on bad days: connections that die, disks that are full, opens that never answer. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { BLOCKS_PER_COMMIT, type Journal, type JournalEvent } from '@settledb/engine';
import { deleteDB, openDB, unwrap } from 'idb';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { commit, fill } from '../conformance/journal-bench';
import { abortAs, FaultyIdb, invalidState } from '../support/faulty-idb';

let serial = 0;
const newName = (): string => `faults-${Date.now()}-${serial++}`;
const START = { epoch: 0, n: 0 };
const ANSWER_MS = 60;

function events(journal: Journal): JournalEvent['type'][] {
  const heard: JournalEvent['type'][] = [];
  journal.listen(({ type }) => heard.push(type));
  return heard;
}

async function numbers(journal: Journal): Promise<number[]> {
  return (await journal.read()).commits.map(({ n }) => n);
}

/** Time-outs come when the test lets time pass, however long the storage takes. */
function holdTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
}

describe('indexeddb when the connection dies', () => {
  it('heals a handle that throws InvalidStateError at any one transaction', async () => {
    for (let bad = 1; bad <= 12; bad++) {
      const idb = new FaultyIdb();
      const { journal } = await idb.open(newName());
      let count = 0;
      idb.tamper = (tx) => {
        if (++count === bad) invalidState(tx);
      };
      for (let n = 0; n < 4; n++) {
        expect(await journal.append(commit(n + 1, n % 2), { epoch: 0, n }, 'relaxed')).toBeUndefined();
        expect((await journal.read({ epoch: 0, n })).commits).toHaveLength(1);
      }
      expect(await journal.load([4096, 2 * 4096 + 1])).toEqual(['tail 1', 'segment 2.0']);
      const change = { put: [{ id: -1, text: 'p' }], manifest: { text: 'm', through: 2 } };
      expect(await journal.rewrite(change, { epoch: 0, n: 4 })).toBeUndefined();
      expect(await journal.read()).toMatchObject({ epoch: 1, commits: [{ n: 3 }, { n: 4 }] });
    }
  });

  it('does a transaction again that the browser aborted without a reason, once', async () => {
    for (const name of ['AbortError', 'UnknownError']) {
      for (let bad = 1; bad <= 8; bad++) {
        const idb = new FaultyIdb();
        const { journal } = await idb.open(newName());
        let count = 0;
        idb.tamper = (tx) => {
          if (++count === bad) abortAs(name)(tx);
        };
        for (let n = 0; n < 3; n++) {
          expect(await journal.append(commit(n + 1, n), { epoch: 0, n }, 'relaxed')).toBeUndefined();
        }
        expect(await numbers(journal)).toEqual([1, 2, 3]);
        expect(await journal.load([3 * 4096 + 2, 1])).toEqual(['segment 3.1', undefined]);
      }
    }
  });

  it('tells a commit that was written from one that was not when the connection dies under it', async () => {
    const idb = new FaultyIdb();
    const { journal } = await idb.open(newName());
    let fate = '';
    // Killed before the commit reached the storage, and after.
    idb.tamper = (tx) => {
      if (tx.mode !== 'readwrite') return;
      if (fate === 'aborted') tx.abort();
      if (fate !== '') idb.terminate();
      fate = '';
    };
    for (let n = 0; n < 30; n++) {
      fate = ['', 'aborted', 'written'][n % 3]!;
      expect(await journal.append(commit(n + 1), { epoch: 0, n }, 'relaxed')).toBeUndefined();
    }
    expect(await numbers(journal)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
  });

  it('says whether a rewrite was done when the connection dies under it', async () => {
    const idb = new FaultyIdb();
    const { journal } = await idb.open(newName());
    await fill(journal, 1, 2);
    let armed = true;
    idb.tamper = (tx) => {
      if (tx.mode === 'readwrite' && armed) {
        armed = false;
        idb.terminate();
      }
    };
    expect(
      await journal.rewrite({ manifest: { text: 'm', through: 2 } }, { epoch: 0, n: 2 }),
    ).toBeUndefined();
    expect((await journal.read()).epoch).toBe(1);
  });

  it('hints at a read when the browser closed the connection, which opens another', async () => {
    const idb = new FaultyIdb();
    const { journal } = await idb.open(newName());
    await fill(journal, 1, 1);
    const heard = events(journal);
    idb.terminate();
    expect(heard).toEqual(['commit']);
    expect(await numbers(journal)).toEqual([1]);
    expect(idb.handles).toHaveLength(2);
  });

  it('keeps no connection that nobody uses when it hears late that an earlier one was closed', async () => {
    const idb = new FaultyIdb();
    const { journal } = await idb.open(newName());
    await fill(journal, 1, 1);
    idb.terminate();
    expect(await numbers(journal)).toEqual([1]);
    idb.handles[0]!.dispatchEvent(new Event('close'));
    expect(await numbers(journal)).toEqual([1]);
    // By its name: each browser says in its own words that a connection is closed.
    const refused = expect.objectContaining({ name: 'InvalidStateError' });
    for (const old of idb.handles.slice(0, -1)) expect(() => old.transaction(['log'])).toThrow(refused);
  });

  it('rejects with the cause what fails time after time, and works again when the fault is over', async () => {
    const idb = new FaultyIdb();
    const { journal } = await idb.open(newName());
    await fill(journal, 1, 1);
    idb.tamper = (tx) => tx.mode === 'readwrite' && abortAs('UnknownError')(tx);
    await expect(journal.append(commit(2), { epoch: 0, n: 1 }, 'relaxed')).rejects.toMatchObject({
      name: 'io',
      cause: { name: 'UnknownError' },
    });
    expect(await numbers(journal)).toEqual([1]);
    idb.tamper = () => {};
    await fill(journal, 2, 2);
  });

  it('refuses a write whose fate cannot be learned, and writes again when the storage is back, whatever became of it', async () => {
    for (const isWritten of [false, true]) {
      const idb = new FaultyIdb();
      const { journal } = await idb.open(newName());
      await fill(journal, 1, 1);
      idb.tamper = (tx) => {
        // The commit reaches the storage, or does not; then nothing does.
        if (isWritten && tx.mode === 'readwrite') idb.terminate();
        else invalidState(tx);
      };
      const failure = { name: 'io', reason: expect.stringContaining('not known') };
      await expect(journal.append(commit(2), { epoch: 0, n: 1 }, 'relaxed')).rejects.toMatchObject(failure);
      expect(journal.alone()).toBe(false);
      idb.tamper = () => {};
      const missed = await journal.append(commit(2), { epoch: 0, n: 1 }, 'relaxed');
      expect(missed?.commits.map(({ n }) => n)).toEqual(isWritten ? [2] : undefined);
      expect(await numbers(journal)).toEqual([1, 2]);
      await fill(journal, 3, 3);
    }
  });

  it('takes an evicted database for destroyed, also when another stands in its place', async () => {
    for (const remade of [false, true]) {
      const idb = new FaultyIdb();
      const name = newName();
      const { journal } = await idb.open(name);
      await fill(journal, 1, 1);
      const heard = events(journal);
      const evicted: unknown[] = [];
      journal.listen((event) => event.type === 'destroyed' && evicted.push(event.evicted));
      idb.terminate();
      await deleteDB(`settledb:${name}`);
      const other = remade ? await indexeddb().open(name) : undefined;
      await expect(journal.read()).rejects.toMatchObject({ name: 'closed' });
      expect(heard.filter((type) => type !== 'commit')).toEqual(['destroyed']);
      expect(evicted).toEqual([true]);
      await expect(journal.append(commit(2), { epoch: 0, n: 1 }, 'relaxed')).rejects.toMatchObject({
        name: 'closed',
      });
      await other?.close();
    }
  });

  it('does not take one for evicted that was destroyed while it had no connection', async () => {
    const idb = new FaultyIdb();
    const name = newName();
    const { journal } = await idb.open(name);
    const ended = new Promise<JournalEvent>((resolve) => {
      journal.listen((event) => event.type === 'destroyed' && resolve(event));
    });
    idb.terminate();
    await indexeddb().destroy(name);
    expect(await ended).toEqual({ type: 'destroyed' });
  });

  it('opens the next one when the database is destroyed while it is being opened', async () => {
    const idb = new FaultyIdb();
    const name = newName();
    let deletion: Promise<void> | undefined;
    idb.tamper = () => {
      if (deletion !== undefined) return;
      // As the browser says it to who has it open; here surely before the first read has ended. Of its own kind the event must not be:
      // one that no request stands behind ends the whole page in WebKitGTK 2.50.
      const event = Object.assign(new Event('versionchange'), { oldVersion: 2, newVersion: null });
      idb.handles[0]!.dispatchEvent(event);
      deletion = deleteDB(`settledb:${name}`);
    };
    const { journal } = await idb.open(name);
    await deletion;
    const heard = events(journal);
    expect(await journal.append(commit(1), START, 'relaxed')).toBeUndefined();
    expect(await numbers(journal)).toEqual([1]);
    expect(heard).toEqual([]);
  });

  it('gives up transactions that come to no end, in bounded time, and works again afterwards', async () => {
    holdTime();
    const pass = (): void => void vi.advanceTimersByTime(2 * ANSWER_MS);
    const idb = new FaultyIdb();
    const name = newName();
    const adapter = indexeddb({ driver: { openDB: idb.openDB }, answerTimeoutMs: ANSWER_MS });
    const journal = await adapter.open(name);
    onTestFinished(async () => {
      await journal.close();
      await adapter.destroy(name);
    });
    await fill(journal, 1, 1);
    const mute = (tx: IDBTransaction): void => {
      for (const event of ['oncomplete', 'onabort', 'onerror'])
        Object.defineProperty(tx, event, { set() {} });
    };
    // The commit was done, and nobody said so: it is looked for, and found.
    idb.tamper = (tx) => {
      if (tx.mode !== 'readwrite') return;
      mute(tx);
      tx.addEventListener('complete', pass);
    };
    expect(await journal.append(commit(2), { epoch: 0, n: 1 }, 'relaxed')).toBeUndefined();
    // No event of any comes, as when the storage process hangs.
    let begun = 0;
    idb.tamper = (tx) => {
      mute(tx);
      Object.defineProperty(tx, 'objectStore', {
        value: () => new Proxy({}, { get: () => () => ({}) }),
      });
      begun++;
      queueMicrotask(pass);
    };
    const reason = expect.stringContaining(`did not answer within ${ANSWER_MS} ms`);
    await expect(journal.read()).rejects.toMatchObject({ name: 'io', reason });
    begun = 0;
    await expect(journal.append(commit(3), { epoch: 0, n: 2 }, 'relaxed')).rejects.toMatchObject({
      name: 'io',
    });
    // It was tried, and looked for two times.
    expect(begun).toBeLessThanOrEqual(3);
    idb.tamper = () => {};
    expect(await numbers(journal)).toEqual([1, 2]);
  });
});

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
    const slow: typeof openDB = (which, ...rest) => {
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
    const estimate = vi.fn().mockResolvedValue({ usage: 1e6, quota: 1.4e6 });
    // WebKitGTK has none.
    Object.defineProperty(navigator, 'storage', { configurable: true, value: { estimate } });
    onTestFinished(() => void Reflect.deleteProperty(navigator, 'storage'));
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
    const full: typeof openDB = (which, version, callbacks = {}) =>
      openDB(which, version, {
        ...callbacks,
        upgrade(...args) {
          callbacks.upgrade?.(...args);
          if (isFull) abortAs('QuotaExceededError')(unwrap(args[3]) as unknown as IDBTransaction);
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

describe('indexeddb opening', () => {
  const silent = { openTimeoutMs: 60, driver: { openDB: () => new Promise<never>(() => {}) } };

  it('rejects when the browser never answers an open', async () => {
    await expect(indexeddb(silent).open('never')).rejects.toMatchObject({
      name: 'io',
      reason: expect.stringContaining('did not answer within 60 ms'),
    });
  });

  it('asks a second time when the first open is not answered', async () => {
    holdTime();
    let calls = 0;
    const late: typeof openDB = (...args) => {
      if (++calls > 1) return openDB(...args);
      queueMicrotask(() => vi.advanceTimersByTime(500)); // and no more: the second has all the time it needs
      return new Promise(() => {});
    };
    const name = newName();
    const adapter = indexeddb({ openTimeoutMs: 1000, driver: { openDB: late } });
    const journal = await adapter.open(name);
    vi.useRealTimers();
    expect(calls).toBe(2);
    await fill(journal, 1, 1);
    await journal.close();
    await adapter.destroy(name);
  });

  it('closes a connection that comes after the deadline', async () => {
    const name = newName();
    const gates: (() => void)[] = [];
    const opened: Promise<IDBDatabase>[] = [];
    const slow: typeof openDB = (...args) => {
      const answer = new Promise<void>((resolve) => gates.push(resolve)).then(() => openDB(...args));
      opened.push(answer as unknown as Promise<IDBDatabase>);
      return answer;
    };
    const adapter = indexeddb({ openTimeoutMs: 40, driver: { openDB: slow } });
    await expect(adapter.open(name)).rejects.toMatchObject({ name: 'io' });
    for (const go of gates) go();
    const late = await Promise.all(opened);
    await Promise.resolve();
    for (const db of late) expect(() => db.transaction('log')).toThrow(DOMException);
    await indexeddb().destroy(name);
  });

  it('refuses a database of a newer format and names both', async () => {
    const name = newName();
    (await openDB(`settledb:${name}`, 7)).close();
    await expect(indexeddb().open(name)).rejects.toMatchObject({
      name: 'io',
      reason: expect.stringMatching(/format 7.*format \d/),
    });
    expect((await indexedDB.databases()).find((each) => each.name === `settledb:${name}`)?.version).toBe(7);
    await indexeddb().destroy(name);
  });

  it('makes way for newer code, and is lost', async () => {
    const name = newName();
    const journal = await indexeddb().open(name);
    const heard = events(journal);
    (await openDB(`settledb:${name}`, 7)).close();
    expect(heard).toEqual(['lost']);
    await expect(journal.read()).rejects.toMatchObject({ name: 'closed' });
    await indexeddb().destroy(name);
  });

  it('says what denied it', async () => {
    const driver = {
      openDB: () => Promise.reject(new DOMException('not in private mode', 'InvalidStateError')),
    };
    await expect(indexeddb({ driver }).open('denied')).rejects.toMatchObject({
      name: 'io',
      reason: expect.stringContaining('InvalidStateError: not in private mode'),
      cause: { name: 'InvalidStateError' },
    });
  });

  it('asks whether storage is blocked when the browser refuses it', async () => {
    const openDB = (): never => {
      throw new DOMException('The operation is insecure.', 'SecurityError'); // Firefox, where cookies are blocked
    };
    await expect(indexeddb({ driver: { openDB } }).open('blocked')).rejects.toMatchObject({
      name: 'io',
      reason: expect.stringMatching(/"blocked".*SecurityError.*block cookies and site data/),
      cause: { name: 'SecurityError' },
    });
  });

  it('rejects a destroy that a deaf context blocks, naming the reason', async () => {
    const name = newName();
    const deaf = await openDB(`settledb:${name}`);
    holdTime();
    const heard: typeof deleteDB = (which, { blocked } = {}) =>
      deleteDB(which, {
        blocked(...args) {
          blocked?.(...args);
          vi.advanceTimersByTime(60);
        },
      });
    await expect(
      indexeddb({ openTimeoutMs: 60, driver: { deleteDB: heard } }).destroy(name),
    ).rejects.toMatchObject({
      name: 'io',
      reason: expect.stringContaining('keeps it open'),
    });
    vi.useRealTimers();
    await expect(indexeddb({ openTimeoutMs: 60 }).open(name)).rejects.toMatchObject({ name: 'io' });
    deaf.close();
    await indexeddb().destroy(name);
  });

  it('touches nothing before it is asked to', () => {
    expect(indexeddb().location('x')).toBe('indexeddb:x');
  });
});
