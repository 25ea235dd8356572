/** Opening IndexedDB on bad days: no answer, another format, storage that is denied, somebody who keeps it open. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { nextTask, STORAGE_LOST } from '@settledb/core';
import { openDB } from 'idb';
import { describe, expect, it, vi } from 'vitest';
import { type Driver, platform } from '../../adapters/indexeddb/src/driver';
import { fill } from '../conformance/journal-bench';
import { events, holdTime, newName } from './support';

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
    const late: Driver['openDB'] = (...args) => {
      if (++calls > 1) return platform.openDB(...args);
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

  it('asks nothing more and says nothing once it is open, or once it is deleted', async () => {
    holdTime();
    const told: unknown[] = [];
    const blocked = (waiting: unknown): void => void told.push(waiting);
    let calls = 0;
    const counted: Driver['openDB'] = (...args) => {
      calls++;
      return platform.openDB(...args);
    };
    const name = newName();
    const adapter = indexeddb({ driver: { openDB: counted } });
    const journal = await adapter.open(name, { blocked });
    vi.advanceTimersByTime(60_000);
    await journal.close();
    await adapter.destroy(name, { blocked });
    await nextTask();
    vi.advanceTimersByTime(60_000);
    expect([calls, told]).toEqual([1, []]);
  });

  it('says so when the browser will go on to refuse it, as WebKit does without its storage process; not of another failure', async () => {
    const lost = vi.fn();
    addEventListener(STORAGE_LOST, lost);
    for (const [message, times] of [
      ['Connection to Indexed Database server lost. Refresh the page to try again', 1],
      ['Internal error', 1], // in all
    ] as const) {
      const openDB = async (): Promise<never> => {
        throw new DOMException(message, 'UnknownError');
      };
      const opening = indexeddb({ driver: { openDB } }).open(newName());
      await expect(opening).rejects.toMatchObject({ name: 'io', reason: expect.stringContaining(message) });
      expect(lost).toHaveBeenCalledTimes(times);
    }
    removeEventListener(STORAGE_LOST, lost);
  });

  it('closes a connection that comes after the deadline', async () => {
    const name = newName();
    const gates: (() => void)[] = [];
    const opened: Promise<IDBDatabase>[] = [];
    const slow: Driver['openDB'] = (...args) => {
      const answer = new Promise<void>((resolve) => gates.push(resolve)).then(() => platform.openDB(...args));
      opened.push(answer);
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

  it('makes itself at home in a database that somebody made by opening it without a version', async () => {
    for (const made of ['before', 'by asking how new it is']) {
      const name = newName();
      let isNewer = made !== 'before';
      // It was of a newer format, and was deleted before it could be asked of which.
      const gone: Driver['openDB'] = (...args) => {
        if (!isNewer || args[1] === undefined) return platform.openDB(...args);
        isNewer = false;
        return Promise.reject(new DOMException('simulated', 'VersionError'));
      };
      const adapter = indexeddb({ driver: { openDB: gone } });
      if (isNewer) await expect(adapter.open(name)).rejects.toMatchObject({ name: 'io' });
      else (await openDB(`settledb:${name}`)).close();
      const journal = await adapter.open(name);
      await fill(journal, 1, 2);
      expect((await journal.read()).commits).toHaveLength(2);
      await journal.close();
      await adapter.destroy(name);
    }
  });

  it('makes way for newer code, and is lost', async () => {
    const name = newName();
    const journal = await indexeddb().open(name);
    const heard = events(journal);
    (await openDB(`settledb:${name}`, 7)).close();
    expect(heard).toEqual(['lost']);
    await expect(journal.read()).rejects.toMatchObject({
      name: 'io',
      reason: expect.stringMatching(/format 7/),
    });
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
    const heard: Driver['deleteDB'] = (which, { blocked } = {}) =>
      platform.deleteDB(which, {
        blocked() {
          blocked?.();
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
