/** A database of a server that lies elsewhere, on a larger disk for instance, and in whose place is a link. */
import { mkdir, mkdtemp, readdir, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { FolderDatabases } from '../../packages/settledb/src/server';

it('is listed, used and deleted as others are, and can be made anew', async () => {
  const home = await mkdtemp(join(tmpdir(), 'settledb-linked-'));
  const [dir, elsewhere] = [join(home, 'data'), join(home, 'elsewhere')];
  onTestFinished(() => rm(home, { recursive: true }));
  await mkdir(elsewhere);
  const before = new FolderDatabases(dir);
  await before.create('a');
  await before.create('b');
  await before.close();
  await rename(join(dir, 'a'), join(elsewhere, 'a'));
  await symlink(join(elsewhere, 'a'), join(dir, 'a'));
  await symlink(join(elsewhere, 'none'), join(dir, 'none'));

  const databases = new FolderDatabases(dir);
  onTestFinished(() => databases.close());
  expect(await databases.list()).toEqual(['a', 'b']);
  const used = await databases.use('a');
  expect(await used!.database.put({ _id: 'x' })).toMatchObject({ ok: true });
  used!.release();
  expect(await databases.destroy('a')).toBe(true);
  expect(await readdir(elsewhere)).toEqual([]);
  expect(await databases.list()).toEqual(['b']);
  expect(await databases.create('a')).toBe(true);
  expect(await databases.list()).toEqual(['a', 'b']);
  // The disk may be away for now: nothing is made in the place of what is there.
  await expect(databases.create('none')).rejects.toMatchObject({ name: 'io' });
});
