/**
 * A sync that failed, on a file system that goes on as if it had not: what the disk never took can be read, and every later sync
 * succeeds without writing it (ext4, XFS). So to read a log again does not show what is on the disk.
 */
import { file } from '@settledb/adapter-file';
import type { Commit, Journal } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { mulberry32 } from '../support/slow-adapter';
import { Disk, failure } from './disk';
import { commitOf } from './support';

const FOLDER = '/settledb-no-such-folder/unwritten';
/** Loses all that was not synced. */
const NOTHING_ELSE = (): number => 0.99;
/** Of which the first was synced. */
const COMMITS = 6;

const open = (disk: Disk): Promise<Journal> => file({ files: disk }).open(FOLDER);

async function append(journal: Journal, commit: Commit, durability: 'strict' | 'relaxed'): Promise<void> {
  expect(await journal.append(commit, { epoch: 0, n: commit.n - 1 }, durability)).toBeUndefined();
}

/** Some commits that the system could not write, and said so once. @param large with one that is written piece by piece */
async function left(disk: Disk, large: boolean): Promise<void> {
  disk.keepsUnwritten = true;
  const journal = await open(disk);
  await append(journal, commitOf(1), 'strict');
  for (let n = 2; n < COMMITS; n++)
    await append(journal, { ...commitOf(n), head: 'h'.repeat(large && n === 3 ? 3_000_000 : n) }, 'relaxed');
  disk.fail = (call) => {
    if (call === 'sync') throw failure('EIO');
    return undefined;
  };
  await expect(append(journal, commitOf(COMMITS), 'strict')).rejects.toMatchObject({ name: 'io' });
  disk.fail = () => undefined;
  await journal.close();
}

async function expectCommits(disk: Disk, count: number, label = ''): Promise<void> {
  const journal = await open(disk);
  const { commits } = await journal.read();
  expect(
    commits.map(({ n }) => n),
    label,
  ).toEqual(Array.from({ length: count }, (_, i) => i + 1));
  await journal.close();
}

describe('what a failed sync left unwritten', () => {
  it.each([false, true])('is on the disk before a later write is acknowledged (large: %s)', async (large) => {
    for (let seed = 0; seed < 20; seed++) {
      const disk = new Disk();
      await left(disk, large);
      if (seed % 2 === 1) disk.kill();
      const journal = await open(disk);
      const { commits } = await journal.read();
      await append(journal, commitOf(commits.length + 1), 'strict');
      disk.powerLoss(seed < 2 ? NOTHING_ELSE : mulberry32(seed));
      await expectCommits(disk, commits.length + 1, `seed ${seed}`);
    }
  });

  it('is on the disk when the next owner has closed the database, though it wrote nothing', async () => {
    const disk = new Disk();
    await left(disk, false);
    await (await open(disk)).close();
    disk.powerLoss(NOTHING_ELSE);
    await expectCommits(disk, COMMITS);
  });

  it('is on the disk when a torn end behind it has been cut off', async () => {
    const disk = new Disk();
    await left(disk, false);
    const log = disk.open(`${FOLDER}/log.1`, 'r+');
    disk.writeSync(log, Buffer.from('torn'), 0, 4, disk.stat(log).size);
    disk.close(log);
    await (await open(disk)).close();
    disk.powerLoss(NOTHING_ELSE);
    await expectCommits(disk, COMMITS);
  });

  // Also of a full disk that writes copies: the commit is in the log, and nothing follows it. `quota_exceeded` would deny both.
  it.each([
    'EIO',
    'ENOSPC',
  ])('is told by the next owner where it cannot be written then either (%s), and stays readable', async (code) => {
    for (const call of ['read', 'write', 'sync'] as const) {
      const disk = new Disk();
      await left(disk, false);
      const journal = await open(disk);
      const { commits } = await journal.read();
      disk.fail = (each) => {
        if (each === call) throw failure(code);
        return undefined;
      };
      await expect(append(journal, commitOf(commits.length + 1), 'strict')).rejects.toMatchObject({
        name: 'io',
      });
      disk.fail = () => undefined;
      expect((await journal.read()).commits.length).toBeGreaterThanOrEqual(commits.length);
      await journal.close();
      await (await open(disk)).close();
      disk.powerLoss(NOTHING_ELSE);
      await expectCommits(disk, commits.length + 1, call);
    }
  });

  it('is written once, and no more than that', async () => {
    const disk = new Disk();
    await left(disk, true);
    const journal = await open(disk);
    let written = 0;
    const write = disk.write.bind(disk);
    disk.write = async (...call) => {
      const bytes = await write(...call);
      written += bytes;
      return bytes;
    };
    await append(journal, commitOf(COMMITS + 1), 'strict');
    const size = disk.stat(disk.open(`${FOLDER}/log.1`, 'r')).size;
    expect(written).toBeGreaterThan(3_000_000);
    expect(written).toBeLessThan(size);
    await append(journal, commitOf(COMMITS + 2), 'strict');
    expect(written).toBeLessThan(size);
    await journal.close();
  });
});
