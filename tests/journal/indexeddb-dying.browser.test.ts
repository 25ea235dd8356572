/** IndexedDB whose connections die, and transactions that come to no end. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { openDB, unwrap } from 'idb';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { addCommit, applyRewrite } from '../../adapters/indexeddb/src/commits';
import { stored } from '../../adapters/indexeddb/src/log-records';
import { transaction } from '../../adapters/indexeddb/src/transaction';
import { commit, fill } from '../conformance/journal-bench';
import { abortAs, FaultyIdb, invalidState } from '../support/faulty-idb';
import { holdTime, newName, numbers, START } from './support';

const ANSWER_MS = 60;

/** A journal of one commit, in a storage that has so long for an answer, by a clock that stands still. */
async function opened() {
  holdTime();
  const idb = new FaultyIdb();
  const name = newName();
  const adapter = indexeddb({ driver: { openDB: idb.openDB }, answerTimeoutMs: ANSWER_MS });
  const journal = await adapter.open(name);
  onTestFinished(async () => {
    await journal.close();
    await adapter.destroy(name);
  });
  await fill(journal, 1, 1);
  return { idb, journal };
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

  it('is written to, though nothing could be read while it was opened', async () => {
    const idb = new FaultyIdb();
    idb.tamper = invalidState;
    const { journal } = await idb.open(newName());
    idb.tamper = () => {};
    const write = () => journal.append(commit(1, 1), START, 'relaxed');
    expect(await write().catch(write)).toBeUndefined(); // The first may be told what had failed.
    expect(await numbers(journal)).toEqual([1]);
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

  it('opens another connection when one is dead without a word, for what reads and for what writes', async () => {
    const idb = new FaultyIdb();
    const { journal } = await idb.open(newName());
    await fill(journal, 1, 1);
    const die = (modes: readonly IDBTransactionMode[]): void => {
      const dead = idb.handles.at(-1);
      idb.tamper = (tx) => {
        if (tx.db === dead && modes.includes(tx.mode)) invalidState(tx);
      };
    };
    die(['readonly', 'readwrite']);
    expect(await numbers(journal)).toEqual([1]);
    die(['readwrite']);
    await fill(journal, 2, 2);
    expect(await numbers(journal)).toEqual([1, 2]);
    expect(idb.handles).toHaveLength(3);
  });

  it('knows a commit of its own that arrived after it had been looked for', async () => {
    for (const isAlone of [true, false]) {
      const idb = new FaultyIdb();
      const name = newName();
      const { journal } = await idb.open(name);
      const other = isAlone ? undefined : await indexeddb().open(name);
      await fill(journal, 1, 1);
      if (other !== undefined) await fill(other, 2, 2);
      else await fill(journal, 2, 2);
      const late = await openDB(`settledb:${name}`);
      let record: unknown;
      let hasCome = false;
      idb.tamper = (tx) => {
        if (hasCome || !tx.objectStoreNames.contains('log')) return;
        if (record !== undefined) {
          // Behind the look, and before the second attempt.
          void late.put('log', record, 3);
          hasCome = true;
        } else if (tx.mode === 'readwrite') {
          const log = tx.objectStore('log');
          log.add = (value, key) => {
            record = value;
            return IDBObjectStore.prototype.add.call(log, value, key);
          };
          abortAs('UnknownError')(tx);
        }
      };
      expect(await journal.append(commit(3), { epoch: 0, n: 2 }, 'relaxed')).toBeUndefined();
      expect(hasCome).toBe(true);
      late.close();
      expect(await numbers(journal)).toEqual([1, 2, 3]);
      await other?.close();
    }
  });

  it('does not take a commit for undone that was checkpointed before it could be looked for', async () => {
    const idb = new FaultyIdb();
    const name = newName();
    const { journal } = await idb.open(name);
    await fill(journal, 1, 1);
    const other = await openDB(`settledb:${name}`);
    const change = { manifest: { text: 'm', through: 2 }, drop: [4096, 2 * 4096] };
    const steps: (() => unknown)[] = [
      () => idb.terminate(), // when it was sent
      () =>
        transaction<undefined>(
          unwrap(other),
          { stores: ['log', 'block', 'meta'], mode: 'readwrite' },
          (work) => applyRewrite(work, change, 'another', { epoch: 0, n: 2, fence: undefined }),
        ),
    ];
    idb.tamper = () => void steps.shift()?.();
    await expect(journal.append(commit(2), { epoch: 0, n: 1 }, 'relaxed')).rejects.toMatchObject({
      name: 'io',
      reason: expect.stringContaining('not known'),
    });
    other.close();
    expect(await journal.read()).toMatchObject({ epoch: 1, manifest: change.manifest, commits: [] });
  });

  it('keeps its connection when another context was first', async () => {
    const idb = new FaultyIdb();
    const name = newName();
    const { journal } = await idb.open(name);
    const other = await indexeddb().open(name);
    onTestFinished(() => other.close());
    await fill(journal, 1, 1);
    await fill(other, 2, 2);
    // Whether its content is still there is asked only of who was first.
    for (const more of [{}, { places: ['0'.repeat(32)] }]) {
      const missed = await journal.append({ ...commit(2), ...more }, { epoch: 0, n: 1 }, 'relaxed');
      expect(missed?.commits).toHaveLength(1);
    }
    expect(idb.handles).toHaveLength(1);
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
        // The commit reaches the storage, or does not, and nobody says which; then nothing does.
        if (tx.mode !== 'readwrite') return invalidState(tx);
        if (!isWritten) abortAs('AbortError')(tx);
        idb.terminate();
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

  it('says of a write for which no transaction could be begun what was wrong, and not that its fate is not known', async () => {
    const idb = new FaultyIdb();
    const { journal } = await idb.open(newName());
    await fill(journal, 1, 2);
    idb.tamper = invalidState;
    const failed = (what: string) => ({
      name: 'io',
      reason: expect.stringMatching(`^${what} of database .* failed: InvalidStateError`),
    });
    await expect(journal.append(commit(3), { epoch: 0, n: 2 }, 'relaxed')).rejects.toMatchObject(
      failed('Committing'),
    );
    await expect(journal.append(commit(3, 1), { epoch: 0, n: 2 }, 'strict')).rejects.toMatchObject(
      failed('Committing'),
    );
    const manifest = { text: 'm', through: 2 };
    await expect(journal.rewrite({ manifest }, { epoch: 0, n: 2 })).rejects.toMatchObject(
      failed('Rewriting the log'),
    );
    idb.tamper = () => {};
    expect(await journal.read()).toMatchObject({ epoch: 0, commits: [{ n: 1 }, { n: 2 }] });
    await fill(journal, 3, 3);
  });

  it('does a commit and what is put with it, or neither', async () => {
    const idb = new FaultyIdb();
    const { journal } = await idb.open(newName());
    const db = idb.handles.at(-1)!;
    const made = transaction<unknown>(db, { stores: ['log', 'block', 'meta'], mode: 'readwrite' }, (work) =>
      addCommit(
        work,
        commit(1, 1),
        stored(commit(1, 1), 'me'),
        { ...START, fence: undefined },
        true,
        ({ meta }) => meta.add('as one that finds no room', 'state'),
      ),
    );
    await expect(made).rejects.toMatchObject({ name: 'ConstraintError' });
    expect(await numbers(journal)).toEqual([]);
  });

  it('gives up transactions that come to no end, in bounded time, and works again afterwards', async () => {
    const { idb, journal } = await opened();
    const pass = (): void => void vi.advanceTimersByTime(2 * ANSWER_MS);
    // Time that passes over nothing says nothing, nor do transactions that are ended twice.
    for (let i = 0; i < 3; i++) {
      vi.advanceTimersByTime(10 * ANSWER_MS);
      expect(await numbers(journal)).toEqual([1]);
    }
    expect(idb.handles).toHaveLength(1);
    idb.tamper = () => {
      idb.tamper = () => {};
      idb.terminate();
    };
    expect(await numbers(journal)).toEqual([1]);
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

  it('gives up what comes to no end on a handle that was left, though all on the next one does', async () => {
    const { idb, journal } = await opened();
    idb.tamper = (tx) => {
      idb.tamper = (next) => {
        idb.tamper = () => {};
        invalidState(next);
      };
      Object.defineProperty(tx, 'oncomplete', { set() {} });
      Object.defineProperty(tx, 'objectStore', { value: () => new Proxy({}, { get: () => () => ({}) }) });
    };
    const answered = vi.fn();
    void journal.read().then(answered);
    for (let i = 0; i < 10; i++) {
      vi.advanceTimersByTime(i === 0 ? 0 : ANSWER_MS / 6);
      expect(await numbers(journal)).toEqual([1]);
    }
    expect(idb.handles).toHaveLength(2);
    expect(answered).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ epoch: 0 }));
  });
});
