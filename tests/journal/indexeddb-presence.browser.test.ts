/** Who may believe to be alone, with dedicated workers as the other contexts. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { BLOCKS_PER_COMMIT, EMPTY_HEAD, type Journal } from '@settledb/engine';
import { openDB, unwrap } from 'idb';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { applyRewrite, raiseFence } from '../../adapters/indexeddb/src/commits';
import { type Driver, platform } from '../../adapters/indexeddb/src/driver';
import { transaction } from '../../adapters/indexeddb/src/transaction';
import { commit } from '../conformance/journal-bench';
import { JournalContext } from '../support/journal-context';
import { heard, newName, open, PATIENCE, START } from './support';

/** Reads until the journal knows itself alone. */
async function becomesAlone(journal: Journal): Promise<void> {
  await vi.waitFor(async () => {
    await journal.read();
    expect(journal.alone()).toBe(true);
  }, PATIENCE);
}

/** What a context does that takes the lock by force, while this one sleeps. */
async function takeByForce(name: string): Promise<void> {
  const db = await openDB(`settledb:${name}`);
  await transaction(unwrap(db), { stores: ['log', 'meta'], mode: 'readwrite' }, raiseFence);
  db.close();
}

/** A checkpoint by such a one, of all up to `n`: it drops whatever records there are. */
async function rewriteAll(name: string, n: number): Promise<void> {
  const db = await openDB(`settledb:${name}`);
  for (let each = 1; each <= n; each++)
    await db.put('log', { n: each, head: EMPTY_HEAD, tail: '', by: 'another' }, each);
  const { fence } = await db.get('meta', 'state');
  const drop = Array.from({ length: n }, (_, i) => (i + 1) * BLOCKS_PER_COMMIT);
  const change = { manifest: { text: 'all', through: n }, drop };
  await transaction<undefined>(unwrap(db), { stores: ['log', 'block', 'meta'], mode: 'readwrite' }, (work) =>
    applyRewrite(work, change, 'another', { epoch: 0, n, fence }),
  );
  db.close();
}

