/** Private files that fail in ways of their own. */
import { opfs } from '@settledb/adapter-opfs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { failure } from '../file/disk';
import { FakeOpfs } from './fake-opfs';

const LARGE = 200_000;
const large = (): Blob => new Blob([new Uint8Array(LARGE).fill(7)]);
const small = (n: number): Blob => new Blob([new Uint8Array(3000).fill(n)]);

let serial = 0;
const names = new WeakMap<FakeOpfs, string>();

/** A context of its own each time, with a database of the file system's own. */
function open(system: FakeOpfs): SettleDB {
  const name = names.get(system) ?? `faults ${++serial}`;
  names.set(system, name);
  const location = `context ${++serial}`;
  const adapter = { ...opfs({ root: system.root, waitMs: 100 }), location: () => location };
  return new SettleDB(name, { adapter, durability: 'strict' });
}

/** Fails the nth of these calls. */
function failOnce(system: FakeOpfs, call: string, nth: number): () => boolean {
  let count = 0;
  system.disk.fail = (each) => {
    if (each === call && ++count === nth) throw failure('EIO');
    return undefined;
  };
  return () => count >= nth;
}

describe('a database on private files', () => {
  it('keeps contents that were acknowledged, whichever call for one before failed', async () => {
    for (let nth = 1; ; nth++) {
      const system = new FakeOpfs();
      const db = open(system);
      await db.info();
      const failed = failOnce(system, 'writeSync', nth);
      await db.putAttachment('a', 'x', large(), 'a/b').catch(() => {});
      system.disk.fail = () => undefined;
      const kept = await db.putAttachment('b', 'x', large(), 'a/b').then(
        () => true,
        () => false,
      );
      system.kill();
      if (kept) expect(await sizeOf(open(system), 'b'), `write ${nth}`).toBe(LARGE);
      if (!failed()) break;
    }
  });

  it('takes writes that move few bytes at a time', async () => {
    const system = new FakeOpfs();
    system.disk.fail = (call) => (call === 'writeSync' || call === 'write' ? 19 : undefined);
    const db = open(system);
    for (let n = 0; n < 5; n++) await db.put({ _id: `${n}` });
    await db.putAttachment('a', 'x', small(1), 'a/b');
    await db.compact();
    system.kill();
    const again = open(system);
    expect((await again.allDocs()).rows.length).toBe(6);
    expect(await sizeOf(again, 'a')).toBe(3000);
  });

  it('takes reads that give few bytes at a time, and keeps all its files', async () => {
    const system = new FakeOpfs();
    const db = open(system);
    for (let n = 0; n < 5; n++) await db.putAttachment(`${n}`, 'x', large(), 'a/b');
    system.kill();
    // More than the names of some files, less than those of all.
    for (const most of [19, 250]) {
      system.disk.fail = (call) => (call === 'readSync' || call === 'read' ? most : undefined);
      const again = open(system);
      expect((await again.allDocs()).rows.length).toBe(5);
      system.disk.fail = () => undefined;
      for (let n = 0; n < 5; n++) expect(await sizeOf(again, `${n}`)).toBe(LARGE);
      system.kill();
    }
  });

  it.each([
    0, 100,
  ])('that is full, where the browser does not say so but writes %i bytes and then none: 507, and nothing is lost', async (left) => {
    const system = new FakeOpfs();
    const db = open(system);
    await db.put({ _id: 'before' });
    const fill = (): void => {
      let room = left;
      system.disk.fail = (call) => {
        if (call !== 'writeSync') return undefined;
        const most = room;
        room = 0;
        return most;
      };
    };
    for (const write of [
      () => db.put({ _id: 'refused', text: 'x'.repeat(1000) }),
      () => db.putAttachment('refused', 'x', large(), 'a/b'),
      () => db.putAttachment('refused', 'x', small(1), 'a/b'),
      () => db.compact(),
    ]) {
      fill();
      await expect(write()).rejects.toMatchObject({ status: 507, name: 'quota_exceeded' });
      expect((await db.get('before'))._id).toBe('before');
      system.disk.fail = () => undefined;
      await db.post({});
    }
    system.kill();
    const { rows } = await open(system).allDocs();
    expect(rows).toHaveLength(5);
    expect(rows.map(({ id }) => id)).toContain('before');
  });

  it('that is full by an error that is no Error, as Firefox has them: 507', async () => {
    const system = new FakeOpfs();
    const db = open(system);
    await db.info();
    system.disk.fail = (call) => {
      if (call === 'truncate') throw { name: 'NS_ERROR_FILE_NO_DEVICE_SPACE', message: '' };
      return undefined;
    };
    const failure = { status: 507, name: 'quota_exceeded' };
    await expect(db.putAttachment('a', 'x', large(), 'a/b')).rejects.toMatchObject(failure);
    system.disk.fail = () => undefined;
    await db.putAttachment('a', 'x', large(), 'a/b');
  });

  it.each([
    'sync',
    'writeSync',
  ])('keeps no file open after a pack could not be replaced, whichever %s failed', async (call) => {
    for (let nth = 1; ; nth++) {
      const system = new FakeOpfs();
      const db = open(system);
      const revs: string[] = [];
      for (let n = 0; n < 8; n++) revs.push((await db.putAttachment(`${n}`, 'x', small(n), 'a/b')).rev);
      // The next pack is begun, so that this one may be written anew.
      await db.putAttachment('next', 'x', new Blob([new Uint8Array(60_000)]), 'a/b');
      for (let n = 0; n < 6; n++) await db.purge(`${n}`, revs[n]!);
      const failed = failOnce(system, call, nth);
      await db.compact().catch(() => {});
      const done = !failed();
      system.disk.fail = () => undefined;
      await db.close().catch(() => {});
      await expect.poll(() => system.openFiles, { message: `${call} ${nth}` }).toBe(0);
      const again = open(system);
      expect(await sizeOf(again, '7'), `${call} ${nth}`).toBe(3000);
      await again.destroy();
      if (done) break;
    }
  });

  it('says io where the browser does not list its files, and compacts when it does', async () => {
    const system = new FakeOpfs();
    const db = open(system);
    await db.putAttachment('a', 'x', large(), 'a/b');
    system.disk.fail = (call) => {
      if (call === 'list') throw new DOMException('injected', 'UnknownError');
      return undefined;
    };
    await expect(db.compact()).rejects.toMatchObject({ status: 500, name: 'io' });
    system.disk.fail = () => undefined;
    expect(await db.compact()).toEqual({ ok: true });
    await db.destroy();
  });

  it('can be opened, whichever two calls one after the other failed when it was made', async () => {
    for (let nth = 1; ; nth++) {
      const system = new FakeOpfs();
      const { disk } = system;
      let count = 0;
      const step = (): undefined => {
        if (++count === nth || count === nth + 1) throw failure('EIO');
        return undefined;
      };
      disk.fail = (call) => (call === 'writeSync' ? step() : undefined);
      // One that fails, and yet leaves what was written.
      const flush = disk.flush.bind(disk);
      disk.flush = (fd) => {
        step();
        flush(fd);
      };
      const db = open(system);
      await db.put({ _id: 'a' }).catch(() => {});
      const done = count < nth;
      count = nth + 1;
      await db.close().catch(() => {});
      expect(await open(system).put({ _id: 'b' }), `call ${nth}`).toMatchObject({ ok: true });
      if (done) break;
    }
  });

  it('is corrupt, and left as it is, where the file of its log is missing', async () => {
    const system = new FakeOpfs();
    const db = open(system);
    await db.put({ _id: 'a' });
    await db.close();
    for (const path of system.paths()) if (/\/f\d/.test(path)) system.disk.unlink(path);
    await expect(open(system).info()).rejects.toMatchObject({ status: 500, name: 'corrupt' });
    expect(system.openFiles).toBe(0);
  });

  it('that was cleared and made anew by another context is left alone by the one from before', async () => {
    const system = new FakeOpfs();
    const old = open(system);
    await old.put({ _id: 'old' });
    const heard = vi.fn();
    old.on('evicted', heard);
    system.evict();
    const other = open(system);
    await other.put({ _id: 'new' });
    await old.put({ _id: 'late' }).catch(() => {});
    await old.putAttachment('late', 'x', large(), 'a/b').catch(() => {});
    await old.compact().catch(() => {});
    await expect.poll(() => heard.mock.calls.length).toBe(1);
    await old.close();
    await other.compact();
    await other.close();
    const { rows } = await open(system).allDocs();
    expect(rows.map(({ id }) => id)).toEqual(['new']);
  });

  it('is opened, closed and written to in bounded time where the browser does not answer', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    let isOver = false;
    const settled = async <T>(work: Promise<T>): Promise<T> => {
      const over = work.finally(() => (isOver = true)).catch(() => {});
      for (let isLate = 0; !isOver && isLate < 20_000; isLate += 100) await vi.advanceTimersByTimeAsync(100);
      await over;
      isOver = false;
      return work;
    };
    const system = new FakeOpfs();
    const db = open(system);
    await settled(db.put({ _id: 'a', text: 'x'.repeat(1_200_000) })); // closing notes where a log this long has everything
    let answer = (): void => {};
    system.beforeOpening = () => new Promise((resolve) => (answer = resolve));
    const refused = { name: 'io', reason: expect.stringContaining('did not answer within 10000 ms') };
    await expect(settled(db.putAttachment('b', 'x', large(), 'a/b'))).rejects.toMatchObject(refused);
    answer();
    await settled(db.close());
    answer();
    await expect(settled(open(system).info())).rejects.toMatchObject(refused);
    answer();
    system.beforeOpening = () => undefined;
    await vi.advanceTimersByTimeAsync(100);
    expect(system.openFiles).toBe(0); // what came too late was closed
    expect((await settled(open(system).allDocs())).rows.map(({ id }) => id)).toEqual(['a']);
  });

  it('says what may be done where the browser keeps none, as Firefox does in private windows', async () => {
    const root = (): Promise<never> => Promise.reject(new DOMException('Security error', 'SecurityError'));
    await expect(new SettleDB('refused', { adapter: opfs({ root }) }).info()).rejects.toMatchObject({
      status: 500,
      name: 'io',
      reason: 'opfs:refused: Security error; does the browser block cookies and site data here?',
    });
  });

  it('refuses waits that are none', () => {
    for (const waitMs of [-1, Number.NaN, '5', null])
      expect(() => opfs({ waitMs: waitMs as never })).toThrow(expect.objectContaining({ status: 400 }));
  });
});

async function sizeOf(db: SettleDB, id: string): Promise<number> {
  const data = (await db.getAttachment(id, 'x')) as Blob | Uint8Array;
  return data instanceof Blob ? data.size : data.length;
}
