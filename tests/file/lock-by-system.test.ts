/** The lock where a program may not look at other processes, and the system locks files: in Deno, which this stands in for. */
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it, vi } from 'vitest';
import { takeLock } from '../../adapters/file/src/lock';
import { nodeFiles } from '../../adapters/file/src/node-files';
import type * as Identity from '../../adapters/file/src/process-identity';
import { home } from './support';

// As where /proc cannot be read.
vi.mock('../../adapters/file/src/process-identity', async (original) => ({
  ...(await original<object>()),
  processStart: () => '0',
}));

/** Who has which file locked, by its number: the system does not ask for names. */
let locks: { inode: number; exclusive: boolean; file: LockedFile }[] = [];

class LockedFile {
  readonly #inode: number;
  constructor(path: string) {
    this.#inode = statSync(path).ino;
  }
  tryLockSync(exclusive: boolean): boolean {
    const others = locks.filter(({ inode, file }) => inode === this.#inode && file !== this);
    if (others.some((each) => exclusive || each.exclusive)) return false;
    locks.push({ inode: this.#inode, exclusive, file: this });
    return true;
  }
  lockSync(exclusive: boolean): void {
    if (!this.tryLockSync(exclusive)) throw new Error('would wait');
  }
  close(): void {
    locks = locks.filter(({ file }) => file !== this);
  }
}

const openSync = (path: string): LockedFile => new LockedFile(path);
vi.stubGlobal('Deno', { openSync, FsFile: LockedFile });
afterAll(() => {
  vi.unstubAllGlobals();
});

const base = home();
let folder = '';
let count = 0;
beforeEach(() => {
  locks = [];
  folder = join(base, `${++count}`);
  mkdirSync(folder);
});

it('binds as long as its owner has its file locked, and no longer', async () => {
  await takeLock(nodeFiles, folder);
  const [name = ''] = readdirSync(folder);
  expect(name).toMatch(new RegExp(`^lock\\.${process.pid}\\.s\\.`));
  const refused = { name: 'locked', reason: expect.stringContaining(name) };
  await expect(takeLock(nodeFiles, folder)).rejects.toMatchObject(refused);
  expect(readdirSync(folder)).toEqual([name]);

  // The owner is killed: a container's next process often has the same id.
  locks = [];
  const next = await takeLock(nodeFiles, folder);
  expect(next.leftOpen).toBe(true);
  next.clear();
  next.release();
  expect([readdirSync(folder), locks]).toEqual([[], []]);
});

it('that was forsaken is nobody’s', async () => {
  (await takeLock(nodeFiles, folder)).forsake();
  expect(locks).toEqual([]);
  expect((await takeLock(nodeFiles, folder)).leftOpen).toBe(true);
});

it('of a process that knows when it began binds as ever', async () => {
  writeFileSync(join(folder, `lock.${process.ppid}.0.0123456789ab`), '1');
  const reason = expect.stringContaining(`pid ${process.ppid}`);
  await expect(takeLock(nodeFiles, folder)).rejects.toMatchObject({ name: 'locked', reason });
  expect(locks).toEqual([]);
});

it('says what to do if its owner has ended, which it cannot know here', async () => {
  const { processStart } = await vi.importActual<typeof Identity>('../../adapters/file/src/process-identity');
  writeFileSync(join(folder, `lock.${process.pid}.${processStart()}.0123456789ab`), '1');
  const reason = expect.stringMatching(/ or none, remove the lock file$/);
  await expect(takeLock(nodeFiles, folder)).rejects.toMatchObject({ name: 'locked', reason });
});

it('goes to one of many who find a dead owner at once', async () => {
  for (let round = 0; round < 20; round++) {
    const each = join(folder, `${round}`);
    mkdirSync(each);
    writeFileSync(join(each, 'lock.1.s.0123456789ab'), '1');
    const taken = await Promise.allSettled([1, 2, 3, 4, 5, 6].map(() => takeLock(nodeFiles, each)));
    expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  }
});

it('whose file another taker removed before it was locked is taken again', async () => {
  const open = vi.fn(nodeFiles.open).mockImplementationOnce((path, flag) => {
    const fd = nodeFiles.open(path, flag);
    nodeFiles.unlink(path);
    return fd;
  });
  const lock = await takeLock({ ...nodeFiles, open }, folder);
  expect(readdirSync(folder)).toHaveLength(1);
  lock.release();
  expect(readdirSync(folder)).toEqual([]);
});