describe('indexeddb presence', () => {
  it('is alone when nobody else has the database open, and only after a read', async () => {
    const { journal } = await open();
    expect(journal.alone()).toBe(false);
    await journal.append(commit(1), START, 'relaxed');
    await becomesAlone(journal);
    await journal.append(commit(2), { epoch: 0, n: 1 }, 'relaxed');
    // At once, or, had the thread stood still for as long as an echo is trusted, with the next echo.
    await vi.waitFor(() => expect(journal.alone()).toBe(true), PATIENCE);
  });

  it('knows itself alone again after a message to itself was lost', async () => {
    const { journal } = await open();
    await becomesAlone(journal);
    const echo = vi.spyOn(BroadcastChannel.prototype, 'postMessage').mockImplementationOnce(() => {});
    onTestFinished(() => echo.mockRestore());
    await vi.waitFor(() => {
      journal.alone();
      expect(echo.mock.calls.length).toBeGreaterThan(1);
    }, PATIENCE);
    await vi.waitFor(() => expect(journal.alone()).toBe(true), PATIENCE);
  });

  it('is not alone by writing blocks, which shows no commits of others', async () => {
    const { name, journal } = await open();
    await journal.read();
    const other = await indexeddb().open(name);
    expect(await other.append(commit(1), START, 'relaxed')).toBeUndefined();
    await other.close();
    await vi.waitFor(async () => {
      journal.alone(); // so that it looks
      const { held = [] } = await navigator.locks.query();
      expect(held.filter((lock) => lock.name?.includes(name)).map(({ mode }) => mode)).toEqual(['exclusive']);
    }, PATIENCE);
    expect(await journal.rewrite({ put: [{ id: -1, text: 'page' }] }, START)).toBeUndefined();
    expect(journal.alone()).toBe(false);
    expect((await journal.read(START)).commits).toHaveLength(1);
  });

  it('is alone by what opening read, once that was taken', async () => {
    for (let tries = 0; ; tries++) {
      const { journal } = await open();
      expect(journal.alone()).toBe(false);
      expect(journal.takeOpened?.()).toMatchObject({ epoch: 0, commits: [] });
      if (journal.alone()) return; // the lock came before the database, as it mostly does
      expect(tries).toBeLessThan(20);
    }
  });

  it('does not trust its lock when opening took so long that it may have been taken, and hears of what came meanwhile', async () => {
    const { name, journal } = await open();
    await journal.close();
    let hold: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      hold = resolve;
    });
    const late: Driver['openDB'] = (...args) => held.then(() => platform.openDB(...args));
    const opening = indexeddb({ driver: { openDB: late } }).open(name); // has the lock before the database
    const other = await indexeddb().open(name);
    const appended = other.append(commit(1), START, 'relaxed');
    // Either the lock was given back, or taken by force: then this is over before the other is open.
    await Promise.race([appended, new Promise((resolve) => setTimeout(resolve, 900))]);
    hold();
    const slow = await opening;
    let last = 1;
    const missed = await appended;
    if (missed !== undefined) {
      // It took the lock by force itself, and missed nothing but the barriers that it put there: the second unless the lock was given.
      const barriers = [1, 2].map((n) => ({ n, head: EMPTY_HEAD, tail: '' }));
      expect(barriers.slice(0, missed.commits.length)).toEqual(missed.commits);
      last = missed.commits.length;
      expect(await other.append(commit(++last), { epoch: 0, n: last - 1 }, 'relaxed')).toBeUndefined();
    }
    const opened = slow.takeOpened?.();
    if (opened?.commits.length === 0) expect(slow.alone()).toBe(false);
    expect((await slow.read()).commits).toHaveLength(last);
    expect(await slow.append(commit(last + 1), { epoch: 0, n: last }, 'relaxed')).toBeUndefined();
    expect((await other.read()).commits).toHaveLength(last + 1);
    await slow.close();
    await other.close();
  });

  // A context that lost the lock by force and sleeps does not know yet: here an outsider writes what its robber would.
  it('loses a commit whose key is taken although it believes to be alone, and says what stands there', async () => {
    for (const segments of [0, 2]) {
      const { name, journal } = await open();
      await becomesAlone(journal);
      await journal.append(commit(1, 1), START, 'relaxed');
      const db = await openDB(`settledb:${name}`);
      await db.add('log', { n: 2, head: 'theirs', tail: '', by: 'another' }, 2);
      db.close();
      const missed = await journal.append(commit(2, segments), { epoch: 0, n: 1 }, 'relaxed');
      expect(missed).toMatchObject({ epoch: 0, commits: [{ n: 2, head: 'theirs' }] });
      expect(await journal.load([2 * 4096 + 1])).toEqual([undefined]);
      expect(await journal.append(commit(3, segments), { epoch: 0, n: 2 }, 'relaxed')).toBeUndefined();
      expect((await journal.read()).commits.map(({ n, head }) => [n, head])).toEqual([
        [1, commit(1, 1).head],
        [2, 'theirs'],
        [3, commit(3, segments).head],
      ]);
    }
  });

  it('writes nothing when its lock was taken, although it believes to be alone: neither what is checked nor what is not', async () => {
    for (const segments of [0, 1]) {
      const { name, journal } = await open();
      await becomesAlone(journal);
      await journal.append(commit(1), START, 'relaxed');
      await takeByForce(name);
      const late = commit(2, segments);
      expect(await journal.append(late, { epoch: 0, n: 1 }, 'relaxed')).toEqual({
        epoch: 0,
        commits: [{ n: 2, head: EMPTY_HEAD, tail: '' }],
      });
      expect(await journal.load([2 * 4096 + 1])).toEqual([undefined]);
      // Having asked for the lock anew, it writes.
      expect(await journal.append(commit(3, segments), { epoch: 0, n: 2 }, 'relaxed')).toBeUndefined();
      expect((await journal.read()).commits.map(({ n }) => n)).toEqual([1, 2, 3]);
    }
  });

  it('writes nothing either when a checkpoint has covered all that was written since its lock was taken', async () => {
    for (const segments of [0, 1]) {
      const { name, journal } = await open();
      await becomesAlone(journal);
      await journal.append(commit(1), START, 'relaxed');
      await takeByForce(name);
      await rewriteAll(name, 3);
      const answer = await journal.append(commit(2, segments), { epoch: 0, n: 1 }, 'relaxed');
      expect(answer).toMatchObject({ epoch: 1, manifest: { text: 'all', through: 3 }, commits: [] });
      expect(await journal.append(commit(4, segments), { epoch: 1, n: 3 }, 'relaxed')).toBeUndefined();
      expect((await journal.read()).commits.map(({ n }) => n)).toEqual([4]);
    }
  });

  it('writes nothing either when its page was put away before it had a connection, and others have rewritten all since', async () => {
    const name = newName();
    let terminate: (() => void) | undefined;
    let goOn: () => void = () => {};
    let connected: Promise<void> | undefined;
    const openDB: Driver['openDB'] = async (id, version, events) => {
      terminate = events?.terminated;
      await connected;
      return platform.openDB(id, version, events);
    };
    const adapter = indexeddb({ driver: { openDB } });
    const journal = await adapter.open(name);
    onTestFinished(async () => {
      await journal.close();
      await adapter.destroy(name);
    });
    await becomesAlone(journal);
    await journal.append(commit(1), START, 'relaxed');
    await vi.waitFor(() => expect(journal.alone()).toBe(true), PATIENCE);
    connected = new Promise((resolve) => {
      goOn = resolve;
    });
    terminate?.();
    const late = journal.append(commit(2), { epoch: 0, n: 1 }, 'relaxed');
    await Promise.resolve(); // it waits for the connection
    document.dispatchEvent(new Event('freeze'));
    await rewriteAll(name, 3);
    document.dispatchEvent(new Event('resume'));
    goOn();
    expect(await late).toMatchObject({ epoch: 1, manifest: { text: 'all', through: 3 }, commits: [] });
    expect(await journal.append(commit(4), { epoch: 1, n: 3 }, 'relaxed')).toBeUndefined();
    expect((await journal.read()).commits.map(({ n }) => n)).toEqual([4]);
  });

  it('keeps what stands in the way of a late commit out of what rewrites drop, up to a bound', async () => {
    const { name, journal } = await open();
    await becomesAlone(journal);
    for (let theft = 0; theft < 70; theft++) await takeByForce(name);
    await rewriteAll(name, 70);
    const db = await openDB(`settledb:${name}`);
    expect(await db.getAllKeys('log')).toEqual(Array.from({ length: 64 }, (_, i) => i + 7));
    db.close();
    expect(await journal.blockIds()).toEqual([]);
    expect((await journal.read()).commits).toEqual([]);
  });

  it('lets no worker have a commit acknowledged while it believes to be alone (I9)', async () => {
    const { name, journal } = await open();
    for (let n = 0; n < 8; n++) {
      await becomesAlone(journal);
      const other = await JournalContext.open(name);
      expect(await other.call('append', n + 1, 'by a worker', { epoch: 0, n })).toBeUndefined();
      expect(journal.alone()).toBe(false);
      expect((await journal.read({ epoch: 0, n })).commits).toHaveLength(1);
      await (n % 2 === 0 ? other.call('close') : other.kill());
    }
  });

  it('is alone again when the others closed', async () => {
    const { name, journal } = await open();
    const others = [await JournalContext.open(name), await JournalContext.open(name)];
    expect(await others[0]!.call('append', 1, 'a', START)).toBeUndefined();
    for (const other of others) await other.call('close');
    await becomesAlone(journal);
  });

  it('is alone again when the other was killed', async () => {
    const { name, journal } = await open();
    const other = await JournalContext.open(name);
    expect(await other.call('append', 1, 'a', START)).toBeUndefined();
    other.kill();
    await becomesAlone(journal);
    expect((await journal.read()).commits).toHaveLength(1);
  });

  it('does not wait for ever for one that is alone and blocked, which then doubts by itself', async () => {
    const { name, journal } = await open();
    await journal.close();
    const blocked = await JournalContext.open(name);
    await vi.waitFor(async () => {
      await blocked.call('read');
      expect(await blocked.call('alone')).toBe(true);
    }, PATIENCE);
    const order: string[] = [];
    const lasting = URL.createObjectURL(new Blob(['blocked']));
    onTestFinished(() => URL.revokeObjectURL(lasting));
    const blocking = blocked.call('block', lasting).then((alone) => {
      order.push('blocked thread goes on');
      return alone;
    });
    await blocked.heard('blocking');
    const adapter = indexeddb();
    const newcomer = await adapter.open(name);
    onTestFinished(() => newcomer.close());
    // Taking the lock took two numbers.
    expect(await newcomer.append(commit(1), START, 'relaxed')).toMatchObject({
      commits: [1, 2].map((n) => ({ n, head: EMPTY_HEAD })),
    });
    expect(await newcomer.append(commit(3), { epoch: 0, n: 2 }, 'relaxed')).toBeUndefined();
    order.push('newcomer committed');
    URL.revokeObjectURL(lasting);
    expect(await blocking).toBe(false);
    expect(order).toEqual(['newcomer committed', 'blocked thread goes on']);
    expect(await blocked.call('append', 1, 'late', START)).toMatchObject({
      commits: [{ n: 1 }, { n: 2 }, { n: 3, head: 'head 3' }],
    });
    expect(await blocked.call('append', 4, 'now', { epoch: 0, n: 3 })).toBeUndefined();
    expect(await blocked.call('alone')).toBe(false);
    expect((await newcomer.read({ epoch: 0, n: 3 })).commits).toHaveLength(1);
  });

  it('does not take the lock by force from one that lives, where all stood still for longer than that is waited for', async () => {
    const { name, journal } = await open();
    await becomesAlone(journal);
    const post = BroadcastChannel.prototype.postMessage;
    let stood = false;
    const hello = vi.spyOn(BroadcastChannel.prototype, 'postMessage').mockImplementation(function (
      this: BroadcastChannel,
      message,
    ) {
      post.call(this, message);
      if (stood || (message as { type: string }).type !== 'hello') return;
      stood = true;
      // When its timers are set. Both are in this thread.
      queueMicrotask(() => {
        for (const end = performance.now() + 1_200; performance.now() < end; );
      });
    });
    const locks = vi.spyOn(navigator.locks, 'request');
    onTestFinished(() => void vi.restoreAllMocks());
    const newcomer = await indexeddb().open(name);
    onTestFinished(() => newcomer.close());
    expect(await newcomer.append(commit(1), START, 'relaxed')).toBeUndefined();
    hello.mockRestore();
    expect(stood).toBe(true);
    const forced = locks.mock.calls.filter(([, options]) => (options as LockOptions).steal);
    expect(forced).toEqual([]);
    expect((await journal.read()).commits).toHaveLength(1);
  });

  it('is not alone from the freezing of its page until it has come back and read', async () => {
    const { name, journal } = await open();
    await becomesAlone(journal);
    document.dispatchEvent(new Event('freeze'));
    expect(journal.alone()).toBe(false);
    const other = await JournalContext.open(name);
    expect(await other.call('append', 1, 'meanwhile', START)).toBeUndefined();
    await other.call('close');
    const hint = heard(journal, 'commit');
    document.dispatchEvent(new Event('resume'));
    await hint;
    expect(journal.alone()).toBe(false);
    expect((await journal.read(START)).commits).toHaveLength(1);
    await becomesAlone(journal);
  });

  it('commits from a frozen page that is asked to, by coming back first', async () => {
    const { journal } = await open();
    await becomesAlone(journal);
    document.dispatchEvent(new Event('freeze'));
    expect(await journal.append(commit(1), START, 'relaxed')).toBeUndefined();
  });

  it('asks for its lock anew, and then commits, when the fence was raised by one that took the lock', async () => {
    const { name, journal } = await open();
    await becomesAlone(journal);
    const db = await openDB(`settledb:${name}`);
    await db.put('meta', { ...(await db.get('meta', 'state')), fence: 7 }, 'state');
    const locks = vi.spyOn(navigator.locks, 'request');
    onTestFinished(() => locks.mockRestore());
    expect(await journal.append(commit(1, 2), START, 'relaxed')).toBeUndefined();
    expect(locks).toHaveBeenCalled();
    expect(await db.get('meta', 'state')).toMatchObject({ epoch: 0, fence: 7 });
    db.close();
    expect((await journal.read()).commits).toHaveLength(1);
  });

  it('works without Web Locks and is then never alone', async () => {
    Object.defineProperty(navigator, 'locks', { value: undefined, configurable: true });
    onTestFinished(() => void Reflect.deleteProperty(navigator, 'locks'));
    const { journal } = await open();
    await journal.append(commit(1), START, 'relaxed');
    await journal.read();
    expect(journal.alone()).toBe(false);
    let inner: boolean | undefined;
    const outer = await journal.exclusively(async () => {
      inner = await journal.exclusively(async () => {});
    });
    expect([outer, inner]).toEqual([true, false]);
  });
});
