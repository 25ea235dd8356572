/**
 * An owner whose lock is gone: somebody removed the file, or a process of another container took it for a dead one's. Two may then have the
 * folder; the first must not write into what the second has written.
 */
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { afterTimer } from '@settledb/core';
import type { Journal } from '@settledb/engine';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { NodeFiles } from '../../adapters/file/src/node-files';
import { processNamespace, processStart } from '../../adapters/file/src/process-identity';
import { LOOK_MS } from '../../packages/log/src/log';
import { Disk } from './disk';
import { commitOf, stateIn, stateOf } from './support';

const FOLDER = '/settledb-no-such-folder/taken';

const open = (disk: Disk): Promise<Journal> => file({ files: disk }).open(FOLDER);

const append = (journal: Journal, n: number, durability: 'strict' | 'relaxed' = 'relaxed') =>
  journal.append(commitOf(n), { epoch: 0, n: n - 1 }, durability);

/** The lock is taken away, and another opens the folder and writes. */
async function takenOver(disk: Disk): Promise<Journal> {
  for (const name of disk.list(FOLDER)) if (name.startsWith('lock.')) disk.unlink(join(FOLDER, name));
  const other = await open(disk);
  await append(other, 3);
  return other;
}

describe('an owner whose lock was taken away', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
  afterEach(() => void vi.useRealTimers());

  const ways: Readonly<Record<string, (journal: Journal) => unknown>> = {
    'a commit': (journal) => append(journal, 3),
    'a small commit': (journal) => journal.appendNow?.(commitOf(3), { epoch: 0, n: 2 }),
    'a strict commit': (journal) => append(journal, 3, 'strict'),
    'a checkpoint': (journal) =>
      journal.rewrite({ put: [], manifest: { text: 'm', through: 2 } }, { epoch: 0, n: 2 }),
    content: (journal) => journal.blobs.put('0.0.0123456789abcdef', [Buffer.from('x')], 'relaxed'),
    'a vacuum': (journal) => journal.vacuum?.({ force: true }),
  };

  it.each(Object.keys(ways))('writes no more: %s', async (way) => {
    const disk = new Disk();
    const journal = await open(disk);
    for (const n of [1, 2]) await append(journal, n);
    const other = await takenOver(disk);
    const state = await stateOf(other);
    vi.advanceTimersByTime(LOOK_MS);
    await expect((async () => ways[way]?.(journal))()).rejects.toMatchObject({
      name: 'io',
      reason: expect.stringMatching(/lock/),
    });
    await journal.close().catch(() => {}); // It says what the write said already.
    expect(await stateOf(other)).toBe(state);
    await append(other, 4, 'strict');
    await other.close();
    expect((await (await open(disk)).read()).commits).toHaveLength(4);
  });

  it('removes nothing when it is closed', async () => {
    const disk = new Disk();
    const journal = await open(disk);
    for (const n of [1, 2]) await append(journal, n, 'strict');
    const gone = journal.blobs.placeFor?.(1) as string;
    await journal.blobs.put(gone, [Buffer.from('x')], 'strict');
    await journal.blobs.drop([gone]);
    const other = await takenOver(disk);
    const place = other.blobs.placeFor?.(1) as string;
    await other.blobs.put(place, [Buffer.from('y')], 'strict');
    await expect(journal.close()).rejects.toMatchObject({
      name: 'io',
      reason: expect.stringMatching(/lock/),
    });
    await other.close();
    const again = await open(disk);
    expect(await again.blobs.get(place, 0)).toEqual(Buffer.from('y'));
  });

  it('acknowledges no strict commit, even at once', async () => {
    const disk = new Disk();
    const journal = await open(disk);
    await append(journal, 1, 'strict');
    for (const name of disk.list(FOLDER)) if (name.startsWith('lock.')) disk.unlink(join(FOLDER, name));
    await expect(append(journal, 2, 'strict')).rejects.toMatchObject({ name: 'io' });
    await journal.close();
    expect(await stateIn(FOLDER, file({ files: disk }))).toContain('head 1');
  });
});

