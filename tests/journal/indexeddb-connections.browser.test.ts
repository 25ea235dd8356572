/** Which connection a journal has when one dies, and which database that is. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import type { JournalEvent } from '@settledb/engine';
import { deleteDB } from 'idb';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Driver } from '../../adapters/indexeddb/src/driver';
import { commit, fill } from '../conformance/journal-bench';
import { abortAs, FaultyIdb, invalidState } from '../support/faulty-idb';
import { events, newName, numbers, open, PATIENCE, START } from './support';

describe('indexeddb, of which connections die,', () => {
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

  it('opens one connection for all who need one, and is not destroyed by failing to', async () => {
    const idb = new FaultyIdb();
    let isRefused = false;
    const unwilling: Driver['openDB'] = (...args) =>
      isRefused ? Promise.reject(new DOMException('simulated', 'UnknownError')) : idb.openDB(...args);
    const name = newName();
    const adapter = indexeddb({ driver: { openDB: unwilling } });
    const journal = await adapter.open(name);
    onTestFinished(async () => {
      await journal.close();
      await adapter.destroy(name);
    });
    await fill(journal, 1, 1);
    const heard = events(journal);
    isRefused = true;
    idb.terminate();
    await expect(journal.read()).rejects.toMatchObject({ name: 'io' });
    isRefused = false;
    expect(await Promise.all([numbers(journal), numbers(journal)])).toEqual([[1], [1]]);
    expect(idb.handles).toHaveLength(2);
    expect(heard).toEqual(['commit']);
  });

  it.runIf(/Chrom/.test(navigator.userAgent))(
    'has a new log begun after each, since a full disk may be why',
    async () => {
      const deleted = vi.spyOn(IDBFactory.prototype, 'deleteDatabase');
      onTestFinished(() => deleted.mockRestore());
      const begun = (): number => deleted.mock.calls.filter(([name]) => name === 'settledb tidies up').length;
      const idb = new FaultyIdb();
      const { journal } = await idb.open(newName());
      for (let times = 1; times <= 2; times++) {
        idb.terminate();
        await journal.read();
        await vi.waitFor(() => expect(begun()).toBe(times), PATIENCE);
      }
      // One that has to go because its database is deleted says nothing of the storage.
      const gone = await open();
      await deleteDB(`settledb:${gone.name}`);
      await open();
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(begun()).toBe(2);
      idb.terminate();
      await open(); // another database
      await vi.waitFor(() => expect(begun()).toBe(3), PATIENCE);
    },
  );

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

  it('keeps the connection that was opened since a transaction began that fails', async () => {
    const idb = new FaultyIdb();
    const { journal } = await idb.open(newName());
    await fill(journal, 1, 1);
    let isHealed = false;
    const steps = [(tx: IDBTransaction) => hold(tx, () => isHealed), invalidState];
    idb.tamper = (tx) => steps.shift()?.(tx);
    const late = journal.blobs.drop(['0'.repeat(32)]);
    expect(await numbers(journal)).toEqual([1]);
    isHealed = true;
    await late;
    expect(idb.handles).toHaveLength(2);
  });

  it('answers what waited for its turn behind a transaction that failed (in workers of WebKit)', async () => {
    vi.stubGlobal('WorkerGlobalScope', class {});
    const name = vi.spyOn(navigator, 'userAgent', 'get').mockReturnValue('AppleWebKit/605.1.15');
    onTestFinished(() => {
      vi.unstubAllGlobals();
      name.mockRestore();
    });
    const idb = new FaultyIdb();
    const { journal } = await idb.open(newName());
    await fill(journal, 1, 1);
    const steps = [abortAs('UnknownError')];
    idb.tamper = (tx) => steps.shift()?.(tx);
    const all = await Promise.all(Array.from({ length: 4 }, () => numbers(journal)));
    expect(all).toEqual([[1], [1], [1], [1]]);
    expect(idb.handles).toHaveLength(2);
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
});

/** Keeps the transaction open until then, and has the browser abort it. */
function hold(tx: IDBTransaction, isTime: () => boolean): void {
  const store = tx.objectStore(tx.objectStoreNames[0]!);
  const again = (): void => {
    if (isTime()) abortAs('UnknownError')(tx);
    else store.count().onsuccess = again;
  };
  again();
}
