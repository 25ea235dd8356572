/**
 * An owner whose lock is gone: somebody removed the file, or a process of another container took it for a dead one's. Two may then have the
 * folder; the first must not write into what the second has written.
 */
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import type { Journal } from '@settledb/engine';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
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
