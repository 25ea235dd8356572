/** What `settledb recover` refuses before it writes anything, and what it says then. */
import fs, { existsSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { recovery } from '../../packages/settledb/src/cli/recovery';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { home } from '../file/support';

const scratch = home();
const source = join(scratch, 'source');
beforeAll(async () => {
  const db = new SettleDB(source);
  await db.put({ _id: 'a' });
  await db.close();
});

let last = 0;
/** The path of a target that no other test has. */
const free = (): string => join(scratch, `target ${++last}`);

/** Makes a change to files fail of one path fail, and nothing else. */
function failing(name: 'rmdirSync' | 'renameSync', path: string, code: string): NodeJS.ErrnoException {
  const error = Object.assign(new Error(`${code}: as a disk says it`), { code });
  const original = fs[name] as (...given: unknown[]) => void;
  const spy = vi.spyOn(fs, name).mockImplementation((...given: unknown[]) => {
    if (given[0] === path) throw error;
    original(...given);
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  return error;
}

it('says where all of it is if it cannot be given its name, and why', async () => {
  const target = free();
  const cause = failing('renameSync', `${target}.part`, 'EACCES');
  const message = `all of it is in ${target}.part, which could not be given its name: ${cause.message}`;
  await expect(recovery(source, target)).rejects.toMatchObject({ message, cause });
  expect(existsSync(`${target}.part`)).toBe(true);
});