/**
 * The disk as a process of another container has it: in its locks is the number of its namespace, and processes of others' locks are not seen.
 * There each may have the same id, mostly 1, but began at another moment.
 */
function inContainer(disk: Disk, number: string): NodeFiles {
  const own = new Set<string>();
  const ours = `lock.${process.pid}.${processStart()}`;
  const theirs = `lock.${process.pid}.0${processStart()}`;
  const unseen = (path: string): string => (own.has(path) ? path : path.replace(ours, theirs));
  const real = (path: string): string => path.replace(theirs, ours);
  const calls: Partial<NodeFiles> = {
    open: (path, flag) => {
      if (flag === 'wx') own.add(path);
      return disk.open(real(path), flag);
    },
    unlink: (path) => disk.unlink(real(path)),
    list: (folder) => disk.list(folder).map((name) => unseen(join(folder, name)).slice(folder.length + 1)),
    writeSync(fd, data, offset, length, position) {
      if (Buffer.from(data).toString() !== `1${processNamespace()}`)
        return disk.writeSync(fd, data, offset, length, position);
      disk.writeSync(fd, Buffer.from(`1${number}`), 0, 1 + number.length, position);
      return length;
    },
  };
  return new Proxy(disk, {
    get(target, key) {
      const value = calls[key as keyof NodeFiles] ?? target[key as keyof Disk];
      return typeof value === 'function' ? value.bind(target as never) : value;
    },
  });
}

describe.runIf(processNamespace() !== '')('a folder that containers share', () => {
  /** Opens it in processes of two containers: each has the program's modules anew. */
  async function twoContainers(disk: Disk): Promise<[() => Promise<Journal>, () => Promise<Journal>]> {
    const openIn = async (number: string): Promise<() => Promise<Journal>> => {
      vi.resetModules();
      const program = await import('@settledb/adapter-file');
      const files = inContainer(disk, number);
      return () => program.file({ files }).open(FOLDER);
    };
    return [await openIn('1'), await openIn('2')];
  }

  it('goes to the later one, with all that the other was told is written, and stays with it', async () => {
    const disk = new Disk();
    const [first, second] = await twoContainers(disk);
    const before = await first();
    let n = 0;
    const writing = (async (): Promise<void> => {
      for (; ; n++) {
        await append(before, n + 1);
        await afterTimer(1);
      }
    })();
    const refused = expect(writing).rejects.toMatchObject({ name: 'io' });
    await expect.poll(() => n).toBeGreaterThan(3);
    const journal = await second();
    await refused;
    expect((await journal.read()).commits).toHaveLength(n);
    await append(journal, n + 1);
    await expect(before.close()).resolves.toBeUndefined();
    await expect(first()).rejects.toMatchObject({
      name: 'locked',
      reason: expect.stringMatching(/open in process \d+ .*another container/),
    });
    await append(journal, n + 2, 'strict');
    await journal.close();
    const again = await first();
    expect((await again.read()).commits).toHaveLength(n + 2);
    await again.close();
  });

  it('takes the writes of one of them at most where both open it at once', async () => {
    const disk = new Disk();
    const both = await twoContainers(disk);
    const made = await both[0]();
    await made.close();
    let n = 0;
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(
        both.map(async (openIn) => {
          try {
            const journal = await openIn();
            await afterTimer(2 * LOOK_MS); // until the other is open, too
            return await append(journal, n + 1, 'strict').finally(() => journal.close());
          } catch (error) {
            expect((error as Error).name).toMatch(/^(io|locked)$/);
            return error;
          }
        }),
      );
      const written = answers.filter((answer) => answer === undefined).length;
      expect(written).toBeLessThan(2);
      n += written;
      const journal = await both[round % 2]!();
      expect((await journal.read()).commits).toHaveLength(n);
      await journal.close();
    }
  });
});
