/** What `settledb recover` refuses before it writes anything, and what it says then. */
import fs, {
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { recovery } from '../../packages/settledb/src/cli/recovery';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { recover } from '../../packages/settledb/src/file';
import { memory } from '../../packages/settledb/src/memory';
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

/** A database that has no documents, but had one with an attachment. */
async function emptied(folder: string): Promise<void> {
  const db = new SettleDB(folder);
  await db.putAttachment('a', 'large', Buffer.alloc(200_000, 'x'), 'text/plain');
  await db.purge('a', (await db.get('a'))._rev);
  await db.close();
}

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

it('refuses what is no URL but nearly one: a folder of that name would pass for what is behind it', async () => {
  for (const target of ['htps://couch.example/notes', 'localhost:5984/notes', '//couch.example/notes'])
    await expect(recovery(source, target)).rejects.toMatchObject({ status: 400, name: 'bad_request' });
  expect(['htps:', 'localhost:5984'].filter((each) => existsSync(each))).toEqual([]);
});

it('refuses an empty folder that cannot be replaced, before anything is written', async () => {
  const target = free();
  mkdirSync(target);
  const cause = failing('rmdirSync', target, 'EBUSY');
  const told = expect.stringMatching(/cannot be replaced: EBUSY.*: name a folder within it$/);
  await expect(recovery(source, target)).rejects.toMatchObject({ message: told, cause });
  expect([existsSync(target), existsSync(`${target}.part`)]).toEqual([true, false]);
});

it.each([
  '.env',
  'inner',
  'log.txt',
  'lock.me',
])('refuses a database without documents beside which there is %s, and keeps it', async (other) => {
  const target = free();
  await emptied(target);
  mkdirSync(join(target, other));
  const before = readdirSync(target);
  const message = expect.stringContaining(`${target} has other files (${other})`);
  await expect(recovery(source, target)).rejects.toMatchObject({ message });
  expect([readdirSync(target), existsSync(`${target}.part`)]).toEqual([before, false]);
});

it('takes the place of a database without documents, with all that it had', async () => {
  const target = free();
  await emptied(target);
  expect(readdirSync(target)).toContain('log.blobs');
  // Left by a process that was killed.
  writeFileSync(join(target, 'lock.0.1.0123456789ab'), '1');
  expect(await recovery(source, target)).toMatchObject({ ok: true, docs: 1 });
  expect([readdirSync(target), existsSync(`${target}.part`)]).toEqual([readdirSync(source), false]);
});

it('refuses a link to nothing, before anything is written', async () => {
  const target = free();
  symlinkSync('nothing', target);
  const message = expect.stringContaining('is a link to nothing');
  await expect(recovery(source, target)).rejects.toMatchObject({ message });
  expect([readlinkSync(target), existsSync(`${target}.part`)]).toEqual(['nothing', false]);
});

it('speaks of a part only where there may be one, not where a whole has the name', async () => {
  const target = free();
  await recovery(source, target);
  const reason = 'The database to write to is not empty';
  await expect(recovery(source, target)).rejects.toMatchObject({ name: 'bad_request', reason });
  const to = new SettleDB('to', { adapter: memory() });
  await to.put({ _id: 'b' });
  await expect(recover(source, to)).rejects.toMatchObject({ name: 'bad_request', reason });
  await to.close();
  vi.stubGlobal('fetch', async () => Response.json({ doc_count: 1, doc_del_count: 0, update_seq: 1 }));
  onTestFinished(() => void vi.unstubAllGlobals());
  await expect(recovery(source, 'http://db.example/db')).rejects.toMatchObject({
    name: 'bad_request',
    reason: `${reason}: if a recovery to it was interrupted, it has a part; remove it before you try again`,
  });
});

it('does not advise to remove what may be whole, or what is read', async () => {
  const target = free();
  await recovery(source, target);
  renameSync(target, `${target}.part`);
  await expect(recovery(source, target)).rejects.toThrow('remove it, or rename it if it is whole');
  const itself = expect.stringMatching(/\.part is what is read, .*: name another target$/);
  await expect(recovery(`${target}.part`, target)).rejects.toMatchObject({ message: itself });
  expect(await recovery(`${target}.part`, free())).toMatchObject({ ok: true, docs: 1 });
});

it('says where all of it is if it cannot be given its name, and why', async () => {
  const target = free();
  const cause = failing('renameSync', `${target}.part`, 'EACCES');
  const message = `all of it is in ${target}.part, which could not be given its name: ${cause.message}`;
  await expect(recovery(source, target)).rejects.toMatchObject({ message, cause });
  expect(existsSync(`${target}.part`)).toBe(true);
});
